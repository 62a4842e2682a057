package io.pagewalk.dma;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The machine's time: it moves only when told to, and fires due timers in (deadline, sequence) order, never
 * re-entrantly.
 *
 * <p>Thread-safe; callbacks run on the thread that advances, outside the clock's lock.
 */
public final class VirtualClock {
    private static final int MAX_FIRED_AT_ONCE = 1_000_000;

    private final PriorityQueue<KernelTimer> armed = new PriorityQueue<>(KernelTimer.BY_DEADLINE);
    private final Map<String, KernelTimer> named = new HashMap<>();
    private volatile long nowNanos;
    private long targetNanos;
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
        return new KernelTimer(this, Objects.requireNonNull(callback, "callback"));
    }

    /**
     * Makes a timer that can be found by name, not armed yet.
     *
     * @param name what it is called, such as the kernel's function and whom it serves; a later timer of that name takes
     *     its place
     * @param callback what to run at expiry
     * @return the timer
     */
    public KernelTimer timer(String name, KernelTimer.Callback callback) {
        Objects.requireNonNull(name, "name");
        KernelTimer timer = timer(callback);
        synchronized (this) {
            named.put(name, timer);
        }
        return timer;
    }

    /**
     * Finds a timer that was made with a name.
     *
     * @param name what it is called
     * @return the timer, or null when there is none of that name
     */
    public synchronized @Nullable KernelTimer named(String name) {
        return named.get(Objects.requireNonNull(name, "name"));
    }

    /**
     * Moves time forward and fires what falls due on the way, each timer at its own deadline.
     *
     * @param nanos how far, not negative; a moment past the end of time is the end of time
     * @throws IllegalArgumentException when time would go back
     */
    public void advance(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("time cannot go back by " + -nanos + " ns");
        }
        advanceTo(after(nowNanos, nanos));
    }

    /** A moment of the signed time line, which ends rather than wraps. */
    static long after(long momentNanos, long delayNanos) {
        long sum = momentNanos + delayNanos;
        return delayNanos > 0 && sum < momentNanos ? Long.MAX_VALUE : sum;
    }

    /**
     * Moves time forward to a moment; an earlier one changes nothing, since traces of several CPUs step back a little.
     * Called while an advance is going on, from a timer's callback or another thread, it only sets a later moment for
     * that advance. When a callback throws, time stops at its timer's deadline, and later timers wait for the next
     * advance.
     *
     * @param momentNanos the moment, in nanoseconds since the machine started
     * @throws IllegalStateException when a million timers fell due one after the other without time moving: a callback
     *     arms its timer again without a delay
     */
    public void advanceTo(long momentNanos) {
        if (!startsAdvance(momentNanos)) {
            return;
        }
        boolean arrived = false;
        try {
            fireUpToTarget();
            arrived = true;
        } finally {
            if (!arrived) {
                stopHere();
            }
        }
    }

    private void fireUpToTarget() {
        long moment = nowNanos;
        int firedAtMoment = 0;
        for (KernelTimer due = nextDue(); due != null; due = nextDue()) {
            firedAtMoment = nowNanos == moment ? firedAtMoment + 1 : 0;
            moment = nowNanos;
            if (firedAtMoment == MAX_FIRED_AT_ONCE) {
                throw new IllegalStateException(MAX_FIRED_AT_ONCE + " timers fell due at " + moment
                        + " ns: a callback arms its timer again without a delay");
            }
            due.fire();
        }
    }

    private synchronized boolean startsAdvance(long momentNanos) {
        if (momentNanos < nowNanos) {
            return false;
        }
        targetNanos = Math.max(targetNanos, momentNanos);
        if (firing) {
            return false;
        }
        firing = true;
        return true;
    }

    /** Takes the next timer that falls due; null at the end of the advance, with time at its target. */
    private synchronized @Nullable KernelTimer nextDue() {
        KernelTimer first = armed.peek();
        if (first == null || first.deadlineNanos() > targetNanos) {
            nowNanos = targetNanos;
            firing = false;
            return null;
        }
        armed.remove();
        nowNanos = Math.max(nowNanos, first.deadlineNanos());
        first.disarmed();
        return first;
    }

    private synchronized void stopHere() {
        targetNanos = nowNanos;
        firing = false;
    }

    synchronized boolean arm(KernelTimer timer, long deadlineNanos, int cpu) {
        if (timer.isArmed()) {
            return false;
        }
        timer.armed(deadlineNanos, nextSequence++, cpu);
        if (!timer.isHeldBack()) {
            armed.add(timer);
        }
        return true;
    }

    synchronized void holdBack(KernelTimer timer) {
        timer.heldBack();
        armed.remove(timer);
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
     * How many armed timers time will fire; those held back are not among them.
     *
     * @return the count
     */
    public synchronized int armedTimers() {
        return armed.size();
    }
}
