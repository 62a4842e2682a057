package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Coherent memory behind an IOMMU: pages from anywhere, together on the bus.
 *
 * <p>Implements iommu:DALLOC-1 to DALLOC-4, for callers that may wait. Thread-safe.
 *
 * <p>Differs from Linux: of a contiguous block the pages beyond the size asked for go back at once.
 */
final class CoherentMapper {
    private static final long U32 = 0xffff_ffffL;

    private static final long[] NO_PAGES = {};

    private final Device device;
    private final IommuDomain domain;
    private final DeviceIovas iovas;
    private final CoreMapper core;
    private final PageAllocator pages;
    private final CpuMemory memory;
    private final FailurePoint point;
    private final AtomicLong outstandingPages;

    /**
     * Makes the mapper of a device.
     *
     * @param device the device
     * @param domain its domain
     * @param iovas chooses its addresses
     * @param core maps contiguous memory
     * @param outstandingPages counts pages not freed yet
     */
    CoherentMapper(Device device, IommuDomain domain, DeviceIovas iovas, CoreMapper core, AtomicLong outstandingPages) {
        this.device = device;
        this.domain = domain;
        this.iovas = iovas;
        this.core = core;
        this.pages = device.machine().pages();
        this.memory = device.machine().cpuMemory();
        this.point = device.machine().failures().point("iommu.pages");
        this.outstandingPages = outstandingPages;
    }

    /**
     * Allocates and maps.
     *
     * @param cpu the CPU that allocates
     * @param sizeBytes length
     * @param prot bits of {@code IommuProt}
     * @param attrs bits of {@link DmaAttrs}
     * @return the memory, zeroed, or null with the cause noted and nothing held
     */
    @Nullable CoherentPages alloc(int cpu, long sizeBytes, int prot, int attrs) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        long count = roundedBytes >>> Addresses.PAGE_SHIFT;
        boolean contiguous = (attrs & DmaAttrs.FORCE_CONTIGUOUS) != 0;
        boolean mayFit = Addresses.lessOrEqual(roundedBytes, pages.freeBytes()) && count <= Integer.MAX_VALUE;
        long[] physAddrs =
                !mayFit ? NO_PAGES : contiguous ? allocContiguous((int) count) : allocPages((int) count, attrs);
        if (physAddrs.length == 0) {
            device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.coherentMask(), 0, 0);
            return null;
        }
        long dmaAddr = contiguous
                ? core.map(cpu, physAddrs[0], roundedBytes, prot, device.coherentMask())
                : map(cpu, physAddrs, prot);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            freePages(physAddrs, physAddrs.length);
            return null;
        }
        outstandingPages.addAndGet(count);
        return new CoherentPages(dmaAddr, sizeBytes, physAddrs);
    }

    private long[] allocContiguous(int count) {
        int order = Addresses.order(count * Addresses.PAGE_SIZE);
        long physAddr = allocBlock(order);
        if (physAddr == PageAllocator.NO_PAGE) {
            return NO_PAGES;
        }
        pages.splitPages(physAddr, order);
        for (long page = count; page < 1L << order; page++) {
            pages.freePages(physAddr + page * Addresses.PAGE_SIZE, 0);
        }
        long[] physAddrs = new long[count];
        addBlock(physAddrs, 0, physAddr, count);
        return physAddrs;
    }

    /** Largest blocks first, of the domain's page sizes (iommu:DALLOC-3). */
    private long[] allocPages(int count, int attrs) {
        long orders = blockOrders(attrs);
        long[] physAddrs = new long[count];
        int done = 0;
        while (done < count) {
            orders &= 2L * Integer.highestOneBit(count - done) - 1;
            int order = Long.SIZE - 1 - Long.numberOfLeadingZeros(orders);
            long physAddr = allocBlock(order);
            if (physAddr == PageAllocator.NO_PAGE) {
                orders &= ~(1L << order);
                if (orders == 0) {
                    freePages(physAddrs, done);
                    return NO_PAGES;
                }
            } else {
                pages.splitPages(physAddr, order);
                addBlock(physAddrs, done, physAddr, 1 << order);
                done += 1 << order;
            }
        }
        return physAddrs;
    }

    /** Bit n stands for blocks of order n. The kernel keeps the sizes in 32 bits. */
    private long blockOrders(int attrs) {
        if ((attrs & DmaAttrs.ALLOC_SINGLE_PAGES) != 0) {
            return 1;
        }
        long sizes = (domain.pageSizes() | Addresses.PAGE_SIZE) & U32;
        return (sizes >>> Addresses.PAGE_SHIFT) & Addresses.bitMask(PageAllocator.MAX_ORDER + 1);
    }

    private long allocBlock(int order) {
        return point.fails() ? PageAllocator.NO_PAGE : pages.allocPages(Zone.NORMAL, order);
    }

    private void addBlock(long[] physAddrs, int from, long physAddr, int count) {
        memory.zero(physAddr, count * Addresses.PAGE_SIZE);
        for (int i = 0; i < count; i++) {
            physAddrs[from + i] = physAddr + i * Addresses.PAGE_SIZE;
        }
    }

    private void freePages(long[] physAddrs, int count) {
        for (int i = 0; i < count; i++) {
            pages.freePages(physAddrs[i], 0);
        }
    }

    /** One run of addresses for all pages (iommu:DALLOC-4). */
    private long map(int cpu, long[] physAddrs, int prot) {
        long sizeBytes = physAddrs.length * Addresses.PAGE_SIZE;
        long iova = iovas.alloc(cpu, sizeBytes, device.coherentMask());
        if (iova == 0) {
            return Dma.DMA_MAPPING_ERROR;
        }
        SgTable sg = new SgTable(physAddrs.length);
        for (long physAddr : physAddrs) {
            sg.add(physAddr, Addresses.PAGE_SIZE);
        }
        long mapped = domain.core().mapSg(iova, sg, physAddrs.length, prot);
        if (mapped < sizeBytes) {
            domain.freeNow(cpu, iova, sizeBytes);
            device.failure(cpu).record(FailureReason.TABLE_ERROR, (int) -mapped, iova, sizeBytes, -mapped, 0);
            return Dma.DMA_MAPPING_ERROR;
        }
        return iova;
    }

    /**
     * Unmaps and frees (iommu:DALLOC-2).
     *
     * @param cpu the CPU that frees
     * @param coherent what {@link #alloc} returned
     */
    void free(int cpu, CoherentPages coherent) {
        domain.unmap(cpu, coherent.dmaAddr(), coherent.sizeBytes());
        for (int i = 0; i < coherent.pageCount(); i++) {
            pages.freePages(coherent.pagePhysAddr(i), 0);
        }
        outstandingPages.addAndGet(-coherent.pageCount());
    }
}
