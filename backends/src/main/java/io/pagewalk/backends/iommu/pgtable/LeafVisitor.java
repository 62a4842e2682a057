package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.backends.iommu.api.IommuProt;

/** Looks at the leaves of page tables. */
@FunctionalInterface
public interface LeafVisitor {
    /**
     * Looks at one leaf.
     *
     * @param iova its first device address
     * @param physAddr its first physical address
     * @param sizeBytes how much it maps
     * @param perm {@link IommuProt#READ} and {@link IommuProt#WRITE} as they stand in it
     */
    void leaf(long iova, long physAddr, long sizeBytes, int perm);
}
