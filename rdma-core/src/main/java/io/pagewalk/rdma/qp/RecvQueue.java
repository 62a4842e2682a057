package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SgeList;

/** The receives of a queue pair, a ring of places that are made once. Not thread-safe. */
final class RecvQueue {
    private final SgeList[] segments;
    private final long[] wrIds;
    private long head;
    private long tail;

    RecvQueue(QpInit init) {
        segments = new SgeList[init.maxRecvWr()];
        wrIds = new long[init.maxRecvWr()];
        for (int i = 0; i < segments.length; i++) {
            segments[i] = new SgeList(init.maxSge());
        }
    }

    boolean isFull() {
        return tail - head == segments.length;
    }

    boolean isEmpty() {
        return head == tail;
    }

    void push(RecvWr wr) {
        int at = (int) (tail % segments.length);
        segments[at].copyFrom(wr.segments());
        wrIds[at] = wr.wrId();
        tail++;
    }

    /** The oldest receive's segments; there is one. */
    SgeList headSegments() {
        return segments[(int) (head % segments.length)];
    }

    /** The oldest receive's id; there is one. */
    long headWrId() {
        return wrIds[(int) (head % segments.length)];
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

    /** Whether a receive that waits names a key. */
    boolean names(int lkey) {
        for (long at = head; at < tail; at++) {
            SgeList list = segments[(int) (at % segments.length)];
            for (int i = 0; i < list.count(); i++) {
                if (list.lkey(i) == lkey) {
                    return true;
                }
            }
        }
        return false;
    }
}
