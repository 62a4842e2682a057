package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Regions of a queue pair that wait to be used: {@code ib_mr_pool}. The region that came back last goes out first, as
 * its page list is the warmest.
 *
 * <p>Implements rdma:POOL-1 to POOL-5. Thread-safe; get and put allocate nothing.
 */
public final class MrPool {
    /** What the pools of one queue pair share: the lock, and how many of their regions are out (rdma:POOL-1). */
    static final class Shared {
        private int used;

        synchronized int used() {
            return used;
        }
    }

    private final Pd pd;
    private final Shared shared;
    private final Deque<Mr> free = new ArrayDeque<>();

    MrPool(Pd pd, Shared shared) {
        this.pd = pd;
        this.shared = shared;
    }

    /**
     * {@code ib_mr_pool_init}: fills the pool. When a region cannot be had, the pool is emptied as {@link #destroy}
     * does.
     *
     * @param count how many regions
     * @param type their kind; INTEGRITY comes from {@link FastReg#allocMrIntegrity}
     * @param maxNumSg how many pages or entries of data each holds
     * @param maxMetaNumSg how many entries of metadata each holds; counts for INTEGRITY only
     * @return 0, or the negated errno of the first region that could not be had
     */
    public int init(int count, MrType type, int maxNumSg, int maxMetaNumSg) {
        for (int i = 0; i < count; i++) {
            ErrPtr<Mr> made = type == MrType.INTEGRITY
                    ? FastReg.allocMrIntegrity(pd, maxNumSg, maxMetaNumSg)
                    : FastReg.allocMr(pd, type, maxNumSg);
            if (made.isErr()) {
                destroy();
                return made.error();
            }
            append(made.value());
        }
        return 0;
    }

    private void append(Mr mr) {
        synchronized (shared) {
            mr.setPooled(true);
            free.addLast(mr);
        }
    }

    /**
     * {@code ib_mr_pool_get}.
     *
     * @return the region that came back last, or null when all are out
     */
    public @Nullable Mr get() {
        synchronized (shared) {
            Mr mr = free.pollFirst();
            if (mr != null) {
                mr.setPooled(false);
                shared.used++;
            }
            return mr;
        }
    }

    /**
     * {@code ib_mr_pool_put}. Whether the region came from this pool is not looked at (rdma:POOL-4).
     *
     * @param mr the region
     * @throws IllegalArgumentException when it is another device's, or the region of all memory that goes with its
     *     domain; nothing changes then
     * @throws IllegalStateException when it is in a pool already, which would corrupt the kernel's list, or was
     *     destroyed; nothing changes then
     */
    public void put(Mr mr) {
        pd.device().requirePoolable(mr);
        VerbsDevice.requireAlive(mr.isDestroyed(), mr);
        synchronized (shared) {
            if (mr.isPooled()) {
                throw new IllegalStateException(mr + " is in a pool already (rdma:POOL-4)");
            }
            mr.setPooled(true);
            free.addFirst(mr);
            shared.used--;
        }
    }

    /**
     * {@code ib_mr_pool_destroy}: destroys what waits here, whatever the provider says, and nothing that is out. A
     * region that the provider keeps is lost, and its domain keeps a user; the machine's log tells of each at
     * {@code ib_mr_pool}, where the kernel says nothing (rdma:POOL-5).
     */
    public void destroy() {
        for (Mr mr = take(); mr != null; mr = take()) {
            int error = pd.device().deregMr(mr, 0);
            if (error != 0) {
                tellOfLoss(mr, error);
            }
        }
    }

    private void tellOfLoss(Mr mr, int error) {
        String text = mr + " of " + mr.pd() + " could not be deregistered: " + Errno.name(error)
                + "; it is lost and keeps its domain (rdma:POOL-5)";
        pd.device().machine().log().message("ib_mr_pool", text);
    }

    private @Nullable Mr take() {
        synchronized (shared) {
            Mr mr = free.pollFirst();
            if (mr != null) {
                mr.setPooled(false);
            }
            return mr;
        }
    }

    /**
     * How many regions wait.
     *
     * @return regions
     */
    public int size() {
        synchronized (shared) {
            return free.size();
        }
    }
}
