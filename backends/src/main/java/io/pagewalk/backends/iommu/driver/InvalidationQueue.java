package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.backends.lock.SpinLock;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.PhysicalMemory;
import java.util.function.IntPredicate;

/**
 * The driver's end of the invalidation queue: one page of 256 descriptors, and a page of status words, one for each
 * descriptor. Implements iommu:INV-16, INV-17 and the batches of INV-13.
 *
 * <p>Thread-safe; one thread at a time has a batch open, which holds others up. Submitting allocates nothing.
 */
final class InvalidationQueue {

    /*
     * A batch is written straight into the queue, where the unit does not look before the tail is moved; its end is a wait, which
     * has the unit write DONE to the wait's status word. As a batch is done before the lock is given back, there is always room.
     *
     * A descriptor that the unit refuses (IQE) is overwritten by one more wait, and the batch answers -EINVAL. A device that does
     * not answer (ITE) makes the unit give the batch up: it is submitted anew, unless the device is gone (iommu:INV-17).
     */

    /** Descriptors of a batch, without its wait. */
    static final int BATCH = 16;

    private static final int ENTRIES = 256;
    private static final int IN_USE = 1;
    private static final int ABORT = 3;
    private static final long WAIT = InvalidationLayout.waitWriting(InvalidationLayout.DONE);

    private final RegisterFile registers;
    private final PhysicalMemory memory;
    private final long queuePhysAddr;
    private final long statusPhysAddr;
    private final IntPredicate isPresent;
    private final SpinLock lock = new SpinLock();
    private final long[] batch = new long[2 * BATCH];
    private int batched;
    private boolean closed;
    private int tail;

    /**
     * Makes a queue that the unit does not know of yet.
     *
     * @param registers the unit's
     * @param memory where the queue lies
     * @param queuePhysAddr a page for the descriptors
     * @param statusPhysAddr a page for the status words
     * @param isPresent whether there is a device of a requester id
     */
    InvalidationQueue(
            RegisterFile registers,
            PhysicalMemory memory,
            long queuePhysAddr,
            long statusPhysAddr,
            IntPredicate isPresent) {
        this.registers = registers;
        this.memory = memory;
        this.queuePhysAddr = queuePhysAddr;
        this.statusPhysAddr = statusPhysAddr;
        this.isPresent = isPresent;
    }

    /** Tells the unit where the queue is and turns it on. */
    void enable() {
        registers.write64(VtdRegisters.IQT, 0);
        registers.write64(VtdRegisters.IQA, queuePhysAddr);
        registers.write32(VtdRegisters.GCMD, registers.read32(VtdRegisters.GSTS) | VtdRegisters.GCMD_QIE);
    }

    /**
     * Submits one descriptor and a wait, and returns when the unit has done both.
     *
     * @return 0, or -EINVAL when the unit refused the descriptor, or -ETIMEDOUT when it is for a device that is gone
     * @throws IllegalStateException when the unit was switched off for good, and would never answer
     */
    int submit(long low, long high) {
        begin();
        add(low, high);
        return finish();
    }

    // ---- a batch

    /**
     * Opens a batch, which {@link #finish} must close.
     *
     * @throws IllegalStateException when the unit was switched off for good; no batch is open then
     */
    void begin() {
        lock.lock();
        if (closed) {
            lock.unlock();
            throw new IllegalStateException("the machine is closed: its IOMMU invalidates nothing any more");
        }
        batched = 0;
    }

    /** Whether nothing more goes into the batch. */
    boolean isBatchFull() {
        return batched == BATCH;
    }

    /** Adds a descriptor to the batch, which is not full. */
    void add(long low, long high) {
        batch[2 * batched] = low;
        batch[2 * batched + 1] = high;
        batched++;
    }

    /** Submits the batch and a wait, and returns when the unit has done all, with what {@link #submit} answers. */
    int finish() {
        try {
            int result = submitOnce();
            while (result == -Errno.EAGAIN) {
                result = submitOnce();
            }
            return result;
        } finally {
            lock.unlock();
        }
    }

    private int submitOnce() {
        for (int i = 0; i < batched; i++) {
            put((tail + i) & (ENTRIES - 1), batch[2 * i], batch[2 * i + 1]);
        }
        int waitIndex = (tail + batched) & (ENTRIES - 1);
        long status = statusPhysAddr + (long) Integer.BYTES * waitIndex;
        memory.putInt(status, IN_USE);
        put(waitIndex, WAIT, status);
        tail = (waitIndex + 1) & (ENTRIES - 1);
        registers.write64(VtdRegisters.IQT, (long) tail << 4);
        return await(status);
    }

    private void put(int index, long low, long high) {
        long at = queuePhysAddr + (long) InvalidationLayout.DESCRIPTOR_BYTES * index;
        memory.putLong(at, low);
        memory.putLong(at + Long.BYTES, high);
    }

    // ---- what comes of it

    private int await(long status) {
        int result = 0;
        while (memory.getInt(status) != InvalidationLayout.DONE) {
            int error = registers.read32(VtdRegisters.FSTS);
            if ((error & VtdRegisters.FSTS_IQE) != 0) {
                stepOver(status);
                result = -Errno.EINVAL;
            }
            if ((error & VtdRegisters.FSTS_ITE) != 0) {
                return abort(status);
            }
            if ((error & VtdRegisters.FSTS_ICE) != 0) {
                registers.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_ICE);
            }
            Thread.onSpinWait();
        }
        return result;
    }

    /** Puts a wait where the unit stands still, and lets it go on. */
    private void stepOver(long status) {
        int head = (int) (registers.read64(VtdRegisters.IQH) >>> 4) & (ENTRIES - 1);
        put(head, WAIT, status);
        registers.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_IQE);
    }

    /** Gives the batch up, which is submitted once more if the device that did not answer is still there. */
    private int abort(long status) {
        int silent = InvalidationLayout.timedOutRequester(registers.read64(VtdRegisters.IQER));
        memory.putInt(status, ABORT);
        registers.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_ITE);
        return isPresent.test(silent) ? -Errno.EAGAIN : -Errno.ETIMEDOUT;
    }

    /** No unit reads the queue from now on, and its pages are somebody else's. */
    void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }
}
