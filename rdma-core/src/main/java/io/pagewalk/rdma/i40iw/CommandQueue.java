package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureInjection;
import io.pagewalk.dma.FailurePoint;

/**
 * The requests by which a driver tells its adapter of stags: so many at once. A command takes a request, runs, and
 * gives it back.
 *
 * <p>Failure points: {@code i40iw.cqp_request} (no request is free), {@code i40iw.cqp_command} (the adapter refuses
 * with -EIO). Thread-safe.
 */
public final class CommandQueue {
    private final int slots;
    private final FailurePoint requestPoint;
    private final FailurePoint commandPoint;
    private int taken;

    CommandQueue(int slots, FailureInjection failures) {
        this.slots = slots;
        requestPoint = failures.point("i40iw.cqp_request");
        commandPoint = failures.point("i40iw.cqp_command");
    }

    /**
     * Takes a request, as a command of somebody else does while it runs.
     *
     * @return 0, or -ENOMEM when all are taken
     */
    public synchronized int take() {
        if (taken == slots || requestPoint.fails()) {
            return -Errno.ENOMEM;
        }
        taken++;
        return 0;
    }

    /**
     * Gives a request back.
     *
     * @throws IllegalStateException when none is taken; nothing changes then
     */
    public synchronized void give() {
        if (taken == 0) {
            throw new IllegalStateException("none of " + slots + " command requests is taken");
        }
        taken--;
    }

    /**
     * How many requests are taken.
     *
     * @return 0 while no command runs
     */
    public synchronized int taken() {
        return taken;
    }

    /** What the adapter says of a command that is as it should be. */
    int run() {
        return commandPoint.fails() ? -Errno.EIO : 0;
    }
}
