package io.pagewalk.dma;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Failure injection of one machine: every place where the kernel could run out of something is a named point, and "fail
 * the n-th passing" works over all of them or over one.
 *
 * <p>Thread-safe.
 */
public final class FailureInjection {
    private final Map<String, FailurePoint> points = new TreeMap<>();
    private volatile boolean armed;
    private long passed;
    private long failAt;
    private @Nullable FailurePoint only;
    private @Nullable String failedAt;
    private @Nullable Thread causeOf;

    FailureInjection() {}

    /**
     * Finds or makes a point.
     *
     * @param name its name, such as {@code iommu.iova}
     * @return the point, the same for the same name
     */
    public synchronized FailurePoint point(String name) {
        return points.computeIfAbsent(name, n -> new FailurePoint(this, n));
    }

    /**
     * The names of all points made so far, sorted.
     *
     * @return a copy
     */
    public synchronized List<String> pointNames() {
        return new ArrayList<>(points.keySet());
    }

    /**
     * Fails the n-th passing of any point from now on, once.
     *
     * @param n from 1; {@link Long#MAX_VALUE} counts without failing
     */
    public synchronized void failNth(long n) {
        arm(n, null);
    }

    /**
     * Fails the n-th passing of one point from now on, once.
     *
     * @param name the point
     * @param n from 1
     */
    public synchronized void failNth(String name, long n) {
        arm(n, point(name));
    }

    private void arm(long n, @Nullable FailurePoint point) {
        if (n < 1) {
            throw new IllegalArgumentException("the first passing is number 1, not " + n);
        }
        passed = 0;
        failAt = n;
        only = point;
        failedAt = null;
        causeOf = null;
        armed = true;
    }

    /** Stops counting and failing. */
    public synchronized void disarm() {
        armed = false;
        causeOf = null;
    }

    /**
     * How many passings were counted since the last {@code failNth}.
     *
     * @return the count
     */
    public synchronized long passed() {
        return passed;
    }

    /**
     * Where the injected failure happened.
     *
     * @return the point's name, or null when it has not
     */
    public synchronized @Nullable String failedAt() {
        return failedAt;
    }

    boolean isArmed() {
        return armed;
    }

    synchronized boolean pass(FailurePoint point) {
        if (!armed || (only != null && only != point)) {
            return false;
        }
        passed++;
        if (passed != failAt) {
            return false;
        }
        failedAt = point.name();
        return true;
    }

    /** Lets the next failure that this thread notes be an injected one. */
    synchronized void isCauseOfThisCall() {
        causeOf = Thread.currentThread();
    }

    /** Whether the failure that this thread is about to note was injected; true once. */
    boolean takeCause() {
        return armed && takeCauseOfThread();
    }

    private synchronized boolean takeCauseOfThread() {
        if (causeOf != Thread.currentThread()) {
            return false;
        }
        causeOf = null;
        return true;
    }
}
