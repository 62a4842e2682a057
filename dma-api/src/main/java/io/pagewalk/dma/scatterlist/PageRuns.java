package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.DevicePages;

/** Pages to be put into entries, and where they follow each other. Implements dma-core:SGA-4 and SGA-6. */
final class PageRuns {
    private static final int PFN_BITS = Long.SIZE - Addresses.PAGE_SHIFT;

    private final long[] pfns;
    private final int count;
    private final long limitBytes;
    private final DevicePages devicePages;

    PageRuns(long[] pfns, int count, long maxSegmentBytes, DevicePages devicePages) {
        requirePages(pfns, count);
        SgTable.requireU32("the segment limit", maxSegmentBytes);
        this.pfns = pfns;
        this.count = count;
        this.limitBytes = Addresses.alignDown(maxSegmentBytes, Addresses.PAGE_SIZE);
        this.devicePages = devicePages;
    }

    private static void requirePages(long[] pfns, int count) {
        if (count < 1 || count > pfns.length) {
            throw new IllegalArgumentException(
                    count + " pages of an array of " + pfns.length + "; at least one is needed (dma-core:SGA-13)");
        }
        for (int i = 0; i < count; i++) {
            if (pfns[i] >>> PFN_BITS != 0) {
                throw new IllegalArgumentException("page frame " + Addresses.hex(pfns[i]) + " has no 64-bit address");
            }
        }
    }

    int count() {
        return count;
    }

    /** The most an entry may hold, whole pages (SGA-1). */
    long limitBytes() {
        return limitBytes;
    }

    long physAddr(int page) {
        return pfns[page] << Addresses.PAGE_SHIFT;
    }

    /** Whether a page continues what ends with another frame (SGA-4). */
    boolean follows(int page, long lastPfn) {
        return pfns[page] == lastPfn + 1 && devicePages.mapOf(pfns[page]) == devicePages.mapOf(lastPfn);
    }

    /** The page after the run that begins with this one; only pages count towards the limit (SGA-6). */
    int runEnd(int start) {
        int end = start + 1;
        long runBytes = Addresses.PAGE_SIZE;
        while (end < count && runBytes < limitBytes && follows(end, pfns[end - 1])) {
            end++;
            runBytes += Addresses.PAGE_SIZE;
        }
        return end;
    }

    int countRuns(int start) {
        int runs = 0;
        for (int page = start; page < count; page = runEnd(page)) {
            runs++;
        }
        return runs;
    }
}
