package io.pagewalk.backends.iommu.range;

import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;

/**
 * Disjoint closed ranges of page frame numbers in ascending order, without an object for any of them: a range is an
 * index into arrays. Index {@link #ANCHOR} is the permanent range [2^64-1, 2^64-1] (iommu:IOVA-1, IOVA-3).
 *
 * <p>Not thread-safe. Allocates only when it grows.
 */
public final class RangeNodes {
    /* A treap: a search tree by `lo`, a heap by a priority scattered from `lo`, so that the expected depth is logarithmic and
     * an insert or a removal rotates less than twice on average. The order is threaded through `prev` and `next` as well, since the
     * allocator steps from neighbour to neighbour and inserts between two of them without a descent: of two neighbours, either
     * the upper one has no left child or the lower one has no right child.
     *
     * The shape depends on which ranges there are, and never shows in a result (iommu:IOVA-16). Indices in int arrays instead
     * of references spare the write barriers of the garbage collector.
     *
     * The slot of a removed range keeps its bounds until it is used again; `remembered` looks at them.
     */

    /** No range. */
    public static final int NIL = 0;
    /** The permanent last range. */
    public static final int ANCHOR = 1;

    private static final int FIRST_FREE = 2;
    private static final int INITIAL_CAPACITY = 64;
    private static final int STRIDE = 8;
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int PARENT = 2;
    private static final int PREV = 3;
    private static final int NEXT = 4;
    private static final int PRIORITY = 5;
    private static final int LIVE = 6;

    private long[] bounds = new long[2 * INITIAL_CAPACITY];
    private int[] links = new int[STRIDE * INITIAL_CAPACITY];
    private int root = ANCHOR;
    private int first = ANCHOR;
    private int freeHead = NIL;
    private int used = FIRST_FREE;

    /** Makes the permanent range alone. */
    public RangeNodes() {
        setLo(ANCHOR, -1L);
        setHi(ANCHOR, -1L);
        set(ANCHOR, LIVE, 1);
    }

    /**
     * Gives where a range begins.
     *
     * @param node the range; of a removed one the answer holds until its slot is used again
     * @return its first pfn
     */
    public long lo(int node) {
        return bounds[2 * node];
    }

    /**
     * Gives where a range ends.
     *
     * @param node the range; of a removed one the answer holds until its slot is used again
     * @return its last pfn, inclusive
     */
    public long hi(int node) {
        return bounds[2 * node + 1];
    }

    /**
     * Moves the beginning of a range.
     *
     * @param node the range
     * @param lo its new first pfn, between its neighbour below and its end
     */
    public void setLo(int node, long lo) {
        bounds[2 * node] = lo;
    }

    /**
     * Moves the end of a range.
     *
     * @param node the range
     * @param hi its new last pfn, between its beginning and its neighbour above
     */
    public void setHi(int node, long hi) {
        bounds[2 * node + 1] = hi;
    }

    /**
     * Gives the neighbour below.
     *
     * @param node a range
     * @return the next lower one, or {@link #NIL}
     */
    public int prev(int node) {
        return links[STRIDE * node + PREV];
    }

    /**
     * Gives the neighbour above.
     *
     * @param node a range other than the anchor
     * @return the next higher one, at worst the anchor
     */
    public int next(int node) {
        return links[STRIDE * node + NEXT];
    }

    /**
     * Gives the lowest range.
     *
     * @return it, at worst the anchor
     */
    public int first() {
        return first;
    }

    /**
     * Counts the slots that were ever used; those of removed ranges keep their bounds.
     *
     * @return one more than the highest index there was
     */
    public int slots() {
        return used;
    }

    /**
     * Says whether a slot holds a range.
     *
     * @param node its index
     * @return false when the range was removed
     */
    public boolean isLive(int node) {
        return get(node, LIVE) != 0;
    }

    /**
     * Finds the lowest range that ends at a pfn or above it.
     *
     * @param pfn where
     * @return the range, at worst the anchor
     */
    public int lowestReaching(long pfn) {
        int node = root;
        int best = ANCHOR;
        while (node != NIL) {
            if (Addresses.lessThan(hi(node), pfn)) {
                node = get(node, RIGHT);
            } else {
                best = node;
                node = get(node, LEFT);
            }
        }
        return best;
    }

    /**
     * Finds the range that contains a pfn.
     *
     * @param pfn where
     * @return the range, or {@link #NIL}
     */
    public int find(long pfn) {
        int node = root;
        while (node != NIL) {
            if (Addresses.lessThan(pfn, lo(node))) {
                node = get(node, LEFT);
            } else if (Addresses.lessThan(hi(node), pfn)) {
                node = get(node, RIGHT);
            } else {
                return node;
            }
        }
        return NIL;
    }

    /**
     * Inserts a range just below another one, where it must fit.
     *
     * @param above the neighbour above
     * @param lo first pfn
     * @param hi last pfn, inclusive
     * @return the new range
     */
    public int insertBelow(int above, long lo, long hi) {
        int node = takeSlot();
        setLo(node, lo);
        setHi(node, hi);
        set(node, PRIORITY, scatter(lo));
        int below = prev(above);
        linkBetween(below, node, above);
        if (get(above, LEFT) == NIL) {
            attach(above, LEFT, node);
        } else {
            attach(below, RIGHT, node);
        }
        siftUp(node);
        return node;
    }

    private void linkBetween(int below, int node, int above) {
        set(node, PREV, below);
        set(node, NEXT, above);
        set(above, PREV, node);
        if (below == NIL) {
            first = node;
        } else {
            set(below, NEXT, node);
        }
    }

    private void attach(int parent, int side, int node) {
        set(parent, side, node);
        set(node, PARENT, parent);
    }

    private void siftUp(int node) {
        int priority = get(node, PRIORITY);
        int parent = get(node, PARENT);
        while (parent != NIL && get(parent, PRIORITY) < priority) {
            rotateUp(node, parent);
            parent = get(node, PARENT);
        }
    }

    /**
     * Removes a range.
     *
     * @param node the range; not the anchor
     */
    public void remove(int node) {
        int below = prev(node);
        int above = next(node);
        set(above, PREV, below);
        if (below == NIL) {
            first = above;
        } else {
            set(below, NEXT, above);
        }
        siftDown(node);
        int child = get(node, LEFT) == NIL ? get(node, RIGHT) : get(node, LEFT);
        replaceChild(get(node, PARENT), node, child);
        giveSlot(node);
    }

    private void siftDown(int node) {
        int left = get(node, LEFT);
        int right = get(node, RIGHT);
        while (left != NIL && right != NIL) {
            rotateUp(get(left, PRIORITY) > get(right, PRIORITY) ? left : right, node);
            left = get(node, LEFT);
            right = get(node, RIGHT);
        }
    }

    private void rotateUp(int node, int parent) {
        replaceChild(get(parent, PARENT), parent, node);
        int side = get(parent, LEFT) == node ? LEFT : RIGHT;
        int inner = get(node, LEFT + RIGHT - side);
        set(parent, side, inner);
        if (inner != NIL) {
            set(inner, PARENT, parent);
        }
        attach(node, LEFT + RIGHT - side, parent);
    }

    private void replaceChild(int parent, int old, int replacement) {
        if (parent == NIL) {
            root = replacement;
        } else {
            set(parent, get(parent, LEFT) == old ? LEFT : RIGHT, replacement);
        }
        if (replacement != NIL) {
            set(replacement, PARENT, parent);
        }
    }

    private int takeSlot() {
        int node = freeHead;
        if (node == NIL) {
            node = freshSlot();
        } else {
            freeHead = get(node, NEXT);
        }
        set(node, LEFT, NIL);
        set(node, RIGHT, NIL);
        set(node, LIVE, 1);
        return node;
    }

    private int freshSlot() {
        if (2 * used == bounds.length) {
            bounds = Arrays.copyOf(bounds, 2 * bounds.length);
            links = Arrays.copyOf(links, 2 * links.length);
        }
        return used++;
    }

    private void giveSlot(int node) {
        set(node, LIVE, 0);
        set(node, NEXT, freeHead);
        freeHead = node;
    }

    /** Scatters pfns over the ints. */
    private static int scatter(long lo) {
        int x = (int) (lo ^ lo >>> 32);
        x = (x ^ x >>> 16) * 0x7feb_352d;
        x = (x ^ x >>> 15) * 0x846c_a68b;
        return x ^ x >>> 16;
    }

    /**
     * Says whether the search tree and the thread agree on which ranges there are.
     *
     * @return false when the structure is broken
     */
    public boolean isConsistent() {
        for (int node = first; node != ANCHOR; node = next(node)) {
            if (find(lo(node)) != node || prev(next(node)) != node || !isLive(node)) {
                return false;
            }
        }
        return true;
    }

    private int get(int node, int field) {
        return links[STRIDE * node + field];
    }

    private void set(int node, int field, int value) {
        links[STRIDE * node + field] = value;
    }
}
