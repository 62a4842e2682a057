package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the path of each call of a device that has operations of its own, or whose architecture has an escape. Any
 * other device calls its backend without this step.
 *
 * <p>Implements dma-core:SEL-1 to SEL-5, MSK-2, MSK-3, MSK-8, MSK-9, MSK-11 to MSK-15. As thread-safe as the paths.
 */
final class DmaDispatch implements DmaOps {
    /*
     * Three paths, asked in this order: direct, the default IOMMU, the device's own operations. A device behind an IOMMU
     * that translates for the DMA API never goes direct; one without operations always does. In between stands the bypass:
     * where a mask reaches all memory, operations that exist only to make memory reachable are left out. As the mask decides,
     * and streaming calls look at another mask than allocations, a device can be on two paths at once (SEL-3).
     */
    private final DmaOps attached;
    private final DmaOps direct;
    private final @Nullable DmaOps own;
    private final boolean bypass;
    private final @Nullable ArchMapDirect escape;

    private DmaDispatch(Device device, DmaBackend backend, DmaOps attached, @Nullable DmaOps own) {
        KernelConfig kernel = device.machine().kernelConfig();
        this.attached = attached;
        this.direct = backend.directOps(device, attached);
        this.own = own;
        this.bypass = kernel.dmaOpsBypass() && device.config().dmaOpsBypass();
        this.escape = kernel.archMapDirect();
    }

    /**
     * Finds what the calls of a device go to.
     *
     * @param device the device
     * @param backend its machine's backend
     * @param attached what the backend gave for it
     * @return {@code attached} itself unless there is something to choose
     */
    static DmaOps of(Device device, DmaBackend backend, DmaOps attached) {
        KernelConfig kernel = device.machine().kernelConfig();
        if (!kernel.hasDma()) {
            return new WithoutDma();
        }
        DmaOps own = ownOps(kernel, device.config());
        boolean choice = own != null || kernel.archMapDirect() != null;
        return choice ? new DmaDispatch(device, backend, attached, own) : attached;
    }

    /** The device's own, else the architecture's, else none; none always without ARCH_HAS_DMA_OPS (SEL-1). */
    private static @Nullable DmaOps ownOps(KernelConfig kernel, DeviceConfig config) {
        if (!kernel.dmaOps()) {
            return null;
        }
        DmaOps ops = config.dmaOps();
        return ops != null ? ops : kernel.archDmaOps();
    }

    boolean hasOwnOps() {
        return own != null;
    }

    /** Whether allocations go to the device's own operations now. */
    boolean allocatesByOwnOps(Device device) {
        return own != null && byCoherentMask(device) == own;
    }

    private DmaOps byStreamingMask(Device device) {
        return path(device, device.streamingMask());
    }

    private DmaOps byCoherentMask(Device device) {
        return path(device, device.coherentMask());
    }

    private DmaOps path(Device device, long mask) {
        if (attached.isDmaIommu(device)) {
            return attached;
        }
        return own == null || goesAround(device, mask) ? direct : own;
    }

    private boolean goesAround(Device device, long mask) {
        return bypass
                && Addresses.lessOrEqual(direct.requiredMask(device), Addresses.minNotZero(mask, device.busLimit()));
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        boolean escapes = escape != null && escape.mapsPage(device, physAddr + sizeBytes);
        DmaOps path = escapes ? direct : byStreamingMask(device);
        return path.mapPage(device, cpu, physAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        boolean escapes = escape != null && escape.unmapsPage(device, dmaAddr + sizeBytes);
        DmaOps path = escapes ? direct : byStreamingMask(device);
        path.unmapPage(device, cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        DmaOps path = escape != null && escape.mapsSg(device, sg, nents) ? direct : byStreamingMask(device);
        return path.mapSg(device, cpu, sg, nents, direction, attrs);
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        DmaOps path = escape != null && escape.unmapsSg(device, sg, nents) ? direct : byStreamingMask(device);
        path.unmapSg(device, cpu, sg, nents, direction, attrs);
    }

    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return byStreamingMask(device).mapResource(device, cpu, physAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        byStreamingMask(device).unmapResource(device, cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        byStreamingMask(device).syncForCpu(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        byStreamingMask(device).syncForDevice(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        byStreamingMask(device).syncSgForCpu(device, cpu, sg, nents, direction);
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        byStreamingMask(device).syncSgForDevice(device, cpu, sg, nents, direction);
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        return byCoherentMask(device).allocCoherent(device, cpu, sizeBytes, gfp, attrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        byCoherentMask(device).freeCoherent(device, cpu, pages, attrs);
    }

    @Override
    public @Nullable DmaPages allocPages(Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        return byCoherentMask(device).allocPages(device, cpu, sizeBytes, direction, gfp);
    }

    @Override
    public void freePages(Device device, int cpu, DmaPages pages, DmaDirection direction) {
        byCoherentMask(device).freePages(device, cpu, pages, direction);
    }

    @Override
    public @Nullable SgTable allocNoncontiguous(
            Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp, int attrs) {
        return byCoherentMask(device).allocNoncontiguous(device, cpu, sizeBytes, direction, gfp, attrs);
    }

    @Override
    public void freeNoncontiguous(Device device, int cpu, long sizeBytes, SgTable sg, DmaDirection direction) {
        byCoherentMask(device).freeNoncontiguous(device, cpu, sizeBytes, sg, direction);
    }

    @Override
    public int getSgTable(Device device, SgTable sg, CoherentPages pages, long sizeBytes, int attrs) {
        return byCoherentMask(device).getSgTable(device, sg, pages, sizeBytes, attrs);
    }

    @Override
    public UserMapping mmap(Device device, UserVma vma, CoherentPages pages, long sizeBytes, int attrs) {
        return byCoherentMask(device).mmap(device, vma, pages, sizeBytes, attrs);
    }

    @Override
    public boolean canMmap(Device device) {
        return byCoherentMask(device).canMmap(device);
    }

    @Override
    public boolean isDmaIommu(Device device) {
        return attached.isDmaIommu(device);
    }

    /** Neither mask is asked here, and operations next to an IOMMU are a mistake (MSK-3). */
    @Override
    public boolean isMaskSupported(Device device, long mask) {
        if (own != null && attached.isDmaIommu(device)) {
            return warnOfOpsBesideIommu(device);
        }
        return withoutBypass(device).isMaskSupported(device, mask);
    }

    private static boolean warnOfOpsBesideIommu(Device device) {
        device.machine()
                .log()
                .warn("dma_supported", device.name() + " has operations of its own behind an IOMMU (dma-core:MSK-3)");
        return false;
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return byStreamingMask(device).mayNeedSync(device);
    }

    @Override
    public boolean needsSync(Device device, long dmaAddr) {
        return byStreamingMask(device).needsSync(device, dmaAddr);
    }

    @Override
    public long maxMappingSize(Device device) {
        return byStreamingMask(device).maxMappingSize(device);
    }

    /** The bypass is not asked (MSK-12). */
    @Override
    public long optMappingSize(Device device) {
        return withoutBypass(device).optMappingSize(device);
    }

    /** The bypass is not asked (MSK-13). */
    @Override
    public long mergeBoundary(Device device) {
        return withoutBypass(device).mergeBoundary(device);
    }

    /** The pool is the device's, whichever way its calls go. */
    @Override
    public boolean isSwiotlbActive(Device device) {
        return direct.isSwiotlbActive(device);
    }

    /** Operations are trusted to reach all memory, whether or not they are gone around (MSK-9). */
    @Override
    public boolean isAllRamMapped(Device device) {
        return own != null || withoutBypass(device).isAllRamMapped(device);
    }

    private DmaOps withoutBypass(Device device) {
        if (attached.isDmaIommu(device)) {
            return attached;
        }
        return own == null ? direct : own;
    }

    @Override
    public long requiredMask(Device device) {
        return byCoherentMask(device).requiredMask(device);
    }
}
