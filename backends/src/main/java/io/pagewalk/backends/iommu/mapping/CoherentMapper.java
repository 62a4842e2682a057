package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.PageProtection;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Memory that is allocated and mapped in one go behind an IOMMU: pages from anywhere, together on the bus.
 *
 * <p>Implements iommu:DALLOC-1 to DALLOC-4, dma-core:FE-64, FE-70, FE-71 for an IOMMU. Thread-safe.
 */
final class CoherentMapper {
    /** The largest whole number of pages that a list entry holds. */
    private static final long ENTRY_BYTES = 0xffff_f000L;

    private final Device device;
    private final IommuDomain domain;
    private final DeviceIovas iovas;
    private final CoreMapper core;
    private final IommuPages pages;
    private final AtomicLong outstandingPages;

    /**
     * Makes the mapper of a device.
     *
     * @param device the device
     * @param domain its domain
     * @param iovas chooses its addresses
     * @param core maps contiguous memory
     * @param pages where memory comes from
     * @param outstandingPages counts pages not freed yet
     */
    CoherentMapper(
            Device device,
            IommuDomain domain,
            DeviceIovas iovas,
            CoreMapper core,
            IommuPages pages,
            AtomicLong outstandingPages) {
        this.device = device;
        this.domain = domain;
        this.iovas = iovas;
        this.core = core;
        this.pages = pages;
        this.outstandingPages = outstandingPages;
    }

    // ---- coherent memory

    /**
     * Allocates and maps: pages that lie apart if the caller may wait and does not need them together (iommu:DALLOC-1).
     *
     * @param cpu the CPU that allocates
     * @param sizeBytes length
     * @param prot bits of {@link IommuProt}
     * @param gfp bits of {@link Gfp}
     * @param attrs bits of {@link DmaAttrs}
     * @return the memory, zeroed, or null with the cause noted and nothing held
     */
    @Nullable CoherentPages alloc(int cpu, long sizeBytes, int prot, int gfp, int attrs) {
        boolean apart = Gfp.has(gfp, Gfp.DIRECT_RECLAIM) && (attrs & DmaAttrs.FORCE_CONTIGUOUS) == 0;
        return apart ? allocApart(cpu, sizeBytes, prot, gfp, attrs) : allocContiguous(cpu, sizeBytes, prot, gfp);
    }

    private @Nullable CoherentPages allocApart(int cpu, long sizeBytes, int prot, int gfp, int attrs) {
        long[] physAddrs = pages.allocApart(Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE), blockSizes(attrs), gfp);
        if (physAddrs.length == 0) {
            return refuse(cpu, sizeBytes);
        }
        long dmaAddr = map(cpu, physAddrs, sizeBytes, prot);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            pages.free(physAddrs, physAddrs.length);
            return null;
        }
        outstandingPages.addAndGet(physAddrs.length);
        return new CoherentPages(dmaAddr, sizeBytes, physAddrs);
    }

    private @Nullable CoherentPages allocContiguous(int cpu, long sizeBytes, int prot, int gfp) {
        long rounded = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        long physAddr = pages.allocCoherent(cpu, rounded, gfp);
        if (physAddr == IommuPages.NO_PAGE) {
            return refuse(cpu, sizeBytes);
        }
        long dmaAddr = core.map(cpu, physAddr, sizeBytes, prot, device.coherentMask());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            pages.free(physAddr, rounded);
            return null;
        }
        CoherentPages coherent = CoherentPages.contiguous(dmaAddr, sizeBytes, physAddr);
        outstandingPages.addAndGet(coherent.pageCount());
        return coherent;
    }

    private @Nullable CoherentPages refuse(int cpu, long sizeBytes) {
        device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.coherentMask(), 0, 0);
        return null;
    }

    /**
     * Unmaps and frees (iommu:DALLOC-2).
     *
     * @param cpu the CPU that frees
     * @param coherent what {@link #alloc} returned
     */
    void free(int cpu, CoherentPages coherent) {
        domain.unmap(cpu, coherent.dmaAddr(), coherent.sizeBytes());
        long[] physAddrs = pagesOf(coherent, coherent.pageCount());
        pages.free(physAddrs, physAddrs.length);
        outstandingPages.addAndGet(-physAddrs.length);
    }

    private static long[] pagesOf(CoherentPages coherent, int count) {
        long[] physAddrs = new long[count];
        Arrays.setAll(physAddrs, coherent::pagePhysAddr);
        return physAddrs;
    }

    // ---- blocks that the domain maps at once

    /**
     * The page sizes to try (iommu:DALLOC-3). A domain of the DMA API has no granule larger than a page (IOVA-2), so
     * that pages are always among them, and the smallest.
     */
    private long blockSizes(int attrs) {
        return (attrs & DmaAttrs.ALLOC_SINGLE_PAGES) != 0
                ? Addresses.PAGE_SIZE
                : (domain.pageSizes() | Addresses.PAGE_SIZE) & Addresses.PAGE_MASK;
    }

    /** One run of addresses for all pages (iommu:DALLOC-4). */
    private long map(int cpu, long[] physAddrs, long sizeBytes, int prot) {
        long mappedBytes = Addresses.alignUp(sizeBytes, domain.granuleBytes());
        long iova = iovas.alloc(cpu, mappedBytes, device.coherentMask());
        if (iova == 0) {
            return Dma.DMA_MAPPING_ERROR;
        }
        SgTable sg = listOf(physAddrs, mappedBytes);
        long mapped = domain.core().mapSg(iova, sg, sg.origNents(), prot);
        if (mapped < mappedBytes) {
            domain.freeNow(cpu, iova, mappedBytes);
            device.failure(cpu).record(FailureReason.TABLE_ERROR, (int) -mapped, iova, mappedBytes, -mapped, 0);
            return Dma.DMA_MAPPING_ERROR;
        }
        return iova;
    }

    /** An entry for each physical run. */
    private static SgTable listOf(long[] physAddrs, long sizeBytes) {
        SgTable sg = new SgTable(4);
        long left = sizeBytes;
        int at = 0;
        while (at < physAddrs.length) {
            int end = at + 1;
            while (end < physAddrs.length
                    && physAddrs[end] == physAddrs[end - 1] + Addresses.PAGE_SIZE
                    && (end - at) * Addresses.PAGE_SIZE < ENTRY_BYTES) {
                end++;
            }
            long bytes = Math.min(left, (end - at) * Addresses.PAGE_SIZE);
            sg.add(physAddrs[at], bytes);
            left -= bytes;
            at = end;
        }
        return sg;
    }

    // ---- lists

    /**
     * Allocates pages as a list (iommu:DALLOC-3, DALLOC-4, dma-core:FE-64).
     *
     * @param cpu the CPU that allocates
     * @param sizeBytes length
     * @param prot bits of {@link IommuProt}
     * @param gfp bits of {@link Gfp}
     * @param attrs {@code ALLOC_SINGLE_PAGES} or nothing
     * @return a list with one DMA segment, or null with the cause noted and nothing held
     */
    @Nullable SgTable allocNoncontiguous(int cpu, long sizeBytes, int prot, int gfp, int attrs) {
        CoherentPages found = allocApart(cpu, sizeBytes, prot, gfp, attrs);
        if (found == null) {
            return null;
        }
        long[] physAddrs = pagesOf(found, found.pageCount());
        SgTable sg = listOf(physAddrs, physAddrs.length * Addresses.PAGE_SIZE);
        sg.setDma(0, found.dmaAddr(), Addresses.alignUp(sizeBytes, domain.granuleBytes()));
        sg.mapped(1);
        return sg;
    }

    /**
     * Frees what {@link #allocNoncontiguous} allocated.
     *
     * @param cpu the CPU that frees
     * @param sizeBytes length as it was asked for
     * @param sg the list
     */
    void freeNoncontiguous(int cpu, long sizeBytes, SgTable sg) {
        domain.unmap(cpu, sg.dmaAddr(0), sizeBytes);
        long freed = 0;
        for (int i = 0; i < sg.origNents(); i++) {
            pages.free(sg.physAddr(i), sg.lengthBytes(i));
            freed += sg.lengthBytes(i);
        }
        outstandingPages.addAndGet(-(freed >>> Addresses.PAGE_SHIFT));
    }

    /**
     * Describes coherent memory as a list (dma-core:FE-70): one entry of whole pages for a contiguous block, else an
     * entry for each run, up to the size.
     *
     * @param sg an empty table
     * @param coherent the memory
     * @param sizeBytes how much of it
     * @return 0
     */
    int getSgTable(SgTable sg, CoherentPages coherent, long sizeBytes) {
        int count = pageCount(coherent, sizeBytes);
        SgTable runs = listOf(pagesOf(coherent, count), sizeBytes);
        boolean contiguous = runs.origNents() == 1;
        for (int i = 0; i < runs.origNents(); i++) {
            sg.add(runs.physAddr(i), contiguous ? count * Addresses.PAGE_SIZE : runs.lengthBytes(i));
        }
        return 0;
    }

    /**
     * Shows coherent memory to a process (dma-core:FE-71).
     *
     * @param vma which part the process wants
     * @param coherent the memory
     * @param sizeBytes how much of it there is, as the caller says
     * @param attrs bits of {@link DmaAttrs}
     * @return what became of it
     */
    UserMapping mmap(UserVma vma, CoherentPages coherent, long sizeBytes, int attrs) {
        long[] physAddrs = pagesOf(coherent, pageCount(coherent, sizeBytes));
        return UserMapping.ofPages(vma, physAddrs, PageProtection.of(device, attrs));
    }

    private static int pageCount(CoherentPages coherent, long sizeBytes) {
        long asked = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        return (int) Math.min(asked, coherent.pageCount());
    }
}
