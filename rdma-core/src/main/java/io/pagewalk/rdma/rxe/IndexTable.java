package io.pagewalk.rdma.rxe;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Objects by number, for lookups without a lock: two levels, of which the second is made when a number of it is used
 * first. An object is published by {@link #put}, after all else of it is in place (rdma:RXE-3). Thread-safe.
 *
 * @param <T> what is looked up
 */
final class IndexTable<T> {
    private static final int LEAF_BITS = 9;
    private static final int LEAF_MASK = (1 << LEAF_BITS) - 1;

    private final int first;
    private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable T>> leaves;

    IndexTable(int first, int last) {
        this.first = first;
        leaves = new AtomicReferenceArray<>(((last - first) >>> LEAF_BITS) + 1);
    }

    /** The object of a number; null when there is none, or the number is none of the table's. */
    @Nullable T get(int index) {
        int at = index - first;
        int leafIndex = at >>> LEAF_BITS;
        if (leafIndex >= leaves.length()) {
            return null;
        }
        AtomicReferenceArray<@Nullable T> leaf = leaves.get(leafIndex);
        return leaf == null ? null : leaf.get(at & LEAF_MASK);
    }

    /** Publishes an object. */
    void put(int index, T object) {
        leaf(index - first).set((index - first) & LEAF_MASK, object);
    }

    /** Takes an object out of sight. */
    void remove(int index) {
        leaf(index - first).set((index - first) & LEAF_MASK, null);
    }

    private AtomicReferenceArray<@Nullable T> leaf(int at) {
        int leafIndex = at >>> LEAF_BITS;
        AtomicReferenceArray<@Nullable T> leaf = leaves.get(leafIndex);
        if (leaf != null) {
            return leaf;
        }
        AtomicReferenceArray<@Nullable T> made = new AtomicReferenceArray<>(LEAF_MASK + 1);
        return leaves.compareAndSet(leafIndex, null, made) ? made : leaf(at);
    }
}
