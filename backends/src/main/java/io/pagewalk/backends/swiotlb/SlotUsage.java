package io.pagewalk.backends.swiotlb;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How many slots of an allocator are in use, all its pools together: {@code total_used} and {@code used_hiwater}.
 *
 * <p>Implements dma-core:SWS-11, SWR-5, SWF-1 as far as they count for the allocator. Thread-safe.
 */
final class SlotUsage {
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong hiwater = new AtomicLong();
    private volatile boolean hiwaterWasReset;

    long used() {
        return used.get();
    }

    long hiwater() {
        return hiwater.get();
    }

    /** Whether the mark may lie below what is in use. */
    boolean hiwaterWasReset() {
        return hiwaterWasReset;
    }

    void resetHiwater() {
        hiwaterWasReset = true;
        hiwater.set(0);
    }

    void add(int slots) {
        raiseHiwater(used.addAndGet(slots));
    }

    private void raiseHiwater(long now) {
        long highest = hiwater.get();
        while (now > highest && !hiwater.compareAndSet(highest, now)) {
            highest = hiwater.get();
        }
    }

    void subtract(int slots) {
        used.addAndGet(-slots);
    }
}
