package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.lock.SpinLock;
import java.util.function.LongConsumer;

/**
 * A ring of a flush queue (iommu:FQ-2), of which all entries but one are used. Guarded by {@link #lock}.
 *
 * <p>The lists of table pages are made with the ring and reused.
 */
final class FlushRing {
    final SpinLock lock = new SpinLock();

    private final int mask;
    private final long[] pfns;
    private final long[] pages;
    private final long[] counters;
    private final TablePageList[] freed;
    private int head;
    private int tail;

    /**
     * Makes an empty ring.
     *
     * @param entries a power of two
     */
    FlushRing(int entries) {
        mask = entries - 1;
        pfns = new long[entries];
        pages = new long[entries];
        counters = new long[entries];
        freed = new TablePageList[entries];
        for (int i = 0; i < entries; i++) {
            freed[i] = new TablePageList();
        }
    }

    boolean isFull() {
        return ((tail + 1) & mask) == head;
    }

    boolean isEmpty() {
        return head == tail;
    }

    int size() {
        return (tail - head) & mask;
    }

    void append(long pfn, long pageCount, long counter, TablePageList freedPages) {
        int at = tail;
        pfns[at] = pfn;
        pages[at] = pageCount;
        counters[at] = counter;
        freed[at].takeAll(freedPages);
        tail = (at + 1) & mask;
    }

    long headPfn() {
        return pfns[head];
    }

    long headPages() {
        return pages[head];
    }

    long headCounter() {
        return counters[head];
    }

    TablePageList headFreed() {
        return freed[head];
    }

    void advanceHead() {
        head = (head + 1) & mask;
    }

    void forEach(LongConsumer action) {
        for (int at = head; at != tail; at = (at + 1) & mask) {
            action.accept(pfns[at]);
        }
    }
}
