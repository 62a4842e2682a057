package io.pagewalk.trace.replay;

import org.HdrHistogram.Histogram;

/**
 * How long a call took, in nanoseconds of the replaying host, the cost of reading the timer included.
 *
 * @param count calls measured
 * @param medianNanos the median
 * @param p90Nanos 90 % took no longer
 * @param p99Nanos 99 % took no longer
 * @param maxNanos the longest
 * @param meanNanos the mean
 */
public record Latency(long count, long medianNanos, long p90Nanos, long p99Nanos, long maxNanos, double meanNanos) {
    static Latency of(Histogram histogram) {
        return new Latency(
                histogram.getTotalCount(),
                histogram.getValueAtPercentile(50),
                histogram.getValueAtPercentile(90),
                histogram.getValueAtPercentile(99),
                histogram.getMaxValue(),
                histogram.getMean());
    }
}
