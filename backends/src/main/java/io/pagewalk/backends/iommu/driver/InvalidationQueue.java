package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.backends.lock.SpinLock;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.PhysicalMemory;

/**
 * The driver's end of the invalidation queue: one page of 256 descriptors, and a page of status words, one for each
 * descriptor. Implements iommu:INV-16 and the IQE part of iommu:INV-17.
 *
 * <p>Thread-safe; submitting allocates nothing.
 */
final class InvalidationQueue {
    private static final int ENTRIES = 256;
    private static final int IN_USE = 1;
    private static final long WAIT = InvalidationLayout.waitWriting(InvalidationLayout.DONE);

    private final RegisterFile registers;
    private final PhysicalMemory memory;
    private final long queuePhysAddr;
    private final long statusPhysAddr;
    private final SpinLock lock = new SpinLock();
    private boolean closed;
    private int tail;

    InvalidationQueue(RegisterFile registers, PhysicalMemory memory, long queuePhysAddr, long statusPhysAddr) {
        this.registers = registers;
        this.memory = memory;
        this.queuePhysAddr = queuePhysAddr;
        this.statusPhysAddr = statusPhysAddr;
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
     * @return 0, or -EINVAL when the unit refused the descriptor
     * @throws IllegalStateException when the unit was switched off for good, and would never answer
     */
    int submit(long low, long high) {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the machine is closed: its IOMMU invalidates nothing any more");
            }
            put(tail, low, high);
            int waitIndex = (tail + 1) & (ENTRIES - 1);
            long status = statusPhysAddr + (long) Integer.BYTES * waitIndex;
            memory.putInt(status, IN_USE);
            put(waitIndex, WAIT, status);
            tail = (tail + 2) & (ENTRIES - 1);
            registers.write64(VtdRegisters.IQT, (long) tail << 4);
            return await(status);
        } finally {
            lock.unlock();
        }
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

    private void put(int index, long low, long high) {
        long at = queuePhysAddr + (long) InvalidationLayout.DESCRIPTOR_BYTES * index;
        memory.putLong(at, low);
        memory.putLong(at + Long.BYTES, high);
    }

    private int await(long status) {
        int result = 0;
        while (memory.getInt(status) != InvalidationLayout.DONE) {
            if ((registers.read32(VtdRegisters.FSTS) & VtdRegisters.FSTS_IQE) != 0) {
                stepOver(status);
                result = -Errno.EINVAL;
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
}
