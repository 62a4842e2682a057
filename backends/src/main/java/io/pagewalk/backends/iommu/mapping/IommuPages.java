package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.coherent.AtomicPools;
import io.pagewalk.backends.coherent.ContiguousAreas;
import io.pagewalk.backends.coherent.PhysReach;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PageAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Zeroed pages for a device behind an IOMMU: together where the caller needs that, else in blocks as large as the
 * domain can map at once.
 *
 * <p>Implements the allocation part of iommu:DALLOC-1 and DALLOC-3. Thread-safe.
 *
 * <p>Differs from Linux: of a contiguous block the pages beyond the size asked for go back at once.
 */
final class IommuPages {
    static final long NO_PAGE = PageAllocator.NO_PAGE;
    /** No pages at all, which stands for failure. */
    static final long[] NONE = {};

    private static final long U32 = 0xffff_ffffL;

    private final Device device;
    private final PageAllocator pages;
    private final ContiguousAreas areas;
    private final @Nullable AtomicPools atomicPools;
    private final CpuMemory memory;
    private final FailurePoint point;

    IommuPages(Device device, @Nullable AtomicPools atomicPools) {
        this.device = device;
        this.pages = device.machine().pages();
        this.areas = new ContiguousAreas(device.machine());
        this.atomicPools = atomicPools;
        this.memory = device.machine().cpuMemory();
        this.point = device.machine().failures().point("iommu.pages");
    }

    private boolean mayFit(long roundedBytes) {
        return roundedBytes != 0
                && Addresses.lessOrEqual(roundedBytes, pages.freeBytes() + areas.totalBytes())
                && roundedBytes >>> Addresses.PAGE_SHIFT <= Integer.MAX_VALUE;
    }

    // ---- together

    /**
     * Takes coherent pages that lie together. A device that is not coherent and a caller that must not wait have what
     * was prepared for them (iommu:DALLOC-1); since the device's addresses are translated, it may lie anywhere.
     *
     * @param cpu the CPU that allocates
     * @param roundedBytes whole pages
     * @param gfp bits of {@link Gfp}
     * @return the first page, zeroed like the others, or {@link #NO_PAGE}
     */
    long allocCoherent(int cpu, long roundedBytes, int gfp) {
        boolean mustNotWait = !Gfp.has(gfp, Gfp.DIRECT_RECLAIM);
        return atomicPools != null && mustNotWait && !device.isCoherent()
                ? atomicPools.alloc(device, cpu, roundedBytes, gfp, PhysReach.EVERYTHING)
                : allocContiguous(roundedBytes, gfp);
    }

    /**
     * Takes pages that lie together: of a contiguous memory area if the caller may wait, else of the page allocator.
     *
     * @param roundedBytes whole pages
     * @param gfp bits of {@link Gfp}
     * @return the first page, zeroed like the others, or {@link #NO_PAGE}
     */
    long allocContiguous(long roundedBytes, int gfp) {
        if (!mayFit(roundedBytes)) {
            return NO_PAGE;
        }
        long physAddr = areas.alloc(device, roundedBytes, gfp);
        if (physAddr == NO_PAGE) {
            physAddr = allocFromBuddy(roundedBytes, gfp);
        }
        if (physAddr != NO_PAGE) {
            memory.zero(physAddr, roundedBytes);
        }
        return physAddr;
    }

    private long allocFromBuddy(long roundedBytes, int gfp) {
        int order = Addresses.order(roundedBytes);
        long physAddr = allocBlock(order, gfp, point.failsCall());
        if (physAddr != NO_PAGE) {
            pages.splitPages(physAddr, order);
            for (long at = roundedBytes; at < Addresses.PAGE_SIZE << order; at += Addresses.PAGE_SIZE) {
                pages.freePages(physAddr + at, 0);
            }
        }
        return physAddr;
    }

    private long allocBlock(int order, int gfp, boolean fails) {
        return fails ? NO_PAGE : pages.allocPages(Gfp.zone(gfp), order);
    }

    // ---- apart

    /**
     * Takes pages that may lie apart, the largest blocks first that a domain of some page sizes maps at once
     * (iommu:DALLOC-3).
     *
     * @param roundedBytes whole pages
     * @param pageSizes the sizes to try, as bits
     * @param gfp bits of {@link Gfp}
     * @return the pages in order, zeroed, or {@link #NONE}
     */
    long[] allocApart(long roundedBytes, long pageSizes, int gfp) {
        if (!mayFit(roundedBytes)) {
            return NONE;
        }
        int count = (int) (roundedBytes >>> Addresses.PAGE_SHIFT);
        long orders = (pageSizes & U32) >>> Addresses.PAGE_SHIFT & Addresses.bitMask(PageAllocator.MAX_ORDER + 1);
        long[] physAddrs = new long[count];
        int done = 0;
        while (done < count) {
            orders &= 2L * Integer.highestOneBit(count - done) - 1;
            if (orders == 0) {
                free(physAddrs, done);
                return NONE;
            }
            int order = Long.SIZE - 1 - Long.numberOfLeadingZeros(orders);
            boolean fails = orders == 1L << order ? point.failsCall() : point.fails();
            long physAddr = allocBlock(order, gfp, fails);
            if (physAddr == NO_PAGE) {
                orders &= ~(1L << order);
            } else {
                pages.splitPages(physAddr, order);
                memory.zero(physAddr, Addresses.PAGE_SIZE << order);
                list(physAddrs, done, physAddr, 1 << order);
                done += 1 << order;
            }
        }
        return physAddrs;
    }

    private static void list(long[] physAddrs, int from, long physAddr, int count) {
        for (int i = 0; i < count; i++) {
            physAddrs[from + i] = physAddr + i * Addresses.PAGE_SIZE;
        }
    }

    // ---- back

    void free(long[] physAddrs, int count) {
        for (int i = 0; i < count; i++) {
            free(physAddrs[i]);
        }
    }

    /** Gives contiguous pages back. */
    void free(long physAddr, long roundedBytes) {
        for (long at = 0; at < roundedBytes; at += Addresses.PAGE_SIZE) {
            free(physAddr + at);
        }
    }

    private void free(long physAddr) {
        boolean wasPrepared = atomicPools != null && atomicPools.free(physAddr, Addresses.PAGE_SIZE);
        if (!wasPrepared && !areas.free(physAddr, Addresses.PAGE_SIZE)) {
            pages.freePages(physAddr, 0);
        }
    }
}
