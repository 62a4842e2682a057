package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;

/**
 * Which page size to map or unmap next, and how many pages of it.
 *
 * <p>Implements iommu:CORE-10 to CORE-13. For an unmap the physical address given is the device address (CORE-12).
 */
final class PageSizes {
    private PageSizes() {}

    /** The largest size of the bitmap that fits the rest and the alignment of both addresses (iommu:CORE-10). */
    static long choose(long bitmap, long iova, long physAddr, long sizeBytes) {
        long candidates = bitmap & upTo(Long.highestOneBit(sizeBytes));
        long both = iova | physAddr;
        if (both != 0) {
            candidates &= upTo(Long.lowestOneBit(both));
        }
        if (candidates == 0) {
            throw new KernelBugException(
                    "no page size of " + Addresses.hex(bitmap) + " fits iova " + Addresses.hex(iova) + ", physical "
                            + Addresses.hex(physAddr) + ", size " + Addresses.hex(sizeBytes) + " (iommu:CORE-10)");
        }
        return Long.highestOneBit(candidates);
    }

    private static long upTo(long bit) {
        return bit | (bit - 1);
    }

    /** How many pages of the chosen size: up to where the next larger size fits, if it will (iommu:CORE-11). */
    static long count(long bitmap, long pageSizeBytes, long iova, long physAddr, long sizeBytes) {
        int shift = Long.numberOfTrailingZeros(pageSizeBytes);
        long larger = Long.lowestOneBit(bitmap & ~upTo(pageSizeBytes));
        if (larger == 0 || ((iova ^ physAddr) & (larger - 1)) != 0) {
            return sizeBytes >>> shift;
        }
        long toLarger = larger - ((iova | physAddr) & (larger - 1));
        boolean fits =
                Addresses.lessOrEqual(toLarger, -1L - larger) && Addresses.lessOrEqual(toLarger + larger, sizeBytes);
        return (fits ? toLarger : sizeBytes) >>> shift;
    }
}
