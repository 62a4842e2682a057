package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;

/**
 * Maps one run of physical memory for one device: takes addresses, fills the tables.
 *
 * <p>Implements iommu:DMAP-2. Thread-safe; allocates nothing.
 */
final class CoreMapper {
    private final Device device;
    private final IommuDomain domain;
    private final DeviceIovas iovas;
    private final KernelLog.Site alignmentSite;

    /**
     * Makes the mapper of a device.
     *
     * @param device the device
     * @param domain its domain
     * @param iovas chooses its addresses
     */
    CoreMapper(Device device, IommuDomain domain, DeviceIovas iovas) {
        this.device = device;
        this.domain = domain;
        this.iovas = iovas;
        this.alignmentSite = device.machine().log().site("iommu_dma_map: alignment");
    }

    /**
     * Maps a run.
     *
     * @param cpu the CPU that maps
     * @param physAddr first byte
     * @param sizeBytes length
     * @param prot bits of {@code IommuProt}
     * @param mask the mask that holds
     * @return the device address of the first byte, or {@link Dma#DMA_MAPPING_ERROR} with the cause noted and nothing
     *     held
     */
    long map(int cpu, long physAddr, long sizeBytes, int prot, long mask) {
        long granuleMask = domain.granuleBytes() - 1;
        if (Addresses.lessThan(granuleMask, device.minAlignMask())) {
            return refuseAlignment(cpu, granuleMask);
        }
        long offset = physAddr & granuleMask;
        long size = Addresses.alignUp(sizeBytes + offset, granuleMask + 1);
        long iova = iovas.alloc(cpu, size, mask);
        if (iova == 0) {
            return Dma.DMA_MAPPING_ERROR;
        }
        int error = domain.core().map(iova, physAddr - offset, size, prot);
        if (error != 0) {
            domain.freeNow(cpu, iova, size);
            device.failure(cpu).record(FailureReason.TABLE_ERROR, -error, iova, size, -error, 0);
            return Dma.DMA_MAPPING_ERROR;
        }
        return iova + offset;
    }

    private long refuseAlignment(int cpu, long granuleMask) {
        device.failure(cpu)
                .record(
                        FailureReason.UNSUPPORTED_ALIGNMENT,
                        Errno.EINVAL,
                        device.minAlignMask(),
                        granuleMask + 1,
                        0,
                        0);
        if (alignmentSite.isFirst()) {
            alignmentSite.message(device.name() + ": Unsupported alignment constraint");
            alignmentSite.warn(device.name() + ": min align mask " + Addresses.hex(device.minAlignMask())
                    + " is larger than the granule's, " + Addresses.hex(granuleMask) + " (iommu:DMAP-2)");
        }
        return Dma.DMA_MAPPING_ERROR;
    }
}
