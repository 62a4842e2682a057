package io.pagewalk.trace.predict;

import java.util.HashMap;
import java.util.Map;

/** Whether the flushes that the reuses of addresses bear witness of can all have happened. */
final class FlushChances {
    /*
     * An address that is reused was flushed after its unmap and before it was taken again. One flush serves all reuses whose
     * spans it lies in, so the fewest flushes are found by putting each as late as the first reuse that needs it allows. There are
     * two kinds. The timer's come no sooner after each other than the timer takes, for the first unmap behind one arms it for the
     * next; so each has an earliest time, and one whose earliest time is behind its latest cannot have happened. The queue of a
     * CPU that is full is flushed at once, and leaves the timer alone; how full it is, is not known to the unmap, so unmaps count
     * from the flush before the last on.
     */

    /** The timer is set to 10 ms, rounded to ticks, and was measured down to one tick of 250 a second. */
    private static final long LEAST_TIMER_NANOS = 4_000_000L;

    private static final int FULL_QUEUE = 255;
    private static final long NEVER = Long.MIN_VALUE;

    private Map<Integer, Integer> unmapsBefore = new HashMap<>();
    private Map<Integer, Integer> unmapsSince = new HashMap<>();

    /** The earliest time of the last flush by the timer; of the first, that at which the timer was armed. */
    private long timerNanos = NEVER;

    private boolean byTimer;
    private long earliestNanos = NEVER;
    private long latestNanos = NEVER;

    /** Notes an unmap, which arms the timer. */
    void unmap(int cpu, long nanos) {
        timerNanos = timerNanos == NEVER ? nanos : timerNanos;
        unmapsSince.merge(cpu, 1, Integer::sum);
    }

    /** Notes a reuse; false when no flush can have come in between. */
    boolean reuse(long unmappedNanos, long takenNanos) {
        if (latestNanos == NEVER || unmappedNanos > latestNanos) {
            anotherFlush(takenNanos);
        }
        earliestNanos = Math.max(earliestNanos, unmappedNanos);
        boolean possible = earliestNanos <= latestNanos;
        earliestNanos = Math.min(earliestNanos, latestNanos);
        return possible;
    }

    private void anotherFlush(long takenNanos) {
        if (byTimer) {
            timerNanos = earliestNanos;
        }
        byTimer = !mayBeFull();
        earliestNanos = byTimer ? timerNanos + LEAST_TIMER_NANOS : NEVER;
        latestNanos = takenNanos;
        unmapsBefore = unmapsSince;
        unmapsSince = new HashMap<>();
    }

    private boolean mayBeFull() {
        return unmapsSince.entrySet().stream()
                .anyMatch(cpu -> cpu.getValue() + unmapsBefore.getOrDefault(cpu.getKey(), 0) >= FULL_QUEUE);
    }
}
