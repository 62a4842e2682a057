package io.pagewalk.dma;

import java.util.List;

/**
 * The cause of the latest failure on one {@link Dma} handle: a preallocated record, so that noting a cause costs the
 * hot path a few stores and no object.
 *
 * <p>Not thread-safe: it belongs to whoever drives the handle.
 */
public final class FailureSlot {
    private final FailureInjection injection;
    private FailureReason reason = FailureReason.UNSPECIFIED;
    private int errno;
    private long first;
    private long second;
    private long third;
    private long fourth;

    FailureSlot(FailureInjection injection) {
        this.injection = injection;
    }

    /**
     * Notes a cause: the given one, or {@link FailureReason#INJECTED} when the machine was told to fail this call
     * ({@link FailurePoint#failsCall()}).
     *
     * @param why the reason
     * @param errorNumber the positive error number the kernel would give
     * @param a first number of the reason, 0 when it has fewer
     * @param b second number
     * @param c third number
     * @param d fourth number
     */
    public void record(FailureReason why, int errorNumber, long a, long b, long c, long d) {
        if (injection.takeCause()) {
            set(FailureReason.INJECTED, errorNumber, 0, 0, 0, 0);
        } else {
            set(why, errorNumber, a, b, c, d);
        }
    }

    private void set(FailureReason why, int errorNumber, long a, long b, long c, long d) {
        reason = why;
        errno = errorNumber;
        first = a;
        second = b;
        third = c;
        fourth = d;
    }

    /**
     * The reason of the latest failure.
     *
     * @return {@link FailureReason#UNSPECIFIED} before the first one
     */
    public FailureReason reason() {
        return reason;
    }

    /**
     * The error number of the latest failure.
     *
     * @return a positive number, 0 before the first failure
     */
    public int errno() {
        return errno;
    }

    /**
     * Changes the error number of the latest failure, for a caller whose own differs from that of the step that failed.
     *
     * @param errorNumber the positive error number the kernel would give
     */
    public void answer(int errorNumber) {
        errno = errorNumber;
    }

    void clear() {
        set(FailureReason.UNSPECIFIED, 0, 0, 0, 0, 0);
    }

    /**
     * Copies the slot.
     *
     * @return the cause as an immutable value
     */
    public DmaFailure snapshot() {
        List<Long> all = List.of(first, second, third, fourth);
        return new DmaFailure(reason, errno, all.subList(0, reason.labels().size()));
    }

    @Override
    public String toString() {
        return snapshot().toString();
    }
}
