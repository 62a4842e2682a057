package io.pagewalk.backends.iommu.driver;

/**
 * Where what the hardware caches of a domain may be: the IOTLB of one unit, under one id, for as long as a device
 * behind that unit is in the domain. Implements the IOTLB part of iommu:INV-13. For one thread at a time, but for the
 * id.
 */
final class CacheTag {
    private final VtdIommu iommu;
    private final int domainId;
    private int devices = 1;

    CacheTag(VtdIommu iommu, int domainId) {
        this.iommu = iommu;
        this.domainId = domainId;
    }

    VtdIommu iommu() {
        return iommu;
    }

    int domainId() {
        return domainId;
    }

    void take() {
        devices++;
    }

    /** One device less; true when it was the last one. */
    boolean drop() {
        devices--;
        return devices == 0;
    }
}
