package io.pagewalk.rdma.verbs;

/** A receive to post, owned and reused by its caller: where a message may be put. Not thread-safe. */
public final class RecvWr {
    private final SgeList segments = new SgeList();
    private long wrId;

    /** Makes a receive without segments. */
    public RecvWr() {}

    /**
     * Begins a new receive.
     *
     * @param newWrId what its completion says
     * @return this, without segments
     */
    public RecvWr reset(long newWrId) {
        wrId = newWrId;
        segments.clear();
        return this;
    }

    /**
     * Adds a segment.
     *
     * @param addr address
     * @param lengthBytes length, 32 bits
     * @param lkey the key
     * @return this
     * @throws IllegalArgumentException when the length needs more than 32 bits
     */
    public RecvWr sge(long addr, long lengthBytes, int lkey) {
        segments.add(addr, lengthBytes, lkey);
        return this;
    }

    /**
     * What its completion says.
     *
     * @return the id
     */
    public long wrId() {
        return wrId;
    }

    /**
     * Where the message goes.
     *
     * @return the segments
     */
    public SgeList segments() {
        return segments;
    }
}
