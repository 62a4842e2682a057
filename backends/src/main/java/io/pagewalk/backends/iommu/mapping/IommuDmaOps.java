package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The driver's side of one device behind an IOMMU.
 *
 * <p>Implements iommu:DMAP-1 to DMAP-13, SG-1 to SG-4, SG-19, DALLOC-1 to DALLOC-5, BNC-3, dma-core:MSK-2, MSK-3,
 * MSK-8, MSK-14, FE-54. Thread-safe. Mapping, unmapping and sync allocate nothing.
 */
final class IommuDmaOps implements DmaOps {
    private static final long OPT_MAPPING_BYTES = 128 << 10;
    private static final long REQUIRED_MASK = 0xffff_ffffL;

    private final Device device;
    private final IommuDomain domain;
    private final CoreMapper core;
    private final SgMapper lists;
    private final IommuPages pages;
    private final AtomicLong coherentPages;
    private final CoherentMapper coherent;
    private final IommuBounce bounce;
    private final DeviceCaches caches;

    /**
     * Makes the operations of a device.
     *
     * @param device the device
     * @param domain its domain
     * @param iovas chooses its addresses
     * @param pool bounces for untrusted devices
     * @param pages where its coherent memory comes from
     * @param coherentPages counts coherent pages not freed yet
     */
    IommuDmaOps(
            Device device,
            IommuDomain domain,
            DeviceIovas iovas,
            SwiotlbPool pool,
            IommuPages pages,
            AtomicLong coherentPages) {
        this.device = device;
        this.domain = domain;
        this.core = new CoreMapper(device, domain, iovas);
        this.lists = new SgMapper(device, domain, iovas);
        this.pages = pages;
        this.coherentPages = coherentPages;
        this.coherent = new CoherentMapper(device, domain, iovas, core, pages, coherentPages);
        this.bounce = new IommuBounce(device, pool, domain.granuleBytes());
        this.caches = new DeviceCaches(device);
    }

    /** DMAP-1. Without a direction the rest is dropped too. */
    private static int prot(DmaDirection direction, boolean snooped, int attrs) {
        int base = (snooped ? IommuProt.CACHE : 0) | ((attrs & DmaAttrs.PRIVILEGED) != 0 ? IommuProt.PRIV : 0);
        return switch (direction) {
            case BIDIRECTIONAL -> base | IommuProt.READ | IommuProt.WRITE;
            case TO_DEVICE -> base | IommuProt.READ;
            case FROM_DEVICE -> base | IommuProt.WRITE;
            case NONE -> 0;
        };
    }

    @Override
    public long mapPage(Device dev, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        int prot = prot(direction, device.isCoherent(), attrs);
        if (bounce.isNeeded(physAddr, sizeBytes, direction)) {
            return mapBounced(cpu, physAddr, sizeBytes, direction, attrs, prot);
        }
        caches.onMap(physAddr, sizeBytes, direction, attrs);
        return core.map(cpu, physAddr, sizeBytes, prot, device.mask());
    }

    private long mapBounced(int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, int prot) {
        long bounced = bounce.bounce(cpu, physAddr, sizeBytes, direction, attrs);
        if (bounced == Dma.DMA_MAPPING_ERROR) {
            return Dma.DMA_MAPPING_ERROR;
        }
        caches.onMap(bounced, sizeBytes, direction, attrs);
        long dmaAddr = core.map(cpu, bounced, sizeBytes, prot, device.mask());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            bounce.release(cpu, bounced, sizeBytes, direction, attrs);
        }
        return dmaAddr;
    }

    @Override
    public void unmapPage(Device dev, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long physAddr = domain.core().iovaToPhys(dmaAddr);
        if (physAddr == 0) {
            warnNotMapped(dmaAddr, sizeBytes);
            return;
        }
        caches.onUnmap(physAddr, sizeBytes, direction, attrs);
        domain.unmap(cpu, dmaAddr, sizeBytes);
        bounce.release(cpu, physAddr, sizeBytes, direction, attrs);
    }

    private void warnNotMapped(long dmaAddr, long sizeBytes) {
        device.machine()
                .log()
                .warn(
                        "iommu_dma_unmap_page",
                        device.name() + ": unmap of " + Addresses.hexRange(dmaAddr, sizeBytes)
                                + ", which is not mapped or maps physical byte 0 (iommu:DMAP-7)");
    }

    @Override
    public int mapSg(Device dev, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        if (bounce.isPossible(sg, nents, direction)) {
            return mapEach(cpu, sg, nents, direction, attrs);
        }
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            caches.forDevice(sg, nents, direction);
        }
        return lists.map(cpu, sg, nents, prot(direction, device.isCoherent(), attrs));
    }

    /** SG-19: one by one, so that each can be bounced on its own. */
    private int mapEach(int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        sg.markBounced(true);
        for (int i = 0; i < nents; i++) {
            long dmaAddr = mapPage(device, cpu, sg.physAddr(i), sg.lengthBytes(i), direction, attrs);
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                sg.setDma(i, dmaAddr, sg.dmaLengthBytes(i));
                unmapEach(cpu, sg, i, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
                device.failure(cpu).answer(Errno.EIO);
                return -Errno.EIO;
            }
            sg.setDma(i, dmaAddr, sg.lengthBytes(i));
        }
        return nents;
    }

    private void unmapEach(int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            unmapPage(device, cpu, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, attrs);
        }
    }

    @Override
    public void unmapSg(Device dev, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        if (sg.isBounced()) {
            unmapEach(cpu, sg, nents, direction, attrs);
            return;
        }
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            caches.forCpu(sg, nents, direction);
        }
        lists.unmap(cpu, sg, nents);
    }

    /** DMAP-10. */
    @Override
    public long mapResource(Device dev, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return core.map(cpu, physAddr, sizeBytes, prot(direction, false, attrs) | IommuProt.MMIO, device.mask());
    }

    @Override
    public void unmapResource(Device dev, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        domain.unmap(cpu, dmaAddr, sizeBytes);
    }

    /** DMAP-11: the caches first, then the bounce buffer's bytes. */
    @Override
    public void syncForCpu(Device dev, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (mayNeedSync()) {
            long physAddr = domain.core().iovaToPhys(dmaAddr);
            caches.forCpu(physAddr, sizeBytes, direction);
            bounce.syncForCpu(cpu, physAddr, sizeBytes, direction);
        }
    }

    /** The other way round. */
    @Override
    public void syncForDevice(Device dev, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (mayNeedSync()) {
            long physAddr = domain.core().iovaToPhys(dmaAddr);
            bounce.syncForDevice(cpu, physAddr, sizeBytes, direction);
            caches.forDevice(physAddr, sizeBytes, direction);
        }
    }

    private boolean mayNeedSync() {
        return bounce.isPossible() || caches.needWork();
    }

    @Override
    public void syncSgForCpu(Device dev, int cpu, SgTable sg, int nents, DmaDirection direction) {
        if (!sg.isBounced()) {
            caches.forCpu(sg, nents, direction);
            return;
        }
        for (int i = 0; i < nents; i++) {
            syncForCpu(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction);
        }
    }

    @Override
    public void syncSgForDevice(Device dev, int cpu, SgTable sg, int nents, DmaDirection direction) {
        if (!sg.isBounced()) {
            caches.forDevice(sg, nents, direction);
            return;
        }
        for (int i = 0; i < nents; i++) {
            syncForDevice(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction);
        }
    }

    // ---- memory

    /** The device's allocator decides, whatever path its calls take (dma-core:DIR-13, DBG-22). */
    @Override
    public boolean isSwiotlbActive(Device dev) {
        return bounce.isPoolActive();
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device dev, int cpu, long sizeBytes, int gfp, int attrs) {
        return coherent.alloc(cpu, sizeBytes, coherentProt(attrs), gfp, attrs);
    }

    private int coherentProt(int attrs) {
        return prot(DmaDirection.BIDIRECTIONAL, device.isCoherent(), attrs);
    }

    @Override
    public void freeCoherent(Device dev, int cpu, CoherentPages memory, int attrs) {
        coherent.free(cpu, memory);
    }

    /** Contiguous pages, mapped like a buffer: the streaming mask holds (dma-core:FE-54). */
    @Override
    public @Nullable DmaPages allocPages(Device dev, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        long physAddr = pages.allocContiguous(sizeBytes, gfp);
        if (physAddr == IommuPages.NO_PAGE) {
            device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.mask(), 0, 0);
            return null;
        }
        long dmaAddr = mapPage(device, cpu, physAddr, sizeBytes, direction, DmaAttrs.SKIP_CPU_SYNC);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            pages.free(physAddr, sizeBytes);
            return null;
        }
        coherentPages.addAndGet(sizeBytes >>> Addresses.PAGE_SHIFT);
        return new DmaPages(physAddr, dmaAddr, sizeBytes);
    }

    @Override
    public void freePages(Device dev, int cpu, DmaPages memory, DmaDirection direction) {
        unmapPage(device, cpu, memory.dmaAddr(), memory.sizeBytes(), direction, DmaAttrs.SKIP_CPU_SYNC);
        pages.free(memory.physAddr(), memory.sizeBytes());
        coherentPages.addAndGet(-(memory.sizeBytes() >>> Addresses.PAGE_SHIFT));
    }

    /** Mapped for both directions, whatever the caller says. */
    @Override
    public @Nullable SgTable allocNoncontiguous(
            Device dev, int cpu, long sizeBytes, DmaDirection direction, int gfp, int attrs) {
        return coherent.allocNoncontiguous(cpu, sizeBytes, coherentProt(attrs), gfp, attrs);
    }

    @Override
    public void freeNoncontiguous(Device dev, int cpu, long sizeBytes, SgTable sg, DmaDirection direction) {
        coherent.freeNoncontiguous(cpu, sizeBytes, sg);
    }

    @Override
    public int getSgTable(Device dev, SgTable sg, CoherentPages memory, long sizeBytes, int attrs) {
        return coherent.getSgTable(sg, memory, sizeBytes);
    }

    @Override
    public UserMapping mmap(Device dev, UserVma vma, CoherentPages memory, long sizeBytes, int attrs) {
        return coherent.mmap(vma, memory, sizeBytes, attrs);
    }

    /** dma-core:MSK-14. */
    @Override
    public boolean canMmap(Device dev) {
        return true;
    }

    // ---- what it says of itself

    @Override
    public boolean isDmaIommu(Device dev) {
        return true;
    }

    @Override
    public boolean isMaskSupported(Device dev, long mask) {
        return true;
    }

    @Override
    public boolean mayNeedSync(Device dev) {
        return !device.isCoherent();
    }

    @Override
    public long maxMappingSize(Device dev) {
        return bounce.maxMappingBytes();
    }

    /** DALLOC-5. */
    @Override
    public long optMappingSize(Device dev) {
        return OPT_MAPPING_BYTES;
    }

    @Override
    public long requiredMask(Device dev) {
        return REQUIRED_MASK;
    }

    @Override
    public long mergeBoundary(Device dev) {
        return domain.granuleBytes() - 1;
    }
}
