package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import java.util.BitSet;

/**
 * The numbers of rxe's objects of one kind. They are given out in a cycle, so that a number is used again as late as
 * can be, and what still names the old object is noticed. Implements rdma:RXE-2. Thread-safe.
 */
public final class RxePool {
    private final int first;
    private final int last;
    private final int maxElements;
    private final BitSet used = new BitSet();
    private int next;
    private int elements;

    /**
     * Makes an empty pool.
     *
     * @param first the lowest number, from 1
     * @param last the highest number
     * @param maxElements how many objects there may be at once
     */
    public RxePool(int first, int last, int maxElements) {
        if (first < 1 || last < first || maxElements < 1) {
            throw new IllegalArgumentException(
                    "a pool of " + maxElements + " objects cannot have the numbers " + first + " to " + last);
        }
        this.first = first;
        this.last = last;
        this.maxElements = maxElements;
        next = first;
    }

    /**
     * Adds an object: the lowest free number from the one after the latest on, and from the first again behind the
     * last.
     *
     * @return its number; -EINVAL when there are as many as may be, -EBUSY when no number is free
     */
    public synchronized int add() {
        if (elements == maxElements) {
            return -Errno.EINVAL;
        }
        int index = freeFrom(next);
        if (index > last) {
            index = freeFrom(first);
        }
        if (index > last) {
            return -Errno.EBUSY;
        }
        used.set(index - first);
        elements++;
        next = index == last ? first : index + 1;
        return index;
    }

    private int freeFrom(int index) {
        return first + used.nextClearBit(index - first);
    }

    /**
     * Removes an object.
     *
     * @param index its number
     * @throws IllegalArgumentException when there is none of that number
     */
    public synchronized void remove(int index) {
        if (index < first || index > last || !used.get(index - first)) {
            throw new IllegalArgumentException("no object has the number " + index);
        }
        used.clear(index - first);
        elements--;
    }

    /**
     * How many objects there are.
     *
     * @return objects
     */
    public synchronized int elements() {
        return elements;
    }
}
