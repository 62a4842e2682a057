package io.pagewalk.dma;

import java.util.Comparator;

/** A one-shot timer of the machine's clock that remembers the CPU it was armed on. Thread-safe through its clock. */
public final class KernelTimer {
    /** What a timer runs. */
    @FunctionalInterface
    public interface Callback {
        /**
         * Runs at expiry.
         *
         * @param cpu the CPU that armed the timer
         */
        void expired(int cpu);
    }

    static final Comparator<KernelTimer> BY_DEADLINE =
            Comparator.comparingLong((KernelTimer t) -> t.deadlineNanos).thenComparingLong(t -> t.sequence);

    private final VirtualClock clock;
    private final Callback callback;
    private volatile boolean armed;
    private volatile boolean heldBack;
    private volatile long deadlineNanos;
    private volatile long sequence;
    private volatile int cpu;

    KernelTimer(VirtualClock clock, Callback callback) {
        this.clock = clock;
        this.callback = callback;
    }

    /**
     * Arms the timer; does nothing when it is armed already.
     *
     * @param delayNanos from now; a moment past the end of time is the end of time
     * @param onCpu the CPU that arms it
     * @return false when it was armed already
     */
    public boolean arm(long delayNanos, int onCpu) {
        return clock.arm(this, VirtualClock.after(clock.nowNanos(), delayNanos), onCpu);
    }

    /**
     * Stops the timer.
     *
     * @return false when it was not armed
     */
    public boolean cancel() {
        return clock.cancel(this);
    }

    /**
     * Whether the timer is armed.
     *
     * @return true between arm and expiry
     */
    public boolean isArmed() {
        return armed;
    }

    /**
     * Takes the timer out of time's hands for good: from now on it expires only by {@link #expireNow}, for whoever
     * knows the moments from elsewhere, such as from a recording. It is armed and cancelled as before.
     */
    public void holdBack() {
        clock.holdBack(this);
    }

    /**
     * Lets the timer expire at once, if it is armed.
     *
     * @param onCpu the CPU to run on
     * @return false when it was not armed, and nothing was run
     */
    public boolean expireNow(int onCpu) {
        if (!clock.cancel(this)) {
            return false;
        }
        callback.expired(onCpu);
        return true;
    }

    boolean isHeldBack() {
        return heldBack;
    }

    void heldBack() {
        heldBack = true;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    void armed(long deadline, long order, int onCpu) {
        deadlineNanos = deadline;
        sequence = order;
        cpu = onCpu;
        armed = true;
    }

    void disarmed() {
        armed = false;
    }

    void fire() {
        callback.expired(cpu);
    }
}
