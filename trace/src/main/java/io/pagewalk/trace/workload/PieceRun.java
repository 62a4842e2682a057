package io.pagewalk.trace.workload;

import java.util.Arrays;

/** The {@code map} lines of one IOMMU mapping, in the order of their addresses: which page lies where in it. Reused. */
public final class PieceRun {
    private long[] iovas = new long[16];
    private long[] physAddrs = new long[16];
    private long[] sizes = new long[16];
    private int count;

    /** Makes an empty run. */
    public PieceRun() {}

    /** Forgets all lines. */
    public void clear() {
        count = 0;
    }

    int count() {
        return count;
    }

    long iova(int index) {
        return iovas[index];
    }

    long physAddr(int index) {
        return physAddrs[index];
    }

    long sizeBytes(int index) {
        return sizes[index];
    }

    /**
     * Adds a line.
     *
     * @param iova first I/O virtual address
     * @param physAddr first physical address
     * @param sizeBytes bytes mapped
     */
    public void add(long iova, long physAddr, long sizeBytes) {
        if (count == iovas.length) {
            iovas = Arrays.copyOf(iovas, 2 * count);
            physAddrs = Arrays.copyOf(physAddrs, 2 * count);
            sizes = Arrays.copyOf(sizes, 2 * count);
        }
        iovas[count] = iova;
        physAddrs[count] = physAddr;
        sizes[count] = sizeBytes;
        count++;
    }

    /**
     * Sorts by I/O virtual address. Runs are collected latest first and mapped lowest first, so this is mostly a
     * reversal.
     */
    public void sort() {
        for (int i = 0, j = count - 1; i < j; i++, j--) {
            swap(i, j);
        }
        for (int i = 1; i < count; i++) {
            for (int j = i; j > 0 && Long.compareUnsigned(iovas[j - 1], iovas[j]) > 0; j--) {
                swap(j - 1, j);
            }
        }
    }

    private void swap(int i, int j) {
        swap(iovas, i, j);
        swap(physAddrs, i, j);
        swap(sizes, i, j);
    }

    private static void swap(long[] values, int i, int j) {
        long value = values[i];
        values[i] = values[j];
        values[j] = value;
    }

    /**
     * Whether the sorted lines follow each other without gap or overlap.
     *
     * @param first where they should begin
     * @param last where they should end
     * @return true when they cover every byte in between, and no other
     */
    public boolean covers(long first, long last) {
        long next = first;
        for (int i = 0; i < count; i++) {
            if (iovas[i] != next) {
                return false;
            }
            next += sizes[i];
        }
        return count > 0 && next - 1 == last;
    }

    /** The first place at or after an address of the run where a page lies, all ones when there is none. */
    long find(long physPage, long from) {
        for (int i = 0; i < count; i++) {
            long offset = physPage - physAddrs[i];
            boolean inside = Long.compareUnsigned(offset, sizes[i]) < 0;
            if (inside && Long.compareUnsigned(iovas[i] + offset, from) >= 0) {
                return iovas[i] + offset;
            }
        }
        return -1L;
    }

    /** Whether the bytes from an address of the run on lie together physically. */
    boolean isContiguous(long iova, long sizeBytes) {
        int at = indexOf(iova);
        if (at < 0) {
            return false;
        }
        long left = sizeBytes - (iovas[at] + sizes[at] - iova);
        while (left > 0 && ++at < count) {
            if (physAddrs[at] != physAddrs[at - 1] + sizes[at - 1]) {
                return false;
            }
            left -= sizes[at];
        }
        return left <= 0;
    }

    private int indexOf(long iova) {
        for (int i = 0; i < count; i++) {
            if (Long.compareUnsigned(iova - iovas[i], sizes[i]) < 0) {
                return i;
            }
        }
        return -1;
    }
}
