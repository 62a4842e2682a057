package io.pagewalk.rdma.verbs;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair, the kernel's {@code struct ib_qp}. Providers extend it. Work requests belong to their caller, who may
 * use them again as soon as a post returns; posting allocates nothing.
 */
public abstract class Qp {
    private final Pd pd;
    private final QpInit init;
    private final int qpNum;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;

    /**
     * Makes a queue pair in RESET.
     *
     * @param pd its domain
     * @param init how it is
     * @param qpNum its number
     */
    protected Qp(Pd pd, QpInit init, int qpNum) {
        this.pd = Objects.requireNonNull(pd, "pd");
        this.init = Objects.requireNonNull(init, "init");
        this.qpNum = qpNum;
    }

    /**
     * The domain.
     *
     * @return which one it belongs to
     */
    public final Pd pd() {
        return pd;
    }

    /**
     * How it was made.
     *
     * @return the description
     */
    public final QpInit init() {
        return init;
    }

    /**
     * Its number.
     *
     * @return 24 bits
     */
    public final int qpNum() {
        return qpNum;
    }

    /**
     * Whether it was destroyed.
     *
     * @return true after it was given back
     */
    public final boolean isDestroyed() {
        return destroyed;
    }

    /**
     * Its state.
     *
     * @return the state
     */
    public abstract QpState state();

    /**
     * {@code ib_modify_qp}: changes state and attributes.
     *
     * @param next the state to go to, the present one included
     * @param attributes what shall hold then
     * @return 0, or -EINVAL with nothing changed when it cannot go there from here
     */
    public abstract int modify(QpState next, QpAttributes attributes);

    /**
     * {@code ib_post_send}: queues a list of work requests. The first one that cannot be queued ends it; those before
     * it stay posted.
     *
     * @param first the first one, linked by {@link SendWr#next}
     * @return 0, -EINVAL or -ENOMEM; {@link #badSendWr} is the one that was refused
     */
    public abstract int postSend(SendWr first);

    /**
     * The request that the latest {@link #postSend} refused.
     *
     * @return {@code bad_wr}; null after a post that succeeded
     */
    public abstract @Nullable SendWr badSendWr();

    /**
     * {@code ib_post_recv} for one receive.
     *
     * @param wr the receive
     * @return 0, -EINVAL or -ENOMEM
     */
    public abstract int postRecv(RecvWr wr);

    final Restrack.@Nullable Entry tracked() {
        return tracked;
    }

    final void setTracked(Restrack.@Nullable Entry entry) {
        tracked = entry;
    }

    final void markDestroyed() {
        destroyed = true;
    }

    @Override
    public String toString() {
        return "queue pair " + qpNum + " (" + state() + ")";
    }
}
