package io.pagewalk.dma.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which physical addresses are RAM: disjoint ranges, in ascending order. Immutable.
 *
 * <p>Ranges that touch stay apart in {@link #ranges()}, as the firmware's entries do, but count as one stretch of RAM
 * everywhere else.
 */
public final class RamMap {

    /** First address of the hole that a PC keeps for devices below 4 GiB. */
    public static final long PC_HOLE_FIRST = 0xc000_0000L;

    /** Last address of that hole. */
    public static final long PC_HOLE_LAST = 0xffff_ffffL;

    private final List<PhysRange> ranges;

    /** Stretches: ranges with touching neighbours joined, ascending; two arrays so that look-ups chase no pointers. */
    private final long[] stretchFirst;

    private final long[] stretchLast;

    private RamMap(List<PhysRange> ranges) {
        this.ranges = List.copyOf(ranges);
        List<PhysRange> stretches = join(ranges);
        this.stretchFirst = stretches.stream().mapToLong(PhysRange::first).toArray();
        this.stretchLast = stretches.stream().mapToLong(PhysRange::last).toArray();
    }

    /**
     * Makes a map of the given ranges.
     *
     * @param ranges the ranges of RAM in any order, at least one
     * @return the map
     * @throws IllegalArgumentException if there is no range, or two of them overlap
     */
    public static RamMap of(PhysRange... ranges) {
        return of(Arrays.asList(ranges));
    }

    /**
     * Makes a map of the given ranges.
     *
     * @param ranges the ranges of RAM in any order, at least one
     * @return the map
     * @throws IllegalArgumentException if there is no range, or two of them overlap
     */
    public static RamMap of(List<PhysRange> ranges) {
        if (ranges.isEmpty()) {
            throw new IllegalArgumentException("a machine needs at least one range of RAM");
        }
        List<PhysRange> sorted = new ArrayList<>(ranges);
        sorted.sort(Comparator.comparing(PhysRange::first, Long::compareUnsigned));
        for (int i = 1; i < sorted.size(); i++) {
            requireApart(sorted.get(i - 1), sorted.get(i));
        }
        return new RamMap(sorted);
    }

    /**
     * Makes the map of a PC: RAM from 0 up to 3 GiB, and the rest of it from 4 GiB on, since the last GiB below 4 GiB
     * belongs to devices.
     *
     * @param ramBytes all bytes of RAM, not zero
     * @return the map
     * @throws IllegalArgumentException if {@code ramBytes} is zero or does not fit below 2^64
     */
    public static RamMap sizedWithHole(long ramBytes) {
        if (Addresses.lessOrEqual(ramBytes, PC_HOLE_FIRST)) {
            return of(PhysRange.ofSize(0, ramBytes));
        }
        PhysRange low = PhysRange.ofSize(0, PC_HOLE_FIRST);
        return of(low, PhysRange.ofSize(PC_HOLE_LAST + 1, ramBytes - PC_HOLE_FIRST));
    }

    private static void requireApart(PhysRange lower, PhysRange upper) {
        if (Addresses.lessOrEqual(upper.first(), lower.last())) {
            throw new IllegalArgumentException("RAM ranges " + lower + " and " + upper + " overlap");
        }
    }

    private static List<PhysRange> join(List<PhysRange> sorted) {
        List<PhysRange> stretches = new ArrayList<>();
        PhysRange current = sorted.get(0);
        for (PhysRange next : sorted.subList(1, sorted.size())) {
            if (current.last() + 1 == next.first()) {
                current = new PhysRange(current.first(), next.last());
            } else {
                stretches.add(current);
                current = next;
            }
        }
        stretches.add(current);
        return stretches;
    }

    /**
     * Gives the ranges.
     *
     * @return the ranges as they were given, ascending
     */
    public List<PhysRange> ranges() {
        return ranges;
    }

    /**
     * Says whether a whole range is RAM. Allocates nothing.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes
     * @return true if every byte of it is RAM, which is always so for a range of no bytes
     */
    public boolean contains(long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return true;
        }
        int stretch = stretchAtOrBelow(physAddr);
        return stretch >= 0
                && Addresses.lessOrEqual(physAddr, stretchLast[stretch])
                && Addresses.lessOrEqual(sizeBytes - 1, stretchLast[stretch] - physAddr);
    }

    /**
     * Insists that a whole range is RAM.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes
     * @throws IllegalArgumentException if some byte of it is not RAM
     */
    public void require(long physAddr, long sizeBytes) {
        if (!contains(physAddr, sizeBytes)) {
            throw new IllegalArgumentException(
                    "physical address " + Addresses.hexRange(physAddr, sizeBytes) + " is not RAM");
        }
    }

    /**
     * Says whether a range holds at least one byte of RAM. Allocates nothing.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes; the range must not pass 2^64
     * @return true if some byte of it is RAM
     */
    public boolean touches(long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return false;
        }
        int stretch = stretchAtOrBelow(Addresses.last(physAddr, sizeBytes));
        return stretch >= 0 && Addresses.lessOrEqual(physAddr, stretchLast[stretch]);
    }

    /**
     * Gives how far RAM goes on from an address. Allocates nothing.
     *
     * @param physAddr where to start
     * @return how many consecutive bytes of RAM start there, 0 if the address is not RAM (or if all 2^64 addresses are)
     */
    public long bytesFrom(long physAddr) {
        int stretch = stretchAtOrBelow(physAddr);
        if (stretch < 0 || Addresses.lessThan(stretchLast[stretch], physAddr)) {
            return 0;
        }
        return stretchLast[stretch] - physAddr + 1;
    }

    /**
     * Gives the end of RAM.
     *
     * @return the last address that is RAM
     */
    public long top() {
        return stretchLast[stretchLast.length - 1];
    }

    /**
     * Gives the kernel's {@code max_pfn}.
     *
     * @return one more than the number of the last page frame that ends inside RAM's last stretch; 0 if RAM ends before
     *     a page does
     */
    public long maxPfn() {
        long topFrame = top() >>> Addresses.PAGE_SHIFT;
        boolean whole = (top() & ~Addresses.PAGE_MASK) == Addresses.PAGE_SIZE - 1;
        return whole ? topFrame + 1 : topFrame;
    }

    /**
     * Gives the amount of RAM.
     *
     * @return bytes in all ranges together
     */
    public long sizeBytes() {
        return ranges.stream().mapToLong(PhysRange::sizeBytes).sum();
    }

    /** Gives the index of the last stretch that starts at or below an address, or -1. */
    private int stretchAtOrBelow(long physAddr) {
        int below = -1;
        int above = stretchFirst.length;
        while (above - below > 1) {
            int middle = (below + above) >>> 1;
            if (Addresses.lessOrEqual(stretchFirst[middle], physAddr)) {
                below = middle;
            } else {
                above = middle;
            }
        }
        return below;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RamMap that && ranges.equals(that.ranges);
    }

    @Override
    public int hashCode() {
        return ranges.hashCode();
    }

    @Override
    public String toString() {
        return "RAM " + ranges;
    }
}
