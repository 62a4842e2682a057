package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import java.util.BitSet;

/**
 * The numbers of rxe's objects of one kind. They are given out in a cycle, so that a number is used again as late as
 * can be, and what still names the old object is noticed. In a 5.x kernel the search begins at the latest number
 * itself, so that the newest object's number is free again at once. Implements rdma:RXE-2, RXE-4. Thread-safe.
 */
public final class RxePool {
    private final int first;
    private final int last;
    private final int maxElements;
    private final boolean ofTheFirstRxe;
    private final BitSet used = new BitSet();
    private int next;
    private int elements;

    /**
     * Makes an empty pool of Linux 6.12.
     *
     * @param first the lowest number, from 1
     * @param last the highest number
     * @param maxElements how many objects there may be at once
     */
    public RxePool(int first, int last, int maxElements) {
        this(first, last, maxElements, false);
    }

    /**
     * Makes an empty pool.
     *
     * @param first the lowest number, from 1
     * @param last the highest number
     * @param maxElements how many objects there may be at once
     * @param ofTheFirstRxe whether the rules of a 5.x kernel hold
     */
    RxePool(int first, int last, int maxElements, boolean ofTheFirstRxe) {
        if (first < 1 || last < first || maxElements < 1) {
            throw new IllegalArgumentException(
                    "a pool of " + maxElements + " objects cannot have the numbers " + first + " to " + last);
        }
        this.first = first;
        this.last = last;
        this.maxElements = maxElements;
        this.ofTheFirstRxe = ofTheFirstRxe;
        next = first;
    }

    /**
     * Adds an object: the lowest free number from the one after the latest on, and from the first again behind the
     * last.
     *
     * @return its number; -EINVAL when there are as many as may be, or -ENOMEM in a 5.x kernel; -EBUSY when no number
     *     is free
     */
    public synchronized int add() {
        if (elements == maxElements) {
            return ofTheFirstRxe ? -Errno.ENOMEM : -Errno.EINVAL;
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
        next = ofTheFirstRxe ? index : after(index);
        return index;
    }

    private int after(int index) {
        return index == last ? first : index + 1;
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
     * Whether a number can be one of this pool's.
     *
     * @param index any number
     * @return true from the first to the last
     */
    public boolean covers(int index) {
        return index >= first && index <= last;
    }

    /**
     * How many objects there may be.
     *
     * @return objects
     */
    public int maxElements() {
        return maxElements;
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
