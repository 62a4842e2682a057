package io.pagewalk.dma.events;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Ranges of one device's DMA addresses, by their first byte. Several may begin at one address, and ranges may overlap:
 * without an IOMMU a buffer is mapped at its one address as often as somebody maps it.
 *
 * <p>Addresses are unsigned. Not thread-safe.
 *
 * @param <M> what covers a range
 */
public final class AddressIndex<M> {
    private final ToLongFunction<M> first;
    private final ToLongFunction<M> sizeBytes;
    private final NavigableMap<Long, ArrayDeque<M>> byFirst = new TreeMap<>(Long::compareUnsigned);
    private long largestBytes;
    private int count;

    /**
     * Makes an empty index.
     *
     * @param first gives the first address of a range, always the same for one
     * @param sizeBytes gives its length, always the same for one
     */
    public AddressIndex(ToLongFunction<M> first, ToLongFunction<M> sizeBytes) {
        this.first = first;
        this.sizeBytes = sizeBytes;
    }

    /**
     * Adds a range.
     *
     * @param range the range
     */
    public void add(M range) {
        byFirst.computeIfAbsent(first.applyAsLong(range), a -> new ArrayDeque<>(1))
                .addLast(range);
        largestBytes = Addresses.max(largestBytes, sizeBytes.applyAsLong(range));
        count++;
    }

    /**
     * Removes a range, the earliest added of equal ones.
     *
     * @param range the range
     * @return false when it was not there
     */
    public boolean remove(M range) {
        long at = first.applyAsLong(range);
        ArrayDeque<M> there = byFirst.get(at);
        if (there == null || !there.removeFirstOccurrence(range)) {
            return false;
        }
        if (there.isEmpty()) {
            byFirst.remove(at);
        }
        count--;
        if (count == 0) {
            largestBytes = 0;
        }
        return true;
    }

    /** Removes all ranges. */
    public void clear() {
        byFirst.clear();
        largestBytes = 0;
        count = 0;
    }

    /**
     * How many ranges there are.
     *
     * @return the count
     */
    public int size() {
        return count;
    }

    /**
     * The ranges that begin at an address.
     *
     * @param address the address
     * @return in the order in which they were added; read only, and good until the next change
     */
    public Collection<M> startingAt(long address) {
        ArrayDeque<M> there = byFirst.get(address);
        return there == null ? Collections.emptyList() : Collections.unmodifiableCollection(there);
    }

    /**
     * The range that begins nearest at or below an address.
     *
     * @param address the address
     * @return the latest added of those that begin there, or null when none does
     */
    public @Nullable M atOrBelow(long address) {
        Map.@Nullable Entry<Long, ArrayDeque<M>> entry = byFirst.floorEntry(address);
        return entry == null ? null : entry.getValue().getLast();
    }

    /**
     * The range that begins nearest above an address.
     *
     * @param address the address
     * @return the earliest added of those that begin there, or null when none does
     */
    public @Nullable M above(long address) {
        Map.@Nullable Entry<Long, ArrayDeque<M>> entry = byFirst.higherEntry(address);
        return entry == null ? null : entry.getValue().getFirst();
    }

    /**
     * Visits the ranges that an address lies in, nearest beginning first. Looks no further down than the largest range
     * there has been reaches.
     *
     * @param address the address
     * @param visitor told of each
     */
    public void forEachContaining(long address, Consumer<M> visitor) {
        forEachOverlapping(address, 1, visitor);
    }

    /**
     * Visits the ranges that have an address in common with one, farthest beginning first. Looks no further down than
     * the largest range there has been reaches.
     *
     * @param address first address
     * @param lengthBytes length, from 1, not past the end of all addresses
     * @param visitor told of each
     */
    public void forEachOverlapping(long address, long lengthBytes, Consumer<M> visitor) {
        long last = Addresses.last(address, lengthBytes);
        for (Map.Entry<Long, ArrayDeque<M>> entry :
                byFirst.headMap(last, true).descendingMap().entrySet()) {
            long begin = entry.getKey();
            boolean inside = Addresses.lessOrEqual(address, begin);
            if (!inside && Addresses.lessOrEqual(largestBytes, address - begin)) {
                return;
            }
            for (M range : entry.getValue()) {
                if (Addresses.lessThan(inside ? 0 : address - begin, sizeBytes.applyAsLong(range))) {
                    visitor.accept(range);
                }
            }
        }
    }

    /**
     * Visits all ranges by ascending address.
     *
     * @param visitor told of each
     */
    public void forEach(Consumer<M> visitor) {
        byFirst.values().forEach(there -> there.forEach(visitor));
    }
}
