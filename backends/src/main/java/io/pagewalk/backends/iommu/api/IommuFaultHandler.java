package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.Device;

/** What a domain's owner does about a fault (iommu:CORE-22). */
@FunctionalInterface
public interface IommuFaultHandler {
    /**
     * Looks at a fault.
     *
     * @param device whose access it was
     * @param iova the address
     * @param write whether it was a write
     * @return 0 when it was dealt with, or a negated errno
     */
    int onFault(Device device, long iova, boolean write);
}
