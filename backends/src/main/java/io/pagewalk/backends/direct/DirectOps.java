package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.DeviceIoTlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.PageProtection;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import org.jspecify.annotations.Nullable;

/**
 * dma-direct: the driver's side for a device that no IOMMU translates for.
 *
 * <p>Implements dma-core:DIR-40, MSK-8, MSK-11, MSK-14, FE-43, FE-70, FE-71; the rest is its parts'. Thread-safe;
 * allocates nothing on the way of a mapping.
 */
public final class DirectOps implements DmaOps {
    private static final long UNLIMITED = -1L;
    private static final long U32 = 0xffff_ffffL;

    private final DeviceIoTlb ioTlb;
    private final DirectReach reach;
    private final DirectCoherent coherent;
    private final DirectRefusal refusal;
    private final DirectStreaming streaming;
    private final DirectLists lists;

    /**
     * Makes the operations of a device.
     *
     * @param core what the machine's devices share
     * @param ioTlb the device's bounce allocator
     */
    public DirectOps(DirectCore core, DeviceIoTlb ioTlb) {
        this.ioTlb = ioTlb;
        this.reach = core.reach();
        this.coherent = core.coherent();
        this.refusal = core.refusal();
        this.streaming = new DirectStreaming(core, ioTlb);
        this.lists = new DirectLists(core, streaming);
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return streaming.map(device, cpu, physAddr, sizeBytes, direction, attrs, refusal.pageSite());
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        streaming.unmap(device, cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        return lists.map(device, cpu, sg, nents, direction, attrs);
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        lists.unmap(device, cpu, sg, nents, direction, attrs);
    }

    /** The address is not translated, dma-ranges or not (DIR-40). */
    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return DirectReach.isCapable(device, physAddr, sizeBytes)
                ? physAddr
                : refusal.resource(device, cpu, physAddr, sizeBytes);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        streaming.syncForCpu(device, cpu, dmaAddr, sizeBytes, direction, true);
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        streaming.syncForDevice(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        lists.syncForCpu(device, cpu, sg, nents, direction);
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        lists.syncForDevice(device, cpu, sg, nents, direction);
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        return coherent.alloc(ioTlb.mem(), device, cpu, sizeBytes, gfp, attrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        coherent.free(ioTlb.mem(), device, pages, attrs);
    }

    @Override
    public @Nullable DmaPages allocPages(Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        return coherent.allocPages(ioTlb.mem(), device, cpu, sizeBytes, gfp);
    }

    @Override
    public void freePages(Device device, int cpu, DmaPages pages, DmaDirection direction) {
        coherent.freePages(ioTlb.mem(), device, pages);
    }

    /** One entry for the page of the DMA address, with the rounded length, and no DMA side (FE-70). */
    @Override
    public int getSgTable(Device device, SgTable sg, CoherentPages pages, long sizeBytes, int attrs) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        sg.add(firstPage(device, pages), 0, roundedBytes & U32);
        return 0;
    }

    private static long firstPage(Device device, CoherentPages pages) {
        return device.dmaToPhys(pages.dmaAddr()) & Addresses.PAGE_MASK;
    }

    @Override
    public UserMapping mmap(Device device, UserVma vma, CoherentPages pages, long sizeBytes, int attrs) {
        long count = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        return UserMapping.ofContiguous(vma, firstPage(device, pages), count, PageProtection.of(device, attrs));
    }

    @Override
    public boolean canMmap(Device device) {
        return device.isCoherent() || device.machine().kernelConfig().nonCoherentMmap();
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return reach.isMaskSupported(device, mask);
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return !device.isCoherent();
    }

    /** The address alone decides, whether or not that mapping was bounced (FE-43). */
    @Override
    public boolean needsSync(Device device, long dmaAddr) {
        return !device.isCoherent() || ioTlb.mem().contains(device, device.dmaToPhys(dmaAddr));
    }

    @Override
    public long maxMappingSize(Device device) {
        SwiotlbPool pool = ioTlb.mem();
        boolean mayBounce = pool.isActive() && (pool.isForced() || device.isAddressingLimited());
        return mayBounce ? pool.maxMappingBytes(device) : UNLIMITED;
    }

    @Override
    public boolean isSwiotlbActive(Device device) {
        return ioTlb.mem().isActive();
    }

    @Override
    public long requiredMask(Device device) {
        return reach.requiredMask(device);
    }

    @Override
    public boolean isAllRamMapped(Device device) {
        return reach.isAllRamMapped(device);
    }

    @Override
    public String toString() {
        SwiotlbPool pool = ioTlb.mem();
        return "dma-direct" + (pool.isForced() ? ", all bounced" : "") + ", pool at " + Addresses.hex(pool.start());
    }
}
