package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.memory.Addresses;

/**
 * What a device address belongs to.
 *
 * @param iova first device address of the mapping
 * @param sizeBytes its length
 * @param physAddr physical address behind the first
 * @param perm {@link IommuProt#READ} and {@link IommuProt#WRITE} as the tables have them at the address asked for
 * @param owner who made it; empty when nobody said
 */
public record LiveMapping(long iova, long sizeBytes, long physAddr, int perm, String owner) {
    @Override
    public String toString() {
        return Addresses.hexRange(iova, sizeBytes) + " -> " + Addresses.hex(physAddr)
                + (owner.isEmpty() ? "" : " of " + owner);
    }
}
