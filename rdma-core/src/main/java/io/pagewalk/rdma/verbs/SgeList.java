package io.pagewalk.rdma.verbs;

import java.util.Arrays;
import java.util.Objects;

/**
 * The segments of a work request, each an address, a length and a local key. Reused; grows when a segment more is added
 * than it ever had. Not thread-safe.
 */
public final class SgeList {
    private static final int FIRST = 4;

    /** More than any device takes: lists with more segments grow to them. */
    private static final int MOST_AHEAD = 256;

    private static final long U32 = 0xffff_ffffL;

    private long[] addrs = new long[FIRST];
    private long[] lengths = new long[FIRST];
    private int[] lkeys = new int[FIRST];
    private int count;

    /** Makes an empty list. */
    public SgeList() {}

    /**
     * Makes a list with room.
     *
     * @param segments how many segments it takes without growing, up to 256
     * @throws IllegalArgumentException when the number is negative
     */
    public SgeList(int segments) {
        if (segments < 0) {
            throw new IllegalArgumentException(segments + " segments");
        }
        grow(Math.min(segments, MOST_AHEAD));
    }

    /** Empties it. */
    public void clear() {
        count = 0;
    }

    /**
     * Adds a segment.
     *
     * @param addr address, by the region's {@code iova}
     * @param lengthBytes length, 32 bits
     * @param lkey the key
     * @throws IllegalArgumentException when the length needs more than 32 bits; nothing changes then
     */
    public void add(long addr, long lengthBytes, int lkey) {
        if ((lengthBytes & ~U32) != 0) {
            throw new IllegalArgumentException("a segment of " + lengthBytes + " bytes needs more than 32 bits");
        }
        if (count == addrs.length) {
            grow(2 * count);
        }
        addrs[count] = addr;
        lengths[count] = lengthBytes;
        lkeys[count] = lkey;
        count++;
    }

    /**
     * Takes over the segments of another list.
     *
     * @param other the other one
     */
    public void copyFrom(SgeList other) {
        if (other.count > addrs.length) {
            grow(other.count);
        }
        System.arraycopy(other.addrs, 0, addrs, 0, other.count);
        System.arraycopy(other.lengths, 0, lengths, 0, other.count);
        System.arraycopy(other.lkeys, 0, lkeys, 0, other.count);
        count = other.count;
    }

    private void grow(int segments) {
        int room = Math.max(segments, FIRST);
        addrs = Arrays.copyOf(addrs, room);
        lengths = Arrays.copyOf(lengths, room);
        lkeys = Arrays.copyOf(lkeys, room);
    }

    /**
     * How many segments there are.
     *
     * @return segments
     */
    public int count() {
        return count;
    }

    /**
     * A segment's address.
     *
     * @param i from 0
     * @return the address
     * @throws IndexOutOfBoundsException when there is no such segment
     */
    public long addr(int i) {
        return addrs[Objects.checkIndex(i, count)];
    }

    /**
     * A segment's length.
     *
     * @param i from 0
     * @return bytes, below 2^32
     * @throws IndexOutOfBoundsException when there is no such segment
     */
    public long lengthBytes(int i) {
        return lengths[Objects.checkIndex(i, count)];
    }

    /**
     * A segment's key.
     *
     * @param i from 0
     * @return the key
     * @throws IndexOutOfBoundsException when there is no such segment
     */
    public int lkey(int i) {
        return lkeys[Objects.checkIndex(i, count)];
    }

    /**
     * Gives a segment another key.
     *
     * @param i from 0
     * @param newLkey the key
     * @throws IndexOutOfBoundsException when there is no such segment
     */
    public void setLkey(int i, int newLkey) {
        lkeys[Objects.checkIndex(i, count)] = newLkey;
    }

    /**
     * All lengths together.
     *
     * @return bytes
     */
    public long totalBytes() {
        long total = 0;
        for (int i = 0; i < count; i++) {
            total += lengths[i];
        }
        return total;
    }
}
