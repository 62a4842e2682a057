package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainView;
import io.pagewalk.dma.Device;

/** A domain as the IOMMU core puts devices behind it. */
interface CoreDomain extends IommuDomainView {
    /**
     * Puts a device behind the domain; it leaves the one it was behind.
     *
     * @param device the device
     * @return 0, or a negated errno with the device where it was
     */
    int attachDevice(Device device);
}
