package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.Access;

/**
 * The fault recording registers and their part of the fault status. Implements iommu:FLT-1 and iommu:FLT-2.
 *
 * <p>Thread-safe; recording allocates nothing.
 */
final class FaultRecords {
    private static final long FAULT = 1L << 63;
    private static final long TYPE_READ = 1L << 62;
    private static final int STATUS_INDEX_SHIFT = 8;

    private final long[] low;
    private final long[] high;
    private int next;
    private boolean overflow;
    private int inUse;
    private long count;
    private final FaultEvent event;

    FaultRecords(int records, FaultEvent event) {
        this.event = event;
        low = new long[records];
        high = new long[records];
    }

    /** Keeps a fault in the next record, or notes that it is lost when that one is still in use. */
    synchronized void record(int requesterId, long iova, Access access, int reason) {
        count++;
        if ((high[next] & FAULT) != 0) {
            overflow = true;
            return;
        }
        low[next] = iova & ~0xfffL;
        high[next] = FAULT | (access.writes() ? 0 : TYPE_READ) | (long) reason << 32 | requesterId;
        next = (next + 1) % low.length;
        inUse++;
        if (inUse == 1) {
            event.raise();
        }
    }

    /** Counts a fault that is not to be recorded. */
    synchronized void count() {
        count++;
    }

    /** How many requests were blocked. */
    synchronized long blocked() {
        return count;
    }

    /** PFO, PPF and the index of the first record in use, as FSTS shows them. */
    synchronized int status() {
        int first = firstInUse();
        int pending = first < 0 ? 0 : VtdRegisters.FSTS_PPF | first << STATUS_INDEX_SHIFT;
        return overflow ? pending | VtdRegisters.FSTS_PFO : pending;
    }

    /** The oldest record in use: the first from the next one on, round the ring. */
    private int firstInUse() {
        for (int i = 0; i < low.length; i++) {
            int record = (next + i) % low.length;
            if ((high[record] & FAULT) != 0) {
                return record;
            }
        }
        return -1;
    }

    synchronized void clearOverflow() {
        overflow = false;
    }

    boolean holds(int offset) {
        return offset >= VtdRegisters.FRCD && offset < VtdRegisters.FRCD + 16 * low.length;
    }

    synchronized long read(int offset) {
        int record = (offset - VtdRegisters.FRCD) / 16;
        return (offset & 8) == 0 ? low[record] : high[record];
    }

    /** Writing the F bit with 1 frees a record. */
    synchronized void write(int offset, long value) {
        int record = (offset - VtdRegisters.FRCD) / 16;
        if ((offset & 8) != 0 && (value & high[record] & FAULT) != 0) {
            high[record] &= ~FAULT;
            inUse--;
            if (inUse == 0) {
                event.withdraw();
            }
        }
    }
}
