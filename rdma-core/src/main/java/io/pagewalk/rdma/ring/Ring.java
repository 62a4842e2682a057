package io.pagewalk.rdma.ring;

import java.util.Objects;
import java.util.function.Supplier;

/**
 * A queue of places that are made as they are needed, once, and filled again and again. Not thread-safe; allocates only
 * when it is fuller than it ever was.
 *
 * @param <T> a place
 */
public final class Ring<T> {
    /*
     * A large queue is seldom full, so there are 16 places at first, and twice as many when they are taken, up to the capacity.
     * The index of a place wraps by a comparison, since the capacity need not be a power of two and a division is slow.
     */
    private static final int FIRST_ROOM = 16;

    private final int capacity;
    private final Supplier<T> maker;
    private T[] places = emptyPlaces(0);
    private int first;
    private int size;

    /**
     * Makes an empty queue.
     *
     * @param capacity how many places it has at most
     * @param maker makes a place
     * @throws IllegalArgumentException when the capacity is negative
     */
    public Ring(int capacity, Supplier<T> maker) {
        if (capacity < 0) {
            throw new IllegalArgumentException("a queue of " + capacity + " places");
        }
        this.capacity = capacity;
        this.maker = Objects.requireNonNull(maker, "maker");
        grow();
    }

    @SuppressWarnings("unchecked") // nobody else sees the array
    private static <T> T[] emptyPlaces(int room) {
        return (T[]) new Object[room];
    }

    private void grow() {
        T[] more = emptyPlaces(Math.min(capacity, Math.max(FIRST_ROOM, 2 * places.length)));
        for (int i = 0; i < more.length; i++) {
            more[i] = i < places.length ? places[indexOf(i)] : maker.get();
        }
        places = more;
        first = 0;
    }

    private int indexOf(int position) {
        int index = first + position;
        return index < places.length ? index : index - places.length;
    }

    /**
     * Whether there is no place left.
     *
     * @return true when as many wait as the capacity
     */
    public boolean isFull() {
        return size == capacity;
    }

    /**
     * Whether nothing waits.
     *
     * @return true when there is no first place
     */
    public boolean isEmpty() {
        return size == 0;
    }

    /**
     * How many wait.
     *
     * @return places pushed and not popped
     */
    public int size() {
        return size;
    }

    /**
     * The place to fill next, which does not wait before {@link #push}.
     *
     * @return the place, as it was left when it was used last
     */
    public T next() {
        if (size == places.length) {
            grow();
        }
        return places[indexOf(size)];
    }

    /**
     * Makes another place to fill next, for who still needs the one there is. The queue is not full.
     *
     * @return the new place
     */
    public T renewNext() {
        next();
        T place = maker.get();
        places[indexOf(size)] = place;
        return place;
    }

    /** Lets the place of {@link #next} wait. The queue is not full. */
    public void push() {
        size++;
    }

    /**
     * A place that waits.
     *
     * @param position how many wait longer
     * @return the place
     */
    public T waiting(int position) {
        return places[indexOf(position)];
    }

    /**
     * The place that waits longest. The queue is not empty.
     *
     * @return the place
     */
    public T first() {
        return places[first];
    }

    /** Takes the place that waits longest out. The queue is not empty. */
    public void pop() {
        first = indexOf(1);
        size--;
    }

    /** Takes all out. */
    public void clear() {
        size = 0;
    }
}
