package io.pagewalk.backends.iommu.mapping;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How many bytes of device addresses live mappings hold, and the most they ever held at once.
 *
 * <p>Thread-safe. Exact, but for calls that run at the same moment as the one that finds a new peak.
 */
final class IovaUsage {
    /* A counter for each CPU, so that CPUs do not share a line. Each has a bound, and the bounds together are never more than
     * the peak: as long as every CPU stays within its bound the sum cannot exceed the peak, and nobody has to add up. A CPU
     * that outgrows its bound adds up, raises the peak if the sum is above it, and shares out what is left below the peak.
     */
    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int STRIDE = 16;
    private static final int BOUND = 1;

    private final int cpus;
    private final long[] words;
    private long peak;

    IovaUsage(int cpus) {
        this.cpus = cpus;
        this.words = new long[(cpus + 1) * STRIDE];
    }

    private static int held(int cpu) {
        return (cpu + 1) * STRIDE - STRIDE / 2;
    }

    void take(int cpu, long sizeBytes) {
        long now = add(cpu, sizeBytes);
        if (now > (long) WORD.getOpaque(words, held(cpu) + BOUND)) {
            addUp();
        }
    }

    void give(int cpu, long sizeBytes) {
        add(cpu, -sizeBytes);
    }

    /** Returns a CPU's share, which may fall below zero when another CPU took what this one gives. */
    private long add(int cpu, long delta) {
        return (long) WORD.getAndAdd(words, held(cpu), delta) + delta;
    }

    private synchronized void addUp() {
        long sum = heldBytes();
        peak = Math.max(peak, sum);
        long share = (peak - sum) / cpus;
        for (int cpu = 0; cpu < cpus; cpu++) {
            WORD.setOpaque(words, held(cpu) + BOUND, (long) WORD.getOpaque(words, held(cpu)) + share);
        }
    }

    /** Bytes held now. */
    long heldBytes() {
        long sum = 0;
        for (int cpu = 0; cpu < cpus; cpu++) {
            sum += (long) WORD.getOpaque(words, held(cpu));
        }
        return sum;
    }

    /** The most bytes held at once. */
    synchronized long peakBytes() {
        return peak;
    }
}
