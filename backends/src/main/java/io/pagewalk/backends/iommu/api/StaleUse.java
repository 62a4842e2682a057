package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.Access;

/**
 * An access that went by a translation that the tables did not hold at that moment: nothing is mapped there any more,
 * or something else is.
 *
 * @param device the device's name
 * @param iova the address
 * @param access what the device did there
 * @param reachedPhysAddr where the access went, or {@link #NOWHERE} when it was blocked although something is mapped
 * @param mappedPhysAddr where the tables would have led it, or {@link #NOWHERE} when they map nothing
 */
public record StaleUse(String device, long iova, Access access, long reachedPhysAddr, long mappedPhysAddr) {
    /** Stands for "no memory". */
    public static final long NOWHERE = -1L;
}
