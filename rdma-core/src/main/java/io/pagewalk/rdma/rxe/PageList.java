package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.KernelLayout;
import java.util.Arrays;

/**
 * The pages of a region, each by its physical address, whose low bits are where the entry begins in its page. Grows as
 * pages are added, up to its limit. Not thread-safe for who changes it; readers see it through the region's state.
 */
final class PageList {
    /** What stands for a page that there is not. */
    static final long HOLE = -1L;

    private static final int FIRST_ROOM = 8;
    private static final long[] NOTHING = {};

    private final KernelLayout layout;
    private final CpuMemory memory;
    private long[] entries = NOTHING;
    private volatile int count;
    private long limit;

    PageList(KernelLayout layout, CpuMemory memory, long limit) {
        this.layout = layout;
        this.memory = memory;
        this.limit = limit;
    }

    void clear() {
        count = 0;
    }

    int count() {
        return count;
    }

    long limit() {
        return limit;
    }

    void setLimit(long newLimit) {
        limit = newLimit;
    }

    boolean isFull() {
        return count >= limit;
    }

    /** Makes room for as many pages as will come. */
    void reserve(long pages) {
        entries = Arrays.copyOf(entries, Math.toIntExact(pages));
    }

    /** Adds a page by its address of virtual DMA; what is no RAM there is a hole. */
    void addVirtual(long dmaAddr, long bytes) {
        long physAddr = layout.virtToPhys(dmaAddr);
        addPhysical(layout.isDirectMap(dmaAddr) && memory.isRam(physAddr, bytes) ? physAddr : HOLE);
    }

    void addPhysical(long physAddr) {
        int at = count;
        if (at == entries.length) {
            entries = Arrays.copyOf(entries, Math.max(FIRST_ROOM, 2 * at));
        }
        entries[at] = physAddr;
        count = at + 1;
    }

    /** The entry of an index; a hole behind the last one. */
    long entry(long index) {
        return Addresses.lessThan(index, count) ? entries[(int) index] : HOLE;
    }
}
