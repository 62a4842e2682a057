package io.pagewalk.backends.iommu.unit;

/**
 * How often the IOTLB had an answer, and how often not. Counting costs one plain add in a stripe of the thread's own;
 * when two threads of one stripe use one port at once, a few may get lost.
 */
final class HitCounters {
    private static final int STRIPES = 16;
    private static final int STRIDE = 16;
    private static final int MISS = 1;

    private final long[] words = new long[STRIPES * STRIDE];

    void hit() {
        words[stripe()]++;
    }

    void miss() {
        words[stripe() + MISS]++;
    }

    private static int stripe() {
        return ((int) Thread.currentThread().getId() & (STRIPES - 1)) * STRIDE;
    }

    long hits() {
        return sum(0);
    }

    long lookups() {
        return sum(0) + sum(MISS);
    }

    private long sum(int word) {
        long sum = 0;
        for (int stripe = 0; stripe < STRIPES; stripe++) {
            sum += words[stripe * STRIDE + word];
        }
        return sum;
    }
}
