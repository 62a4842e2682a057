package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpState;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What connects two reliable queue pairs of one process. Nothing is lost on it and nothing overtakes: a request runs
 * when it is posted, packet by packet, each answered before the next is sent. A stepped link runs nothing by itself, so
 * that something can be done between two packets.
 *
 * <p>Thread-safe: the link is also the lock of both queue pairs. Below it are taken the locks of keys and of completion
 * queues; above it, only while queue pairs are connected or destroyed, the one of all links of the machine.
 */
public final class Link {
    /** One lock for all that connects and disconnects on a machine. */
    static final class Topology {}

    private @Nullable RcQp left;
    private @Nullable RcQp right;
    private boolean stepped;

    private Link(RcQp left, RcQp right) {
        this.left = left;
        this.right = right;
    }

    /** A link with one end. */
    static Link loose(RcQp qp) {
        return new Link(qp, qp);
    }

    /**
     * Connects two queue pairs, or one with itself. What either was connected with before gets no answer any more.
     *
     * @param left one end
     * @param right the other end
     * @return the link
     * @throws IllegalArgumentException when they are on two machines
     * @throws IllegalStateException when one of them is ready to receive already, or was destroyed
     */
    public static Link connect(RcQp left, RcQp right) {
        if (left.machine() != right.machine()) {
            throw new IllegalArgumentException(left + " and " + right + " are on two machines");
        }
        synchronized (left.topology()) {
            synchronized (left.link()) {
                synchronized (right.link()) {
                    requireConnectable(left);
                    requireConnectable(right);
                    left.part();
                    right.part();
                    Link link = new Link(left, right);
                    left.join(link, right);
                    right.join(link, left);
                    return link;
                }
            }
        }
    }

    private static void requireConnectable(RcQp qp) {
        if (qp.isDestroyed() || qp.state().receives()) {
            throw new IllegalStateException(qp + " cannot be connected" + (qp.isDestroyed() ? ": destroyed" : ""));
        }
    }

    /**
     * Connects two queue pairs and takes both to RTS.
     *
     * @param left one end, in RESET
     * @param right the other end, in RESET
     * @param attributes of both
     * @return the link
     * @throws IllegalStateException when one of them is in another state
     */
    public static Link establish(RcQp left, RcQp right, QpAttributes attributes) {
        Objects.requireNonNull(attributes, "attributes");
        Link link = connect(left, right);
        for (QpState next : new QpState[] {QpState.INIT, QpState.RTR, QpState.RTS}) {
            int error = left.modify(next, attributes) | (left == right ? 0 : right.modify(next, attributes));
            if (error != 0) {
                throw new IllegalStateException(left + " or " + right + " cannot become " + next);
            }
        }
        return link;
    }

    /**
     * Makes the link run by itself, as it does at first, or only by {@link #step}.
     *
     * @param yes whether by steps
     */
    public synchronized void setStepped(boolean yes) {
        stepped = yes;
    }

    synchronized boolean isStepped() {
        return stepped;
    }

    /**
     * Does one packet, local operation or response; the left end's requests come first.
     *
     * @return false when there is nothing to do, or what there is waits for a timer
     */
    public synchronized boolean step() {
        return steps(left) || steps(right);
    }

    private static boolean steps(@Nullable RcQp qp) {
        return qp != null && qp.step();
    }

    /** One end is connected elsewhere: what it sends does not run here any more. */
    synchronized void leave(RcQp qp) {
        left = left == qp ? null : left;
        right = right == qp ? null : right;
    }

    /** Runs until there is nothing to do. */
    public synchronized void run() {
        boolean busy = true;
        while (busy) {
            busy = step();
        }
    }

    void runUnlessStepped() {
        if (!isStepped()) {
            run();
        }
    }
}
