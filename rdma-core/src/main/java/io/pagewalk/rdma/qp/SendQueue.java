package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpInit;
import org.jspecify.annotations.Nullable;

/** The requests of a queue pair, a ring of places that are made as they are needed, once. Not thread-safe. */
final class SendQueue {
    private static final int FIRST_ROOM = 16;

    private final QpInit init;
    private SendWqe[] ring = {};
    private long head;
    private long tail;

    SendQueue(QpInit init) {
        this.init = init;
        grow();
    }

    /** Makes room for twice as many, up to what was asked for: a large queue is seldom full. */
    private void grow() {
        SendWqe[] more = new SendWqe[Math.min(init.maxSendWr(), Math.max(FIRST_ROOM, 2 * ring.length))];
        int waiting = size();
        for (int i = 0; i < more.length; i++) {
            more[i] = i < ring.length
                    ? ring[(int) ((head + i) % ring.length)]
                    : new SendWqe(init.maxSge(), init.maxInlineBytes());
        }
        ring = more;
        head = 0;
        tail = waiting;
    }

    boolean isFull() {
        return tail - head == init.maxSendWr();
    }

    /** The place to fill next; there is one. */
    SendWqe next() {
        if (tail - head == ring.length) {
            grow();
        }
        return ring[(int) (tail % ring.length)];
    }

    void push() {
        tail++;
    }

    /** The oldest request. */
    @Nullable SendWqe head() {
        return head == tail ? null : ring[(int) (head % ring.length)];
    }

    void pop() {
        head++;
    }

    void clear() {
        head = tail;
    }

    int size() {
        return (int) (tail - head);
    }
}
