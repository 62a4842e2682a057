package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.memory.Addresses;

/**
 * Chooses device addresses for one device: PCI devices get 32-bit addresses until the first time there are none left.
 *
 * <p>Implements iommu:DIOVA-1 to DIOVA-7. Thread-safe; allocates nothing.
 */
final class DeviceIovas {
    private static final long LAST_BELOW_4_GIB = 0xffff_ffffL;

    private final Device device;
    private final IommuDomain domain;
    private final FailurePoint point;
    private volatile boolean triesBelow4Gib;

    DeviceIovas(Device device, IommuDomain domain, boolean triesBelow4Gib) {
        this.device = device;
        this.domain = domain;
        this.point = device.machine().failures().point("iommu.iova");
        this.triesBelow4Gib = triesBelow4Gib;
    }

    /**
     * Takes a range of device addresses.
     *
     * @param cpu the CPU that asks
     * @param sizeBytes whole granules
     * @param mask the mask that holds
     * @return the first address, or 0 with the cause noted
     */
    long alloc(int cpu, long sizeBytes, long mask) {
        int shift = domain.shift();
        long pages = sizeBytes >>> shift;
        long limit = Addresses.min(Addresses.minNotZero(mask, device.busLimit()), domain.apertureEnd());
        long pfn = pages == 0 || point.failsCall() ? 0 : allocPfn(cpu, pages, limit, shift);
        if (pfn == 0) {
            device.failure(cpu).record(FailureReason.NO_IOVA, Errno.ENOMEM, pages, limit, 0, 0);
            return 0;
        }
        domain.took(cpu, sizeBytes);
        return pfn << shift;
    }

    private long allocPfn(int cpu, long pages, long limit, int shift) {
        if (triesBelow4Gib && Addresses.lessThan(LAST_BELOW_4_GIB, limit)) {
            long pfn = domain.iovas().allocFast(cpu, pages, LAST_BELOW_4_GIB >>> shift, false);
            if (pfn != 0) {
                return pfn;
            }
            leaveBelow4Gib(limit);
        }
        return domain.iovas().allocFast(cpu, pages, limit >>> shift, true);
    }

    /** For good, whatever is freed later (iommu:DIOVA-3). */
    private void leaveBelow4Gib(long limit) {
        triesBelow4Gib = false;
        int bits = Long.SIZE - Long.numberOfLeadingZeros(limit);
        device.machine()
                .log()
                .message("iommu_dma_alloc_iova", device.name() + ": Using " + bits + "-bit DMA addresses");
    }
}
