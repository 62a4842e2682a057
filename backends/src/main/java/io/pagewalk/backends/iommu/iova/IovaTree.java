package io.pagewalk.backends.iommu.iova;

import io.pagewalk.backends.iommu.range.RangeNodes;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;

/**
 * The range tree of one IOVA domain: which page frame numbers of device addresses are taken. A range is an int handle,
 * 0 for none. All pfns, sizes and limits are unsigned.
 *
 * <p>Implements iommu:IOVA-1 to IOVA-23. Not thread-safe: {@link IovaDomain} has the lock.
 */
public final class IovaTree {
    /* First fit from the top, but starting at the range allocated last, not at the limit. Two pointers remember it: one for
     * requests that must stay below 4 GiB, one for all others. So a run of allocations steps down through free space without
     * searching; the price is that holes above the pointer wait until a downward search has failed and is retried once from
     * the top (IOVA-12, IOVA-17). A size that failed is remembered in max32AllocSize, so that 32-bit requests of that size
     * or more fail at once until a range below 4 GiB is removed (IOVA-9, IOVA-14, IOVA-15).
     */

    /** The handle of no range. */
    public static final int NONE = RangeNodes.NIL;
    /** The handle of the permanent range [2^64-1, 2^64-1]. */
    public static final int ANCHOR = RangeNodes.ANCHOR;

    private static final int PAGE_BITS = 12;

    private final RangeNodes nodes = new RangeNodes();
    private final int shift;
    private final long startPfn;
    private final long dma32Pfn;
    private long max32AllocSize;
    private int cached = ANCHOR;
    private int cached32 = ANCHOR;
    private long foundLo;
    private int foundAbove;

    /**
     * Makes an empty tree (iommu:IOVA-2).
     *
     * @param granuleBytes bytes of a pfn, a power of two and at most a page
     * @param startPfn the lowest pfn ever handed out
     * @throws KernelBugException when the granule is no such power of two
     */
    public IovaTree(long granuleBytes, long startPfn) {
        if (Long.bitCount(granuleBytes) != 1 || Addresses.lessThan(1L << PAGE_BITS, granuleBytes)) {
            throw new KernelBugException(
                    "IOVA granule " + Addresses.hex(granuleBytes) + " is no power of two up to a page (iommu:IOVA-2)");
        }
        this.shift = Long.numberOfTrailingZeros(granuleBytes);
        this.startPfn = startPfn;
        this.dma32Pfn = 1L << (32 - shift);
        this.max32AllocSize = dma32Pfn;
    }

    /**
     * Takes a range (iommu:IOVA-8 to IOVA-14).
     *
     * @param size how many pfns, at least 1
     * @param limitPfn highest pfn allowed
     * @param sizeAligned whether the range starts at a multiple of the size rounded up to a power of two
     * @return the range, or {@link #NONE}
     */
    public int alloc(long size, long limitPfn, boolean sizeAligned) {
        long limit = limitPfn + 1;
        boolean below4Gib = Addresses.lessOrEqual(limit, dma32Pfn);
        if (below4Gib && !Addresses.lessThan(size, max32AllocSize)) {
            return NONE;
        }
        long mask = sizeAligned ? alignMask(size) : -1L;
        int start = below4Gib ? cached32 : cached;
        if (!walk(start, limit, startPfn, size, mask) && !retryAbove(nodes.hi(start), limit, size, mask)) {
            max32AllocSize = size;
            return NONE;
        }
        return insertFound(size);
    }

    private static long alignMask(long size) {
        int bits = Long.SIZE - Long.numberOfLeadingZeros(size - 1);
        return bits == Long.SIZE ? 0 : -1L << bits;
    }

    /**
     * IOVA-12. Starting at the lowest range that reaches the limit gives what starting at the anchor gives (IOVA-16).
     */
    private boolean retryAbove(long retryPfn, long limit, long size, long mask) {
        return Addresses.lessThan(retryPfn, limit)
                && walk(nodes.lowestReaching(limit), limit, retryPfn + 1, size, mask);
    }

    /** IOVA-10, IOVA-11: looks at the gap below each range in turn, downwards from {@code start}. */
    private boolean walk(int start, long limit, long low, long size, long mask) {
        int curr = start;
        long high = limit;
        long lo;
        int above;
        do {
            high = Addresses.min(high, nodes.lo(curr));
            lo = (high - size) & mask;
            above = curr;
            curr = nodes.prev(curr);
        } while (curr != RangeNodes.NIL && Addresses.lessOrEqual(lo, nodes.hi(curr)) && !Addresses.lessThan(lo, low));
        foundLo = lo;
        foundAbove = above;
        return !Addresses.lessThan(high, size) && !Addresses.lessThan(lo, low);
    }

    private int insertFound(long size) {
        long hi = foundLo + size - 1;
        int node = nodes.insertBelow(foundAbove, foundLo, hi);
        if (Addresses.lessThan(hi, dma32Pfn)) {
            cached32 = node;
        } else {
            cached = node;
        }
        return node;
    }

    /**
     * Gives a range back (iommu:IOVA-7).
     *
     * @param range a range, not the anchor
     */
    public void remove(int range) {
        long lo = nodes.lo(range);
        int next = nodes.next(range);
        boolean endsBelow4Gib = Addresses.lessThan(nodes.hi(range), dma32Pfn);
        if (range == cached32 || (endsBelow4Gib && !Addresses.lessThan(lo, nodes.lo(cached32)))) {
            cached32 = next;
        }
        if (Addresses.lessThan(lo, dma32Pfn)) {
            max32AllocSize = dma32Pfn;
        }
        if (!Addresses.lessThan(lo, nodes.lo(cached))) {
            cached = next;
        }
        nodes.remove(range);
    }

    /**
     * Gives the range around a pfn back; does nothing when there is none (iommu:IOVA-18).
     *
     * @param pfn any pfn of the range but the anchor's
     */
    public void free(long pfn) {
        int range = nodes.find(pfn);
        if (range != NONE) {
            remove(range);
        }
    }

    /**
     * Finds the range around a pfn (iommu:IOVA-18).
     *
     * @param pfn any pfn
     * @return the range, or {@link #NONE}
     */
    public int find(long pfn) {
        return nodes.find(pfn);
    }

    /**
     * Takes a given range, whatever is there already (iommu:IOVA-20 to IOVA-22): ranges in the way are kept, the lowest
     * of them grown downwards, and what sticks out above becomes a range of its own.
     *
     * @param lo first pfn
     * @param hi last pfn
     * @return the range that holds the last part, or {@link #NONE} when an address would need more than 64 bits
     */
    public int reserve(long lo, long hi) {
        if (Addresses.lessThan(-1L >>> shift, lo | hi)) {
            return NONE;
        }
        long from = lo;
        int node = nodes.lowestReaching(from);
        while (Addresses.lessOrEqual(nodes.lo(node), hi)) {
            if (Addresses.lessThan(from, nodes.lo(node))) {
                nodes.setLo(node, from);
            }
            if (!Addresses.lessThan(nodes.hi(node), hi)) {
                return node;
            }
            from = nodes.hi(node) + 1;
            node = nodes.next(node);
        }
        return nodes.insertBelow(node, from, hi);
    }

    /**
     * The lowest range.
     *
     * @return a range; {@link #ANCHOR} when there is no other
     */
    public int first() {
        return nodes.first();
    }

    /**
     * The next range upwards.
     *
     * @param range a range, not the anchor
     * @return the next one, at last {@link #ANCHOR}
     */
    public int next(int range) {
        return nodes.next(range);
    }

    /**
     * A range's first pfn.
     *
     * @param range a range
     * @return the pfn
     */
    public long lo(int range) {
        return nodes.lo(range);
    }

    /**
     * A range's last pfn.
     *
     * @param range a range
     * @return the pfn
     */
    public long hi(int range) {
        return nodes.hi(range);
    }

    /**
     * The size from which on 32-bit requests fail at once.
     *
     * @return a number of pfns
     */
    public long max32AllocSize() {
        return max32AllocSize;
    }

    /**
     * The first pfn above 4 GiB.
     *
     * @return the pfn
     */
    public long dma32Pfn() {
        return dma32Pfn;
    }

    /**
     * Where the search of an unlimited request starts.
     *
     * @return a range
     */
    public int cachedRange() {
        return cached;
    }

    /**
     * Where the search of a 32-bit request starts.
     *
     * @return a range
     */
    public int cached32Range() {
        return cached32;
    }

    /** Takes a range of pfns. */
    @FunctionalInterface
    public interface RangeVisitor {
        /**
         * Takes one range.
         *
         * @param loPfn first pfn
         * @param hiPfn last pfn
         */
        void visit(long loPfn, long hiPfn);
    }

    /**
     * Shows removed ranges whose place in the arrays was not used again: some of those that were taken once, each
     * perhaps taken anew since.
     *
     * @param visitor takes them
     */
    public void forEachRemembered(RangeVisitor visitor) {
        for (int node = ANCHOR + 1; node < nodes.slots(); node++) {
            if (!nodes.isLive(node)) {
                visitor.visit(nodes.lo(node), nodes.hi(node));
            }
        }
    }

    RangeNodes nodes() {
        return nodes;
    }
}
