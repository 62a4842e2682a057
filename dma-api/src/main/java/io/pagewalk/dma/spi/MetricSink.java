package io.pagewalk.dma.spi;

/** Takes the numbers of a backend. */
@FunctionalInterface
public interface MetricSink {
    /**
     * Takes one number.
     *
     * @param metric what was counted
     * @param value how much, unsigned
     */
    void put(Metric metric, long value);
}
