package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SgeList;

/** The receives of a queue pair, a ring of places that are made as they are needed, once. Not thread-safe. */
final class RecvQueue {
    private static final int FIRST_ROOM = 16;

    private final QpInit init;
    private SgeList[] segments = {};
    private long[] wrIds = {};
    private long head;
    private long tail;

    RecvQueue(QpInit init) {
        this.init = init;
        grow();
    }

    /** Makes room for twice as many, up to what was asked for: a large queue is seldom full. */
    private void grow() {
        int room = Math.min(init.maxRecvWr(), Math.max(FIRST_ROOM, 2 * segments.length));
        SgeList[] more = new SgeList[room];
        long[] moreIds = new long[room];
        int waiting = size();
        for (int i = 0; i < room; i++) {
            int from = i < segments.length ? (int) ((head + i) % segments.length) : -1;
            more[i] = from < 0 ? new SgeList(init.maxSge()) : segments[from];
            moreIds[i] = from < 0 ? 0 : wrIds[from];
        }
        segments = more;
        wrIds = moreIds;
        head = 0;
        tail = waiting;
    }

    boolean isFull() {
        return tail - head == init.maxRecvWr();
    }

    boolean isEmpty() {
        return head == tail;
    }

    void push(RecvWr wr) {
        if (tail - head == segments.length) {
            grow();
        }
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
