package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.ring.Ring;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SgeList;

/** The receives of a queue pair. Not thread-safe. */
final class RecvQueue {
    /** A copy of a receive. */
    private static final class Place {
        private final SgeList segments;
        private long wrId;

        Place(int maxSge) {
            segments = new SgeList(maxSge);
        }
    }

    private final Ring<Place> ring;

    RecvQueue(QpInit init) {
        ring = new Ring<>(init.maxRecvWr(), () -> new Place(init.maxSge()));
    }

    boolean isFull() {
        return ring.isFull();
    }

    boolean isEmpty() {
        return ring.isEmpty();
    }

    void push(RecvWr wr) {
        Place place = ring.next();
        place.segments.copyFrom(wr.segments());
        place.wrId = wr.wrId();
        ring.push();
    }

    /** The oldest receive's segments; there is one. */
    SgeList headSegments() {
        return ring.first().segments;
    }

    /** The oldest receive's id; there is one. */
    long headWrId() {
        return ring.first().wrId;
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

    /** Whether a receive that waits names a key. */
    boolean names(int lkey) {
        for (int at = 0; at < ring.size(); at++) {
            SgeList list = ring.waiting(at).segments;
            for (int i = 0; i < list.count(); i++) {
                if (list.lkey(i) == lkey) {
                    return true;
                }
            }
        }
        return false;
    }
}
