package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpState;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What connects two reliable queue pairs of one process. Nothing is lost on it and nothing overtakes: a request runs
 * when it is posted, packet by packet, each answered before the next is sent. A stepped link runs nothing by itself, so
 * that something can be done between two packets.
 *
 * <p>Thread-safe: the link is also the lock of both queue pairs. Order of locks: a link, then those of keys and of
 * completion queues. Nobody waits for a link while holding another: {@link #connect}, which needs two, gives back the
 * one that it has before it waits for the other. What runs on a link may call back (a fault's handler does) while the
 * link is held; such a handler may post on, change, connect and destroy queue pairs of that link, and of others as long
 * as no handler that runs there at the same time does the same with this one.
 */
public final class Link {
    private final ReentrantLock lock = new ReentrantLock();
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
        Link first = holdBoth(left, right);
        Link second = right.link();
        try {
            requireConnectable(left);
            requireConnectable(right);
            left.part();
            right.part();
            return joined(left, right);
        } finally {
            second.release();
            first.release();
        }
    }

    /** Holds the links of both, which stay theirs until then; waits only while it holds none of them. */
    private static Link holdBoth(RcQp left, RcQp right) {
        while (true) {
            Link first = left.hold();
            Link second = right.link();
            if (second.lock.tryLock()) {
                if (second == right.link()) {
                    return first;
                }
                second.release();
                first.release();
            } else {
                first.release();
                right.hold().release();
            }
        }
    }

    /** Nobody else uses the new link before both ends have it. */
    private static Link joined(RcQp left, RcQp right) {
        Link link = new Link(left, right);
        link.hold();
        try {
            left.join(link, right);
            right.join(link, left);
            return link;
        } finally {
            link.release();
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

    /** Keeps other threads from both ends until {@link #release}. */
    void hold() {
        lock.lock();
    }

    void release() {
        lock.unlock();
    }

    /**
     * Makes the link run by itself, as it does at first, or only by {@link #step}.
     *
     * @param yes whether by steps
     */
    public void setStepped(boolean yes) {
        hold();
        try {
            stepped = yes;
        } finally {
            release();
        }
    }

    /**
     * Does one packet, local operation or response; the left end's requests come first.
     *
     * @return false when there is nothing to do, or what there is waits for a timer
     */
    public boolean step() {
        hold();
        try {
            return steps(left) || steps(right);
        } finally {
            release();
        }
    }

    private static boolean steps(@Nullable RcQp qp) {
        return qp != null && qp.step();
    }

    /** One end is connected elsewhere: what it sends does not run here any more. The link is held. */
    void leave(RcQp qp) {
        left = left == qp ? null : left;
        right = right == qp ? null : right;
    }

    /** Runs until there is nothing to do. */
    public void run() {
        hold();
        try {
            boolean busy = true;
            while (busy) {
                busy = steps(left) || steps(right);
            }
        } finally {
            release();
        }
    }

    /** The link is held. */
    void runUnlessStepped() {
        if (!stepped) {
            run();
        }
    }
}
