package io.pagewalk.dma.memory;

import java.util.BitSet;

/**
 * A contiguous memory area, {@code struct cma}: pages kept for large contiguous allocations. The lowest place that fits
 * is taken. Implements what dma-core:ALC-9 asks of an area. Thread-safe, by one lock.
 */
public final class CmaArea {
    private static final int MAX_ORDER = 30;

    private final String name;
    private final PhysRange range;
    private final BitSet used;
    private final int pages;

    /**
     * Makes an area of pages that nobody else hands out.
     *
     * @param name what messages call it
     * @param range whole pages
     * @throws IllegalArgumentException when the range is not whole pages
     */
    public CmaArea(String name, PhysRange range) {
        if (!Addresses.isAligned(range.first(), Addresses.PAGE_SIZE)
                || !Addresses.isAligned(range.last() + 1, Addresses.PAGE_SIZE)) {
            throw new IllegalArgumentException(range + " of CMA area " + name + " is not whole pages");
        }
        this.name = name;
        this.range = range;
        long count = range.sizeBytes() >>> Addresses.PAGE_SHIFT;
        if (count > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(range + " of CMA area " + name + " has " + count + " pages, at most "
                    + Integer.MAX_VALUE + " can be kept");
        }
        this.pages = (int) count;
        this.used = new BitSet(pages);
    }

    /**
     * What messages call it.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Where it lies.
     *
     * @return whole pages
     */
    public PhysRange range() {
        return range;
    }

    /**
     * {@code cma_alloc}: takes pages.
     *
     * @param count how many, at least 1
     * @param alignOrder binary logarithm of the pages that the physical page number is a multiple of
     * @return the physical address of the first, or {@link PageAllocator#NO_PAGE}
     * @throws IllegalArgumentException when the count is not positive, or no page number has such an order
     */
    public synchronized long alloc(long count, int alignOrder) {
        if (count < 1 || alignOrder < 0 || alignOrder > MAX_ORDER) {
            throw new IllegalArgumentException(count + " pages of order " + alignOrder + " from CMA area " + name
                    + ": at least one, order 0 to " + MAX_ORDER);
        }
        long firstPfn = range.first() >>> Addresses.PAGE_SHIFT;
        int at = aligned(firstPfn, used.nextClearBit(0), alignOrder);
        while (count <= pages - (long) at) {
            int taken = used.nextSetBit(at);
            if (taken < 0 || taken - at >= count) {
                used.set(at, at + (int) count);
                return (firstPfn + at) << Addresses.PAGE_SHIFT;
            }
            at = aligned(firstPfn, used.nextClearBit(taken), alignOrder);
        }
        return PageAllocator.NO_PAGE;
    }

    /** The first index from one on whose page number is a multiple of the alignment. */
    private static int aligned(long firstPfn, int index, int alignOrder) {
        return (int) Math.min(Integer.MAX_VALUE, Addresses.alignUp(firstPfn + index, 1L << alignOrder) - firstPfn);
    }

    /**
     * {@code cma_release}: gives pages back.
     *
     * @param physAddr the first page
     * @param count how many
     * @return false when they are not the area's, with nothing changed
     * @throws IllegalStateException when a page of them is free
     */
    public synchronized boolean release(long physAddr, long count) {
        if (!Addresses.isAligned(physAddr, Addresses.PAGE_SIZE)
                || count < 1
                || count > pages
                || !Addresses.contains(range.first(), range.sizeBytes(), physAddr, count << Addresses.PAGE_SHIFT)) {
            return false;
        }
        int first = (int) ((physAddr - range.first()) >>> Addresses.PAGE_SHIFT);
        int end = first + (int) count;
        if (used.nextClearBit(first) < end) {
            throw new IllegalStateException("pages of " + Addresses.hexRange(physAddr, count << Addresses.PAGE_SHIFT)
                    + " in CMA area " + name + " are free: freed twice, or never allocated");
        }
        used.clear(first, end);
        return true;
    }

    /**
     * How many pages are taken.
     *
     * @return the count
     */
    public synchronized long usedPages() {
        return used.cardinality();
    }

    @Override
    public String toString() {
        return name + " " + range;
    }
}
