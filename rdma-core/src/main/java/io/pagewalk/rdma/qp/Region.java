package io.pagewalk.rdma.qp;

import java.util.function.IntSupplier;

/**
 * A region behind a key that was looked up, held until {@link #put}. What it gives is bytes by the addresses that work
 * requests name. Thread-safe; calls allocate nothing.
 */
public interface Region {
    /** An atomic was done. */
    int ATOMIC_DONE = 0;

    /** An atomic was refused: the address is not a multiple of 8 where the bytes are. */
    int ATOMIC_MISALIGNED = 1;

    /** An atomic was refused: state, range, or no page. */
    int ATOMIC_VIOLATION = 2;

    /**
     * Whether a range lies in the region.
     *
     * @param iova first byte
     * @param lengthBytes length, unsigned
     * @return 0 or a negated errno
     */
    int checkRange(long iova, long lengthBytes);

    /**
     * Copies bytes out of the region.
     *
     * @param iova first byte
     * @param dst takes them
     * @param dstOffset where the first one goes
     * @param length how many
     * @return 0, or a negated errno; -EFAULT when there is no page, with what lies before it copied
     */
    int read(long iova, byte[] dst, int dstOffset, int length);

    /**
     * Copies bytes into the region.
     *
     * @param iova first byte
     * @param src holds them
     * @param srcOffset where the first one is
     * @param length how many
     * @return 0, or a negated errno; -EFAULT when there is no page, with what lies before it copied
     */
    int write(long iova, byte[] src, int srcOffset, int length);

    /**
     * Adds to eight bytes in one step.
     *
     * @param iova first byte
     * @param addend what to add
     * @param old takes the value before
     * @return {@link #ATOMIC_DONE}, {@link #ATOMIC_MISALIGNED} or {@link #ATOMIC_VIOLATION}
     */
    int fetchAdd(long iova, long addend, AtomicWord old);

    /**
     * Swaps eight bytes in one step if they are as expected.
     *
     * @param iova first byte
     * @param expected what must be there
     * @param replacement what takes its place
     * @param old takes the value before
     * @return {@link #ATOMIC_DONE}, {@link #ATOMIC_MISALIGNED} or {@link #ATOMIC_VIOLATION}
     */
    int compareAndSwap(long iova, long expected, long replacement, AtomicWord old);

    /** Lets go of the region. */
    void put();

    /**
     * Waits until nobody holds a region any more. For a provider that has dropped its own reference: accesses are
     * short, and so is this. A reference that was lost is not waited for without end: after a million tries, which
     * stand for the kernel's 50 s, it gives up (rdma:RXE-5).
     *
     * @param references asks how many there are
     * @return whether there are none
     */
    @SuppressWarnings("ThreadPriorityCheck") // a hint only: no order depends on it
    static boolean awaitUnused(IntSupplier references) {
        for (int tries = 0; tries < 1_000_000; tries++) {
            if (references.getAsInt() <= 0) {
                return true;
            }
            Thread.yield();
        }
        return false;
    }
}
