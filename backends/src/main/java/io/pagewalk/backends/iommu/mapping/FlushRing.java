package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.lock.SpinLock;
import java.util.function.LongConsumer;

/**
 * The ring of one CPU in a flush queue (iommu:FQ-2): 256 entries, of which 255 are used. Guarded by {@link #lock}.
 *
 * <p>The lists of table pages are made at the first turn of the ring and reused from then on.
 */
final class FlushRing {
    static final int ENTRIES = 256;

    private static final int MASK = ENTRIES - 1;

    final SpinLock lock = new SpinLock();

    private final long[] pfns = new long[ENTRIES];
    private final long[] pages = new long[ENTRIES];
    private final long[] counters = new long[ENTRIES];
    private final TablePageList[] freed = new TablePageList[ENTRIES];
    private int head;
    private int tail;

    FlushRing() {
        for (int i = 0; i < ENTRIES; i++) {
            freed[i] = new TablePageList();
        }
    }

    boolean isFull() {
        return ((tail + 1) & MASK) == head;
    }

    boolean isEmpty() {
        return head == tail;
    }

    int size() {
        return (tail - head) & MASK;
    }

    void append(long pfn, long pageCount, long counter, TablePageList freedPages) {
        int at = tail;
        pfns[at] = pfn;
        pages[at] = pageCount;
        counters[at] = counter;
        freed[at].takeAll(freedPages);
        tail = (at + 1) & MASK;
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
        head = (head + 1) & MASK;
    }

    void forEach(LongConsumer action) {
        for (int at = head; at != tail; at = (at + 1) & MASK) {
            action.accept(pfns[at]);
        }
    }
}
