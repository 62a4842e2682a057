package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import java.util.Arrays;

/**
 * The slots of a pool, as a structure of arrays.
 *
 * <p>Implements dma-core:SWC-20, SWC-21, SWS-9, SWS-10, SWS-12, SWR-2 to SWR-4, SWR-7. Counts of free slots change
 * under the lock of the area that the slots belong to; original addresses are their owner's, between claim and release.
 */
final class SlotTable {
    /*
     * freeRun[i] is the length of the run of free slots that starts at slot i, cut at the end of the set of 128 slots; 0 is a
     * slot in use. So "freeRun[i] >= n" answers in one load whether n slots are free, and no mapping ever crosses the end of
     * a set. The price is paid by those who change something: whoever claims or releases walks down from its first slot and
     * renumbers the free slots right below, up to 127 of them.
     */
    private final int[] freeRun;
    private final long[] origAddr;
    private final long[] allocSize;
    private final short[] padSlots;
    private final long[] bouncedBytes;

    SlotTable(int slots) {
        freeRun = new int[slots];
        origAddr = new long[slots];
        allocSize = new long[slots];
        padSlots = new short[slots];
        bouncedBytes = new long[slots];
        Arrays.fill(origAddr, INVALID_PHYS_ADDR);
        for (int slot = 0; slot < slots; slot++) {
            freeRun[slot] = Math.min(SET_SLOTS - slot % SET_SLOTS, slots - slot);
        }
    }

    int slots() {
        return freeRun.length;
    }

    int freeRun(int slot) {
        return freeRun[slot];
    }

    long origAddr(int slot) {
        return origAddr[slot];
    }

    long allocSize(int slot) {
        return allocSize[slot];
    }

    int padSlots(int slot) {
        return padSlots[slot] & 0xffff;
    }

    /** Counts a copy that began in a slot. Only the mapping's owner copies there, so it needs no atomic addition. */
    void countBounced(int slot, long sizeBytes) {
        bouncedBytes[slot] += sizeBytes;
    }

    /** How many bytes were ever copied. */
    long bouncedBytes() {
        return Arrays.stream(bouncedBytes).sum();
    }

    /** Takes free slots; sizes count down from the first slot's and may wrap in the last (SWS-9). */
    void claim(int first, int count, long firstAllocSize) {
        long size = firstAllocSize;
        for (int slot = first; slot < first + count; slot++) {
            freeRun[slot] = 0;
            allocSize[slot] = size;
            size -= SLOT_BYTES;
        }
        renumberBelow(first, 0);
    }

    /** Notes which bytes slots bounce: those of one mapping, behind its padding slots (SWM-8). */
    void describe(int first, int count, long physAddr, int padding) {
        padSlots[first] = (short) padding;
        long orig = physAddr;
        for (int slot = first; slot < first + count; slot++) {
            origAddr[slot] = orig;
            orig += SLOT_BYTES;
        }
    }

    /** Frees slots; a count of 0 only renumbers (SWR-2 to SWR-4, SWR-6). */
    void release(int first, int count) {
        int end = first + count;
        int run = isInSetOf(first, end) ? freeRun[end] : 0;
        for (int slot = end - 1; slot >= first; slot--) {
            run++;
            freeRun[slot] = run;
            origAddr[slot] = INVALID_PHYS_ADDR;
            allocSize[slot] = 0;
            padSlots[slot] = 0;
        }
        renumberBelow(first, run);
    }

    /** The slot behind the last one of a cut pool counts as in use (SWR-7). */
    private boolean isInSetOf(int slot, int other) {
        return other < Math.min((slot | (SET_SLOTS - 1)) + 1, freeRun.length);
    }

    private void renumberBelow(int first, int runAtFirst) {
        int run = runAtFirst;
        for (int slot = first - 1; slot >= 0 && slot % SET_SLOTS != SET_SLOTS - 1 && freeRun[slot] != 0; slot--) {
            run++;
            freeRun[slot] = run;
        }
    }

    /** The longest run of free slots, as a search would see it. */
    int largestFreeRun() {
        int largest = 0;
        for (int run : freeRun) {
            largest = Math.max(largest, run);
        }
        return largest;
    }
}
