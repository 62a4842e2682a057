package io.pagewalk.rdma.verbs;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair, the kernel's {@code struct ib_qp}. Providers extend it. Work requests belong to their caller, who may
 * use them again as soon as a post returns; posting allocates nothing.
 */
public abstract class Qp {
    private final Pd pd;
    private final QpInit init;
    private final int qpNum;
    private final MrPool.Shared pools = new MrPool.Shared();
    private final MrPool rdmaMrs;
    private final MrPool sigMrs;
    private final AtomicInteger useCount = new AtomicInteger();
    private int maxWriteSge;
    private int maxReadSge;
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
        rdmaMrs = new MrPool(pd, pools);
        sigMrs = new MrPool(pd, pools);
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

    // ---- for rdma_rw

    /**
     * Regions for transfers of the kernel's (rdma:POOL-1).
     *
     * @return {@code rdma_mrs}; empty where no transfer needs a region
     */
    public final MrPool rdmaMrs() {
        return rdmaMrs;
    }

    /**
     * Regions with signatures (rdma:POOL-1).
     *
     * @return {@code sig_mrs}; empty without the integrity flag
     */
    public final MrPool sigMrs() {
        return sigMrs;
    }

    /**
     * How many regions of its pools are out.
     *
     * @return {@code mrs_used}; negative after regions of others were put in
     */
    public final int mrsUsed() {
        return pools.used();
    }

    /**
     * How many segments a write of the kernel's has at most.
     *
     * @return {@code max_write_sge}
     */
    public final int maxWriteSge() {
        return maxWriteSge;
    }

    /**
     * How many segments a read of the kernel's has at most.
     *
     * @return {@code max_read_sge}
     */
    public final int maxReadSge() {
        return maxReadSge;
    }

    /**
     * Whether transfers may have signatures.
     *
     * @return {@code integrity_en}
     */
    public final boolean isIntegrityEnabled() {
        return init.rw().hasIntegrity();
    }

    // ---- users

    /** Takes a use of it, such as a multicast group does: it cannot be destroyed until {@link #unuse} (rdma:POOL-6). */
    public final void use() {
        useCount.incrementAndGet();
    }

    /**
     * Gives back what {@link #use} took.
     *
     * @throws IllegalStateException when nothing was taken; nothing changes then
     */
    public final void unuse() {
        if (useCount.getAndUpdate(n -> Math.max(n - 1, 0)) == 0) {
            throw new IllegalStateException(this + " has no use to give back");
        }
    }

    /**
     * How many uses there are.
     *
     * @return {@code usecnt}
     */
    public final int useCount() {
        return useCount.get();
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

    final void setLimits(int writeSge, int readSge) {
        maxWriteSge = writeSge;
        maxReadSge = readSge;
    }

    final void markDestroyed() {
        destroyed = true;
    }

    @Override
    public String toString() {
        return "queue pair " + qpNum + " (" + state() + ")";
    }
}
