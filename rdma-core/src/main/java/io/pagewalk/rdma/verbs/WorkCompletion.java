package io.pagewalk.rdma.verbs;

/**
 * How a work request ended, the kernel's {@code struct ib_wc}: owned by who polls, and filled anew by each
 * {@link Cq#poll}. Not thread-safe. With another status than SUCCESS only the request's id, the status and the queue
 * pair mean something (rdma:DP-32).
 */
public final class WorkCompletion {
    private long wrId;
    private WcStatus status = WcStatus.SUCCESS;
    private WcOpcode opcode = WcOpcode.SEND;
    private long byteLen;
    private int qpNum;
    private int flags;
    private int immediate;
    private int invalidatedRkey;

    /** Makes a completion of nothing. */
    public WorkCompletion() {}

    /**
     * The work request.
     *
     * @return its id
     */
    public long wrId() {
        return wrId;
    }

    /**
     * How it ended.
     *
     * @return the status
     */
    public WcStatus status() {
        return status;
    }

    /**
     * What it was.
     *
     * @return the opcode, valid with SUCCESS
     */
    public WcOpcode opcode() {
        return opcode;
    }

    /**
     * How much was moved.
     *
     * @return bytes, valid with SUCCESS
     */
    public long byteLen() {
        return byteLen;
    }

    /**
     * The queue pair.
     *
     * @return its number
     */
    public int qpNum() {
        return qpNum;
    }

    /**
     * What else is valid.
     *
     * @return bits of {@link WcFlags}
     */
    public int flags() {
        return flags;
    }

    /**
     * The four bytes that came along.
     *
     * @return valid with {@link WcFlags#WITH_IMM}
     */
    public int immediate() {
        return immediate;
    }

    /**
     * The key that was taken out of use here.
     *
     * @return valid with {@link WcFlags#WITH_INVALIDATE}
     */
    public int invalidatedRkey() {
        return invalidatedRkey;
    }

    /**
     * What the device adds about an error.
     *
     * @return always 0 (rdma:DP-32)
     */
    public int vendorErr() {
        return 0;
    }

    // ---- for providers

    /**
     * Fills it with a success. For a provider.
     *
     * @param newWrId the request's id
     * @param newOpcode what it was
     * @param newByteLen how much was moved
     * @param newQpNum the queue pair
     * @return this
     */
    public WorkCompletion success(long newWrId, WcOpcode newOpcode, long newByteLen, int newQpNum) {
        error(newWrId, WcStatus.SUCCESS, newQpNum);
        opcode = newOpcode;
        byteLen = newByteLen;
        return this;
    }

    /**
     * Fills it with an error. For a provider.
     *
     * @param newWrId the request's id
     * @param newStatus how it ended
     * @param newQpNum the queue pair
     * @return this
     */
    public WorkCompletion error(long newWrId, WcStatus newStatus, int newQpNum) {
        wrId = newWrId;
        status = newStatus;
        qpNum = newQpNum;
        opcode = WcOpcode.SEND;
        byteLen = 0;
        flags = 0;
        immediate = 0;
        invalidatedRkey = 0;
        return this;
    }

    /**
     * Adds flags. For a provider.
     *
     * @param newFlags bits of {@link WcFlags}
     * @param newImmediate what came along, if a flag says so
     * @param newInvalidatedRkey the key, if a flag says so
     * @return this
     */
    public WorkCompletion with(int newFlags, int newImmediate, int newInvalidatedRkey) {
        flags = newFlags;
        immediate = newImmediate;
        invalidatedRkey = newInvalidatedRkey;
        return this;
    }

    /**
     * Takes over all of another completion.
     *
     * @param other the other one
     */
    public void copyFrom(WorkCompletion other) {
        wrId = other.wrId;
        status = other.status;
        opcode = other.opcode;
        byteLen = other.byteLen;
        qpNum = other.qpNum;
        flags = other.flags;
        immediate = other.immediate;
        invalidatedRkey = other.invalidatedRkey;
    }

    @Override
    public String toString() {
        return "request " + wrId + " of queue pair " + qpNum + ": " + status
                + (status == WcStatus.SUCCESS ? " " + opcode + " of " + byteLen + " bytes" : "");
    }
}
