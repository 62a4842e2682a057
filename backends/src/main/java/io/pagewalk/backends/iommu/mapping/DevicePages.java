package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import org.jspecify.annotations.Nullable;

/**
 * Zeroed pages for a device behind an IOMMU: together where the caller needs that, else in blocks as large as the
 * domain can map at once.
 *
 * <p>Implements the allocation part of iommu:DALLOC-1 and DALLOC-3, and dma-core:ALC-9. Thread-safe.
 *
 * <p>Differs from Linux: of a contiguous block the pages beyond the size asked for go back at once.
 */
final class DevicePages {
    static final long NO_PAGE = PageAllocator.NO_PAGE;
    /** No pages at all, which stands for failure. */
    static final long[] NONE = {};

    private static final int MAX_CMA_ALIGN_ORDER = 8;
    private static final long U32 = 0xffff_ffffL;

    private final Device device;
    private final PageAllocator pages;
    private final CmaAreas cma;
    private final CpuMemory memory;
    private final FailurePoint point;

    DevicePages(Device device) {
        this.device = device;
        this.pages = device.machine().pages();
        this.cma = device.machine().cma();
        this.memory = device.machine().cpuMemory();
        this.point = device.machine().failures().point("iommu.pages");
    }

    private boolean mayFit(long roundedBytes) {
        return roundedBytes != 0
                && Addresses.lessOrEqual(roundedBytes, pages.freeBytes() + cmaBytes())
                && roundedBytes >>> Addresses.PAGE_SHIFT <= Integer.MAX_VALUE;
    }

    private long cmaBytes() {
        return cma.all().stream().mapToLong(area -> area.range().sizeBytes()).sum();
    }

    // ---- together

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
        long physAddr = allocFromCma(roundedBytes, gfp);
        if (physAddr == NO_PAGE) {
            physAddr = allocFromBuddy(roundedBytes, gfp);
        }
        if (physAddr != NO_PAGE) {
            memory.zero(physAddr, roundedBytes);
        }
        return physAddr;
    }

    /** dma-core:ALC-9. */
    private long allocFromCma(long roundedBytes, int gfp) {
        if (!Gfp.has(gfp, Gfp.DIRECT_RECLAIM)) {
            return NO_PAGE;
        }
        CmaArea own = device.cmaArea();
        if (own != null) {
            return take(own, roundedBytes);
        }
        if (roundedBytes == Addresses.PAGE_SIZE) {
            return NO_PAGE;
        }
        boolean anyZone = (gfp & (Gfp.DMA | Gfp.DMA32)) == 0;
        CmaArea ofNode = anyZone ? cma.ofNode(device.config().numaNode()) : null;
        long physAddr = take(ofNode, roundedBytes);
        return physAddr == NO_PAGE ? take(cma.defaultArea(), roundedBytes) : physAddr;
    }

    private static long take(@Nullable CmaArea area, long roundedBytes) {
        int alignOrder = Math.min(Addresses.order(roundedBytes), MAX_CMA_ALIGN_ORDER);
        return area == null ? NO_PAGE : area.alloc(roundedBytes >>> Addresses.PAGE_SHIFT, alignOrder);
    }

    private long allocFromBuddy(long roundedBytes, int gfp) {
        int order = Addresses.order(roundedBytes);
        long physAddr = allocBlock(order, gfp);
        if (physAddr != NO_PAGE) {
            pages.splitPages(physAddr, order);
            for (long at = roundedBytes; at < Addresses.PAGE_SIZE << order; at += Addresses.PAGE_SIZE) {
                pages.freePages(physAddr + at, 0);
            }
        }
        return physAddr;
    }

    private long allocBlock(int order, int gfp) {
        return point.fails() ? NO_PAGE : pages.allocPages(zone(gfp), order);
    }

    private static Zone zone(int gfp) {
        if (Gfp.has(gfp, Gfp.DMA)) {
            return Zone.DMA;
        }
        return Gfp.has(gfp, Gfp.DMA32) ? Zone.DMA32 : Zone.NORMAL;
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
            long physAddr = allocBlock(order, gfp);
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
        for (CmaArea area : cma.all()) {
            if (area.release(physAddr, 1)) {
                return;
            }
        }
        pages.freePages(physAddr, 0);
    }
}
