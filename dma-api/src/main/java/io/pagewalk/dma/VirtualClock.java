package io.pagewalk.dma;

import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The machine's time: it moves only when told to, and fires due timers in (deadline, sequence) order, never
 * re-entrantly.
 *
 * <p>Thread-safe; callbacks run on the thread that advances, outside the clock's lock.
 */
public final class VirtualClock {
    private final PriorityQueue<KernelTimer> armed = new PriorityQueue<>(KernelTimer.BY_DEADLINE);
    private volatile long nowNanos;
    private long nextSequence;
    private boolean firing;

    VirtualClock() {}

    /**
     * The present time.
     *
     * @return nanoseconds since the machine started
     */
    public long nowNanos() {
        return nowNanos;
    }

    /**
     * Makes a timer, not armed yet.
     *
     * @param callback what to run at expiry
     * @return the timer
     */
    public KernelTimer timer(KernelTimer.Callback callback) {
        return new KernelTimer(this, callback);
    }

    /**
     * Moves time forward and fires what falls due on the way, each timer at its own deadline.
     *
     * @param nanos how far, not negative
     */
    public void advance(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("time cannot go back by " + -nanos + " ns");
        }
        advanceTo(nowNanos + nanos);
    }

    /**
     * Moves time forward to a moment; an earlier one changes nothing, since traces of several CPUs step back a little.
     * Called from a timer's callback it only sets a later moment for the advance that is going on.
     *
     * @param targetNanos the moment, in nanoseconds since the machine started
     */
    public void advanceTo(long targetNanos) {
        synchronized (this) {
            if (firing) {
                return;
            }
            firing = true;
        }
        try {
            for (KernelTimer due = nextDue(targetNanos); due != null; due = nextDue(targetNanos)) {
                due.fire();
            }
        } finally {
            synchronized (this) {
                nowNanos = Math.max(nowNanos, targetNanos);
                firing = false;
            }
        }
    }

    private synchronized @Nullable KernelTimer nextDue(long targetNanos) {
        KernelTimer first = armed.peek();
        if (first == null || first.deadlineNanos() > targetNanos) {
            return null;
        }
        armed.remove();
        nowNanos = Math.max(nowNanos, first.deadlineNanos());
        first.disarmed();
        return first;
    }

    synchronized boolean arm(KernelTimer timer, long deadlineNanos, int cpu) {
        if (timer.isArmed()) {
            return false;
        }
        timer.armed(deadlineNanos, nextSequence++, cpu);
        armed.add(timer);
        return true;
    }

    synchronized boolean cancel(KernelTimer timer) {
        if (!timer.isArmed()) {
            return false;
        }
        armed.remove(timer);
        timer.disarmed();
        return true;
    }

    /**
     * How many timers are armed.
     *
     * @return the count
     */
    public synchronized int armedTimers() {
        return armed.size();
    }
}
