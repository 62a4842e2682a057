package io.pagewalk.backends.iommu.driver;

import io.pagewalk.dma.memory.Addresses;

/**
 * Rounds a range to what one page-selective invalidation can name: 2^order naturally aligned pages. Implements
 * iommu:INV-9. Ranges may wrap, as that of an empty gather does (iommu:INV-11).
 */
public final class PageSelection {
    /** An order beyond that of any selection: nothing less than the domain will do. */
    static final int EVERYTHING = 53;

    private static final int ORDER_OF_EVERYTHING = 52;

    private PageSelection() {}

    /**
     * The order of the smallest selection that holds a range.
     *
     * @param firstIova first byte
     * @param lastIova last byte
     * @return the binary logarithm of its pages; more than 52 for the range of an empty gather
     */
    public static int order(long firstIova, long lastIova) {
        long bytes = (firstIova & ~Addresses.PAGE_MASK) + (lastIova - firstIova + 1);
        long pages = Addresses.alignUp(bytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        int order = pages <= 1 ? 0 : Long.SIZE - Long.numberOfLeadingZeros(pages - 1);
        long aligned = 1L << order;
        long pfn = firstIova >>> Addresses.PAGE_SHIFT;
        if (Addresses.isAligned(pfn, aligned)) {
            return order;
        }
        long shared = ~(pfn ^ (pfn + pages - 1)) & -aligned;
        return shared == 0 ? ORDER_OF_EVERYTHING : Long.numberOfTrailingZeros(shared);
    }

    /**
     * Where the selection begins.
     *
     * @param firstIova first byte of the range
     * @param order its order, below 52
     * @return a multiple of the selection's size
     */
    public static long address(long firstIova, int order) {
        return Addresses.alignDown(firstIova, 1L << (Addresses.PAGE_SHIFT + order));
    }
}
