package io.pagewalk.rdma.verbs;

import io.pagewalk.rdma.AccessFlags;

/**
 * What can be changed of a queue pair: {@code struct ib_qp_attr}. Immutable; {@link #usual} is where to begin.
 *
 * @param access what the peer may do, of {@link AccessFlags}
 * @param pathMtu most bytes in one packet
 * @param maxDestRdAtomic how many reads and atomics of the peer are answered at once; 0 answers none
 * @param retryCount how often a request without an answer is sent again
 * @param rnrRetry how often a request that finds no receive is sent again; 7 for ever
 * @param rnrTimerNanos how long the peer shall wait when no receive is posted here; 10 us at least are waited
 * @param timeoutNanos how long to wait for an answer; 4.096 us at least are waited
 */
public record QpAttributes(
        int access,
        int pathMtu,
        int maxDestRdAtomic,
        int retryCount,
        int rnrRetry,
        long rnrTimerNanos,
        long timeoutNanos) {
    /** A number of retries that never ends. */
    public static final int RNR_FOR_EVER = 7;

    private static final int ALL_REMOTE =
            AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;
    private static final int MTU_1024 = 1024;
    private static final long MILLISECOND = 1_000_000;

    /** Refuses what no queue pair has. */
    public QpAttributes {
        if (Integer.bitCount(pathMtu) != 1 || pathMtu < 256 || pathMtu > 4096) {
            throw new IllegalArgumentException("a path MTU is 256, 512, 1024, 2048 or 4096, not " + pathMtu);
        }
        if (maxDestRdAtomic < 0 || retryCount < 0 || rnrRetry < 0 || rnrTimerNanos < 0 || timeoutNanos < 0) {
            throw new IllegalArgumentException("negative attribute of a queue pair: " + maxDestRdAtomic + ", "
                    + retryCount + ", " + rnrRetry + ", " + rnrTimerNanos + ", " + timeoutNanos);
        }
    }

    /**
     * A path MTU of 1024 and all rights; one read at once; three retries for an answer and none for a receive.
     *
     * @return the attributes
     */
    public static QpAttributes usual() {
        return new QpAttributes(ALL_REMOTE, MTU_1024, 1, 3, 0, MILLISECOND, MILLISECOND);
    }

    /**
     * With other rights.
     *
     * @param newAccess what the peer may do
     * @return the attributes
     */
    public QpAttributes withAccess(int newAccess) {
        return new QpAttributes(newAccess, pathMtu, maxDestRdAtomic, retryCount, rnrRetry, rnrTimerNanos, timeoutNanos);
    }

    /**
     * With another packet size.
     *
     * @param bytes 256 to 4096
     * @return the attributes
     */
    public QpAttributes withPathMtu(int bytes) {
        return new QpAttributes(access, bytes, maxDestRdAtomic, retryCount, rnrRetry, rnrTimerNanos, timeoutNanos);
    }

    /**
     * With another number of answered reads.
     *
     * @param newMaxDestRdAtomic how many at once
     * @return the attributes
     */
    public QpAttributes withMaxDestRdAtomic(int newMaxDestRdAtomic) {
        return new QpAttributes(access, pathMtu, newMaxDestRdAtomic, retryCount, rnrRetry, rnrTimerNanos, timeoutNanos);
    }

    /**
     * With other numbers of retries.
     *
     * @param newRetryCount for an answer
     * @param newRnrRetry for a receive
     * @return the attributes
     */
    public QpAttributes withRetries(int newRetryCount, int newRnrRetry) {
        return new QpAttributes(
                access, pathMtu, maxDestRdAtomic, newRetryCount, newRnrRetry, rnrTimerNanos, timeoutNanos);
    }
}
