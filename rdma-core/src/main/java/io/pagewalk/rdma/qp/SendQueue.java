package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpInit;
import org.jspecify.annotations.Nullable;

/** The requests of a queue pair, a ring of places that are made once. Not thread-safe. */
final class SendQueue {
    private final SendWqe[] ring;
    private long head;
    private long tail;

    SendQueue(QpInit init) {
        ring = new SendWqe[init.maxSendWr()];
        for (int i = 0; i < ring.length; i++) {
            ring[i] = new SendWqe(init.maxSge(), init.maxInlineBytes());
        }
    }

    boolean isFull() {
        return tail - head == ring.length;
    }

    /** The place to fill next; there is one. */
    SendWqe next() {
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
