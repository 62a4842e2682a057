package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.direct.KmallocBounce;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The bounce in front of an IOMMU: a buffer of an untrusted device that shares a granule with other data is copied to
 * granules of its own, since an IOMMU protects whole granules only; and so is a small one of a device that does not
 * snoop, if it may share a cache line.
 *
 * <p>Implements iommu:DMAP-3 to DMAP-5, SG-3, BNC-1 to BNC-3 for one device. Thread-safe; allocates nothing.
 */
final class IommuBounce {
    private static final long NO_BUFFER = -1L;

    private final Device device;
    private final SwiotlbPool pool;
    private final CpuMemory memory;
    private final KernelLog.Site inactiveSite;
    private final long granuleBytes;
    private final boolean untrusted;
    private final @Nullable KmallocBounce small;

    IommuBounce(Device device, SwiotlbPool pool, long granuleBytes) {
        this.device = device;
        this.pool = pool;
        this.memory = device.machine().cpuMemory();
        this.inactiveSite = device.machine().log().site("iommu_dma_map_page: swiotlb");
        this.granuleBytes = granuleBytes;
        this.untrusted = !device.isTrusted();
        this.small = device.isCoherent()
                ? null
                : KmallocBounce.of(device.machine().kernelConfig().arch());
    }

    /** Whether the device's buffers may be bounced at all. */
    boolean isPossible() {
        return untrusted || small != null;
    }

    /** Whether a buffer is to be bounced: not one of whole granules (iommu:DMAP-3). */
    boolean isNeeded(long physAddr, long sizeBytes, DmaDirection direction) {
        return isPossible()
                && ((physAddr | sizeBytes) & (granuleBytes - 1)) != 0
                && (untrusted || isTooSmall(sizeBytes, direction));
    }

    /** iommu:DMAP-5. */
    private boolean isTooSmall(long sizeBytes, DmaDirection direction) {
        return small != null && small.isNeeded(device, sizeBytes, direction);
    }

    /** Whether there is anything to bounce through. */
    boolean isPoolActive() {
        return pool.isActive();
    }

    /** Whether a list goes entry by entry, since some may be bounced (iommu:SG-3). */
    boolean isPossible(SgTable sg, int nents, DmaDirection direction) {
        if (untrusted || small == null) {
            return untrusted;
        }
        for (int i = 0; i < nents; i++) {
            if (isTooSmall(sg.lengthBytes(i), direction)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Copies a buffer to granules of its own, whose other bytes are zeroed for an untrusted device (iommu:DMAP-4).
     *
     * @return physical address of the bounce buffer, or {@link Dma#DMA_MAPPING_ERROR} with the cause noted
     */
    long bounce(int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if (!pool.isActive()) {
            return refuseInactive(cpu, physAddr, sizeBytes);
        }
        long bounced = pool.map(device, cpu, physAddr, sizeBytes, granuleBytes - 1, direction, attrs);
        if (bounced == NO_BUFFER) {
            return Dma.DMA_MAPPING_ERROR;
        }
        if (untrusted) {
            zeroAround(bounced, bounced + sizeBytes);
        }
        return bounced;
    }

    private void zeroAround(long first, long end) {
        long granule = Addresses.alignDown(first, granuleBytes);
        memory.zero(granule, first - granule);
        memory.zero(end, Addresses.alignUp(end, granuleBytes) - end);
    }

    private long refuseInactive(int cpu, long physAddr, long sizeBytes) {
        if (inactiveSite.isFirst()) {
            inactiveSite.message(
                    device.name() + ": DMA bounce buffers are inactive, unable to map unaligned transaction at "
                            + Addresses.hexRange(physAddr, sizeBytes));
        }
        device.failure(cpu).record(FailureReason.NO_POOL, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        return Dma.DMA_MAPPING_ERROR;
    }

    /** Gives a bounce buffer back, with a copy back as direction and attributes say; nothing for other memory. */
    void release(int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if (pool.contains(device, physAddr)) {
            pool.unmap(device, cpu, physAddr, sizeBytes, direction, attrs);
        }
    }

    void syncForCpu(int cpu, long physAddr, long sizeBytes, DmaDirection direction) {
        pool.syncForCpu(device, cpu, physAddr, sizeBytes, direction);
    }

    void syncForDevice(int cpu, long physAddr, long sizeBytes, DmaDirection direction) {
        pool.syncForDevice(device, cpu, physAddr, sizeBytes, direction);
    }

    /** BNC-3. */
    long maxMappingBytes() {
        return untrusted ? pool.maxMappingBytes(device) : -1L;
    }
}
