package io.pagewalk.backends.iommu.driver;

import io.pagewalk.dma.Access;

/** Told of accesses that went by what the hardware remembers and not by what the tables say. */
@FunctionalInterface
public interface StaleUseReports {
    /** Stands for "no memory": the access was, or would have been, blocked. */
    long NOWHERE = -1L;

    /**
     * Takes a stale use.
     *
     * @param requesterId who accessed: bus, device and function
     * @param iova the address
     * @param access what the device did there
     * @param reachedPhysAddr where the access went, or {@link #NOWHERE}
     * @param mappedPhysAddr where the tables would have led it, or {@link #NOWHERE}
     */
    void staleUse(int requesterId, long iova, Access access, long reachedPhysAddr, long mappedPhysAddr);
}
