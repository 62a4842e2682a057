package io.pagewalk.trace.replay;

import java.util.Arrays;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Times calls, or does not. */
final class CallTimer {
    private static final long LONGEST_NANOS = 60_000_000_000L;
    private static final int DIGITS = 3;
    private static final int COST_SAMPLES = 20_001;

    private final @Nullable Histogram histogram;

    CallTimer(boolean on) {
        histogram = on ? new Histogram(LONGEST_NANOS, DIGITS) : null;
    }

    long start() {
        return histogram == null ? 0 : System.nanoTime();
    }

    void stop(long startNanos) {
        if (histogram != null) {
            histogram.recordValue(Math.max(0, Math.min(System.nanoTime() - startNanos, LONGEST_NANOS)));
        }
    }

    @Nullable Latency latency() {
        return histogram == null ? null : Latency.of(histogram);
    }

    /** What two readings of the timer cost by themselves: the median of many. */
    static long costNanos() {
        long[] costs = new long[COST_SAMPLES];
        for (int i = 0; i < costs.length; i++) {
            long start = System.nanoTime();
            costs[i] = System.nanoTime() - start;
        }
        Arrays.sort(costs);
        return costs[costs.length / 2];
    }
}
