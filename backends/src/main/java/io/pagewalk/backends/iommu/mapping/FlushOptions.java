package io.pagewalk.backends.iommu.mapping;

/**
 * How unmaps of a domain are queued (iommu:FQ-1).
 *
 * @param shared whether all CPUs share one ring
 * @param entries of a ring, a power of two, of which one stays free
 * @param timeoutNanos how long the first entry waits at most
 */
record FlushOptions(boolean shared, int entries, long timeoutNanos) {
    /** A ring for each CPU. */
    static final FlushOptions PER_CPU = new FlushOptions(false, 256, 10_000_000L);

    /** One large ring, for units that shadow their tables. */
    static final FlushOptions SHARED = new FlushOptions(true, 32768, 1_000_000_000L);
}
