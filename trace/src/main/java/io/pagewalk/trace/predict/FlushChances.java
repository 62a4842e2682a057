package io.pagewalk.trace.predict;

import java.util.HashMap;
import java.util.Map;

/** Whether the flushes that the reuses of addresses bear witness of can all have happened. */
final class FlushChances {
    /*
     * An address that is reused was flushed after its unmap and before it was taken again. One flush serves all reuses whose
     * spans it lies in, so the fewest flushes are found by putting each as late as the first reuse that needs it allows. A timer's
     * flush comes no sooner after the one before than the timer takes, for it is armed again by an unmap behind it; the queue of a
     * CPU that is full is flushed at once. So each flush has an earliest time, and one that has it behind its latest is impossible.
     */

    /** The timer is set to 10 ms, rounded to ticks, and measured down to one tick of 250 a second. */
    private static final long LEAST_TIMER_NANOS = 4_000_000L;

    private static final int FULL_QUEUE = 255;
    private static final long NEVER = Long.MIN_VALUE;

    private final Map<Integer, Integer> unmapsSinceFlush = new HashMap<>();
    private long firstUnmapNanos = NEVER;
    private long earliestNanos = NEVER;
    private long latestNanos = NEVER;
    private long afterNanos;

    void unmap(int cpu, long nanos) {
        firstUnmapNanos = firstUnmapNanos == NEVER ? nanos : firstUnmapNanos;
        unmapsSinceFlush.merge(cpu, 1, Integer::sum);
    }

    /** Notes a reuse; false when no flush can have come in between. */
    boolean reuse(long unmappedNanos, long takenNanos) {
        if (latestNanos != NEVER && unmappedNanos <= latestNanos) {
            afterNanos = Math.max(afterNanos, unmappedNanos);
            return Math.max(earliestNanos, afterNanos) <= latestNanos;
        }
        long before = latestNanos == NEVER ? firstUnmapNanos : Math.max(earliestNanos, afterNanos);
        boolean full = unmapsSinceFlush.values().stream().anyMatch(count -> count >= FULL_QUEUE);
        earliestNanos = full ? unmappedNanos : before + LEAST_TIMER_NANOS;
        afterNanos = unmappedNanos;
        latestNanos = takenNanos;
        unmapsSinceFlush.clear();
        boolean possible = earliestNanos <= latestNanos;
        earliestNanos = Math.min(earliestNanos, latestNanos);
        return possible;
    }
}
