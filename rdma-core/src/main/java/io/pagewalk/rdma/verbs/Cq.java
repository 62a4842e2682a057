package io.pagewalk.rdma.verbs;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue, a ring of completions that are made once and used again. Posting and polling allocate nothing
 * once the queue has been as full as it gets. Thread-safe.
 *
 * <p>A completion that finds the queue full is lost, and the queue says so from then on.
 */
public final class Cq {
    private static final int FIRST_ROOM = 16;

    private final VerbsDevice device;
    private final Owner owner;
    private final int capacity;
    private final AtomicInteger useCount = new AtomicInteger();
    private WorkCompletion[] ring = {};
    private long head;
    private long tail;
    private long lost;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;

    Cq(VerbsDevice device, Owner owner, int cqe) {
        this.device = device;
        this.owner = owner;
        capacity = cqe;
        grow();
    }

    /** Makes room for twice as many, up to the capacity: a large queue is seldom full. */
    private void grow() {
        WorkCompletion[] more = new WorkCompletion[Math.min(capacity, Math.max(FIRST_ROOM, 2 * ring.length))];
        int waiting = size();
        for (int i = 0; i < more.length; i++) {
            more[i] = i < ring.length ? ring[(int) ((head + i) % ring.length)] : new WorkCompletion();
        }
        ring = more;
        head = 0;
        tail = waiting;
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
        return (int) (tail - head);
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
        if (head == tail) {
            return 0;
        }
        into.copyFrom(ring[(int) (head % ring.length)]);
        head++;
        return 1;
    }

    /**
     * Puts a completion in. For a provider.
     *
     * @param completion the completion, copied
     */
    public synchronized void post(WorkCompletion completion) {
        if (tail - head == capacity) {
            lost++;
            return;
        }
        if (tail - head == ring.length) {
            grow();
        }
        ring[(int) (tail % ring.length)].copyFrom(completion);
        tail++;
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
