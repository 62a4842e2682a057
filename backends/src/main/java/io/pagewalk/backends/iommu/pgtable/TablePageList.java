package io.pagewalk.backends.iommu.pgtable;

import java.util.Arrays;

/**
 * Table pages on their way back to the allocator: unlinked, but perhaps still known to the hardware. Reusable; not
 * thread-safe.
 */
public final class TablePageList {
    private long[] physAddrs = new long[8];
    private int size;

    /** Makes an empty list. */
    public TablePageList() {}

    /**
     * Appends a page.
     *
     * @param physAddr its address
     */
    public void add(long physAddr) {
        if (size == physAddrs.length) {
            physAddrs = Arrays.copyOf(physAddrs, size * 2);
        }
        physAddrs[size++] = physAddr;
    }

    /**
     * Appends another list's pages and empties that list.
     *
     * @param other the list to splice in
     */
    public void takeAll(TablePageList other) {
        for (int i = 0; i < other.size; i++) {
            add(other.physAddrs[i]);
        }
        other.clear();
    }

    /** Forgets all pages. */
    public void clear() {
        size = 0;
    }

    /**
     * How many pages are listed.
     *
     * @return the count
     */
    public int size() {
        return size;
    }

    /**
     * Whether the list is empty.
     *
     * @return true when no page is listed
     */
    public boolean isEmpty() {
        return size == 0;
    }

    /**
     * One page.
     *
     * @param index from 0, in the order of adding
     * @return its address
     */
    public long get(int index) {
        return physAddrs[index];
    }
}
