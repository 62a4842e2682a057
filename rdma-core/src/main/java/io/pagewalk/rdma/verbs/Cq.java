package io.pagewalk.rdma.verbs;

import io.pagewalk.rdma.ring.Ring;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue. Posting and polling allocate nothing once the queue has been as full as it gets. Thread-safe.
 *
 * <p>A completion that finds the queue full is lost, and the queue says so from then on.
 */
public final class Cq {
    private final VerbsDevice device;
    private final Owner owner;
    private final int capacity;
    private final AtomicInteger useCount = new AtomicInteger();
    private final Ring<WorkCompletion> ring;
    private long lost;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;

    Cq(VerbsDevice device, Owner owner, int cqe) {
        this.device = device;
        this.owner = owner;
        capacity = cqe;
        ring = new Ring<>(cqe, WorkCompletion::new);
    }

    /**
     * The device.
     *
     * @return whose it is
     */
    public VerbsDevice device() {
        return device;
    }

    /**
     * Who has it.
     *
     * @return part of the kernel, or a process
     */
    public Owner owner() {
        return owner;
    }

    /**
     * How many completions it holds.
     *
     * @return as made
     */
    public int capacity() {
        return capacity;
    }

    /**
     * How many queues of queue pairs complete here.
     *
     * @return {@code usecnt}
     */
    public int useCount() {
        return useCount.get();
    }

    /**
     * How many completions wait.
     *
     * @return completions
     */
    public synchronized int size() {
        return ring.size();
    }

    /**
     * How many completions found it full.
     *
     * @return completions that are gone
     */
    public synchronized long lost() {
        return lost;
    }

    /**
     * Whether it was destroyed.
     *
     * @return true after it was given back
     */
    public boolean isDestroyed() {
        return destroyed;
    }

    /**
     * {@code ib_poll_cq} for one completion.
     *
     * @param into takes the oldest completion
     * @return 1, or 0 when none waits, with {@code into} unchanged
     */
    public synchronized int poll(WorkCompletion into) {
        if (ring.isEmpty()) {
            return 0;
        }
        into.copyFrom(ring.first());
        ring.pop();
        return 1;
    }

    /**
     * Puts a completion in. For a provider.
     *
     * @param completion the completion, copied
     */
    public synchronized void post(WorkCompletion completion) {
        if (ring.isFull()) {
            lost++;
            return;
        }
        ring.next().copyFrom(completion);
        ring.push();
    }

    void use() {
        useCount.incrementAndGet();
    }

    void unuse() {
        useCount.decrementAndGet();
    }

    Restrack.@Nullable Entry tracked() {
        return tracked;
    }

    void setTracked(Restrack.@Nullable Entry entry) {
        tracked = entry;
    }

    void markDestroyed() {
        destroyed = true;
    }

    @Override
    public String toString() {
        return "completion queue of " + owner + " on " + device.name();
    }
}
