package io.pagewalk.backends.iommu.iova;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * Page frame numbers of one size class, {@link #CAPACITY} of them in the kernel (iommu:RC-2). Not thread-safe: it
 * belongs to whoever holds the lock of the list or CPU it is on.
 */
final class IovaMagazine {
    static final int CAPACITY = 127;

    private final long[] pfns;
    private int count;
    private @Nullable IovaMagazine below;

    IovaMagazine(int capacity) {
        pfns = new long[capacity];
    }

    int count() {
        return count;
    }

    boolean isFull() {
        return count == pfns.length;
    }

    boolean isEmpty() {
        return count == 0;
    }

    long pfn(int index) {
        return pfns[index];
    }

    void push(long pfn) {
        pfns[count++] = pfn;
    }

    void clear() {
        count = 0;
    }

    /** The newest pfn not above {@code highestPfn}, or 0; the newest of all moves into its place (iommu:RC-9). */
    long pop(long highestPfn) {
        for (int i = count - 1; i >= 0; i--) {
            long pfn = pfns[i];
            if (Addresses.lessOrEqual(pfn, highestPfn)) {
                pfns[i] = pfns[--count];
                return pfn;
            }
        }
        return 0;
    }

    /** The magazine under this one on the list it is on. */
    @Nullable IovaMagazine below() {
        return below;
    }

    void putOn(@Nullable IovaMagazine list) {
        below = list;
    }
}
