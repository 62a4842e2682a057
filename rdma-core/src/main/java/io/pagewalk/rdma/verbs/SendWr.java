package io.pagewalk.rdma.verbs;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A work request to post, owned and reused by its caller. A method that names an operation begins a new request: no
 * segments, no flags, nothing behind it. Not thread-safe. Implements rdma:MWC-2 for windows.
 */
public final class SendWr {
    private final SgeList segments = new SgeList();
    private WrOpcode opcode = WrOpcode.SEND;
    private long wrId;
    private int flags;
    private long remoteAddr;
    private int rkey;
    private int immediate;
    private int invalidateKey;
    private long compareAdd;
    private long swap;
    private @Nullable Mr mr;
    private int access;
    private int mwRkey;
    private int mrLkey;
    private long mwAddr;
    private long mwLengthBytes;
    private byte[] inline = new byte[0];
    private int inlineBytes;
    private @Nullable SendWr next;

    /** Makes a send of nothing. */
    public SendWr() {}

    private SendWr begin(WrOpcode newOpcode, long newWrId) {
        opcode = newOpcode;
        wrId = newWrId;
        segments.clear();
        flags = 0;
        remoteAddr = 0;
        rkey = 0;
        immediate = 0;
        invalidateKey = 0;
        compareAdd = 0;
        swap = 0;
        mr = null;
        access = 0;
        inlineBytes = 0;
        next = null;
        return this;
    }

    /**
     * A message for a receive of the peer's.
     *
     * @param newWrId what the completion says
     * @return this
     */
    public SendWr send(long newWrId) {
        return begin(WrOpcode.SEND, newWrId);
    }

    /**
     * A message with four bytes for the completion.
     *
     * @param newWrId what the completion says
     * @param newImmediate the four bytes
     * @return this
     */
    public SendWr sendWithImm(long newWrId, int newImmediate) {
        begin(WrOpcode.SEND_WITH_IMM, newWrId).immediate = newImmediate;
        return this;
    }

    /**
     * A message after which the peer takes a key out of use.
     *
     * @param newWrId what the completion says
     * @param invalidateRkey the peer's key
     * @return this
     */
    public SendWr sendWithInv(long newWrId, int invalidateRkey) {
        begin(WrOpcode.SEND_WITH_INV, newWrId).rkey = invalidateRkey;
        return this;
    }

    /**
     * A write to the peer's memory.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where
     * @param newRkey the peer's key
     * @return this
     */
    public SendWr write(long newWrId, long newRemoteAddr, int newRkey) {
        return remote(WrOpcode.RDMA_WRITE, newWrId, newRemoteAddr, newRkey);
    }

    /**
     * A write that completes a receive of the peer's.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where
     * @param newRkey the peer's key
     * @param newImmediate four bytes for the completion
     * @return this
     */
    public SendWr writeWithImm(long newWrId, long newRemoteAddr, int newRkey, int newImmediate) {
        remote(WrOpcode.RDMA_WRITE_WITH_IMM, newWrId, newRemoteAddr, newRkey).immediate = newImmediate;
        return this;
    }

    /**
     * A read of the peer's memory.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where
     * @param newRkey the peer's key
     * @return this
     */
    public SendWr read(long newWrId, long newRemoteAddr, int newRkey) {
        return remote(WrOpcode.RDMA_READ, newWrId, newRemoteAddr, newRkey);
    }

    /**
     * A read with invalidation, which an adapter of iWARP knows; on others it is queued and then fails (rdma:DP-6).
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where
     * @param newRkey the peer's key
     * @return this
     */
    public SendWr readWithInv(long newWrId, long newRemoteAddr, int newRkey) {
        return readWithInv(newWrId, newRemoteAddr, newRkey, 0);
    }

    /**
     * A read with invalidation of a key of this side.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where
     * @param newRkey the peer's key
     * @param invalidateKey the key of this side
     * @return this
     */
    public SendWr readWithInv(long newWrId, long newRemoteAddr, int newRkey, int invalidateKey) {
        remote(WrOpcode.RDMA_READ_WITH_INV, newWrId, newRemoteAddr, newRkey).invalidateKey = invalidateKey;
        return this;
    }

    /**
     * An addition to eight bytes of the peer's; the old value comes back to the segment.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where, a multiple of 8
     * @param newRkey the peer's key
     * @param addend what to add
     * @return this
     */
    public SendWr fetchAdd(long newWrId, long newRemoteAddr, int newRkey, long addend) {
        remote(WrOpcode.ATOMIC_FETCH_AND_ADD, newWrId, newRemoteAddr, newRkey).compareAdd = addend;
        return this;
    }

    /**
     * A swap of eight bytes of the peer's if they are as expected; the old value comes back to the segment.
     *
     * @param newWrId what the completion says
     * @param newRemoteAddr where, a multiple of 8
     * @param newRkey the peer's key
     * @param expected the value that must be there
     * @param replacement the value that takes its place
     * @return this
     */
    public SendWr compareAndSwap(long newWrId, long newRemoteAddr, int newRkey, long expected, long replacement) {
        remote(WrOpcode.ATOMIC_CMP_AND_SWP, newWrId, newRemoteAddr, newRkey).compareAdd = expected;
        swap = replacement;
        return this;
    }

    private SendWr remote(WrOpcode newOpcode, long newWrId, long newRemoteAddr, int newRkey) {
        begin(newOpcode, newWrId);
        remoteAddr = newRemoteAddr;
        rkey = newRkey;
        return this;
    }

    /**
     * Takes a key of this side out of use.
     *
     * @param newWrId what the completion says
     * @param key the key
     * @return this
     */
    public SendWr localInv(long newWrId, int key) {
        begin(WrOpcode.LOCAL_INV, newWrId).rkey = key;
        return this;
    }

    /**
     * Puts a mapped region to use; one of type INTEGRITY with signatures.
     *
     * @param newWrId what the completion says
     * @param newMr the region
     * @param key the key that it gets
     * @param newAccess the rights that it gets, of {@link io.pagewalk.rdma.AccessFlags}
     * @return this
     */
    public SendWr regMr(long newWrId, Mr newMr, int key, int newAccess) {
        begin(newMr.type() == MrType.INTEGRITY ? WrOpcode.REG_MR_INTEGRITY : WrOpcode.REG_MR, newWrId);
        mr = newMr;
        rkey = key;
        access = newAccess;
        return this;
    }

    /**
     * Binds a window.
     *
     * @param newWrId what the completion says
     * @param oldMwRkey the window's present key
     * @param newMwRkey the key that it gets, of which the low byte counts
     * @param newMrLkey the region's local key
     * @param newMwAddr where the window begins
     * @param newMwLengthBytes how long it is; 0 to unbind a window of type 1
     * @param newAccess rights that it gives
     * @return this
     */
    public SendWr bindMw(
            long newWrId,
            int oldMwRkey,
            int newMwRkey,
            int newMrLkey,
            long newMwAddr,
            long newMwLengthBytes,
            int newAccess) {
        begin(WrOpcode.BIND_MW, newWrId);
        mwRkey = oldMwRkey;
        rkey = newMwRkey;
        mrLkey = newMrLkey;
        mwAddr = newMwAddr;
        mwLengthBytes = newMwLengthBytes;
        access = newAccess;
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
    public SendWr sge(long addr, long lengthBytes, int lkey) {
        segments.add(addr, lengthBytes, lkey);
        return this;
    }

    /**
     * Asks for a completion on success.
     *
     * @return this
     */
    public SendWr signaled() {
        return flags(SendFlags.SIGNALED);
    }

    /**
     * Adds flags.
     *
     * @param more bits of {@link SendFlags}; {@link SendFlags#INLINE} comes with {@link #inline}
     * @return this
     */
    public SendWr flags(int more) {
        flags |= more;
        return this;
    }

    /**
     * Gives the request another id.
     *
     * @param newWrId what the completion says
     * @return this
     */
    public SendWr id(long newWrId) {
        wrId = newWrId;
        return this;
    }

    /**
     * Carries bytes in the request itself, in place of segments.
     *
     * @param src the bytes, copied
     * @param srcOffset the first one
     * @param length how many
     * @return this
     * @throws IndexOutOfBoundsException when there are not so many; nothing changes then
     */
    public SendWr inline(byte[] src, int srcOffset, int length) {
        Objects.checkFromIndexSize(srcOffset, length, src.length);
        if (inline.length < length) {
            inline = new byte[length];
        }
        System.arraycopy(src, srcOffset, inline, 0, length);
        inlineBytes = length;
        return flags(SendFlags.INLINE);
    }

    /**
     * Puts another request behind this one.
     *
     * @param newNext the next one of the list, or null
     * @return this
     */
    public SendWr then(@Nullable SendWr newNext) {
        next = newNext;
        return this;
    }

    /**
     * The operation.
     *
     * @return what is asked for
     */
    public WrOpcode opcode() {
        return opcode;
    }

    /**
     * What the completion says.
     *
     * @return the id
     */
    public long wrId() {
        return wrId;
    }

    /**
     * Flags.
     *
     * @return bits of {@link SendFlags}
     */
    public int flags() {
        return flags;
    }

    /**
     * The segments of this side.
     *
     * @return the list
     */
    public SgeList segments() {
        return segments;
    }

    /**
     * Where in the peer's memory.
     *
     * @return the address
     */
    public long remoteAddr() {
        return remoteAddr;
    }

    /**
     * The key that the operation names: the peer's; the one to invalidate; or the one that a region or window gets.
     *
     * @return 32 bits
     */
    public int rkey() {
        return rkey;
    }

    /**
     * The four bytes for the peer's completion.
     *
     * @return 32 bits
     */
    public int immediate() {
        return immediate;
    }

    /**
     * The key of this side that a read invalidates.
     *
     * @return 32 bits
     */
    public int invalidateKey() {
        return invalidateKey;
    }

    /**
     * What to add, or what must be there.
     *
     * @return 64 bits
     */
    public long compareAdd() {
        return compareAdd;
    }

    /**
     * What takes the place of an expected value.
     *
     * @return 64 bits
     */
    public long swap() {
        return swap;
    }

    /**
     * The region of a fast registration.
     *
     * @return the region, or null for other operations
     */
    public @Nullable Mr mr() {
        return mr;
    }

    /**
     * The rights of a fast registration or a window.
     *
     * @return bits of {@link io.pagewalk.rdma.AccessFlags}
     */
    public int access() {
        return access;
    }

    /**
     * The present key of the window to bind.
     *
     * @return 32 bits
     */
    public int mwRkey() {
        return mwRkey;
    }

    /**
     * The local key of the region to bind a window to.
     *
     * @return 32 bits
     */
    public int mrLkey() {
        return mrLkey;
    }

    /**
     * Where the window to bind begins.
     *
     * @return the address
     */
    public long mwAddr() {
        return mwAddr;
    }

    /**
     * How long the window to bind is.
     *
     * @return bytes, unsigned
     */
    public long mwLengthBytes() {
        return mwLengthBytes;
    }

    /**
     * How many bytes the request carries itself.
     *
     * @return bytes, meaningful with {@link SendFlags#INLINE}
     */
    public int inlineBytes() {
        return inlineBytes;
    }

    /**
     * Copies the bytes that the request carries itself.
     *
     * @param dst takes them
     * @throws IndexOutOfBoundsException when they do not fit
     */
    public void copyInline(byte[] dst) {
        Objects.checkFromIndexSize(0, inlineBytes, dst.length);
        System.arraycopy(inline, 0, dst, 0, inlineBytes);
    }

    /**
     * The request behind this one.
     *
     * @return the next one, or null
     */
    public @Nullable SendWr next() {
        return next;
    }

    @Override
    public String toString() {
        return opcode + " " + wrId + ", segments of " + segments.totalBytes() + " bytes"
                + (inlineBytes == 0 ? "" : " and " + Arrays.toString(Arrays.copyOf(inline, inlineBytes)));
    }
}
