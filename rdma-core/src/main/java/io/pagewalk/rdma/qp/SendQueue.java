package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.ring.Ring;
import io.pagewalk.rdma.verbs.QpInit;
import org.jspecify.annotations.Nullable;

/** The requests of a queue pair. Not thread-safe. */
final class SendQueue {
    private final Ring<SendWqe> ring;

    SendQueue(QpInit init) {
        ring = new Ring<>(init.maxSendWr(), () -> new SendWqe(init.maxSge(), init.maxInlineBytes()));
    }

    boolean isFull() {
        return ring.isFull();
    }

    /** The place to fill next; there is one. Never that of a request that a step works on: its handler may post. */
    SendWqe next() {
        SendWqe place = ring.next();
        return place.running ? ring.renewNext() : place;
    }

    void push() {
        ring.push();
    }

    /** The oldest request. */
    @Nullable SendWqe head() {
        return ring.isEmpty() ? null : ring.first();
    }

    void pop() {
        ring.pop();
    }

    void clear() {
        ring.clear();
    }

    int size() {
        return ring.size();
    }
}
