package io.pagewalk.dma;

import java.util.ArrayDeque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** A device's records of managed memory, the latest first (devres). Thread-safe. */
final class ManagedResources {
    /** What was allocated and how it is freed. */
    record Entry(long sizeBytes, long cpuAddr, long dmaAddr, int attrs) {}

    private final ArrayDeque<Entry> entries = new ArrayDeque<>();

    synchronized void add(Entry entry) {
        entries.addFirst(entry);
    }

    synchronized @Nullable Entry take(long cpuAddr) {
        for (Iterator<Entry> each = entries.iterator(); each.hasNext(); ) {
            Entry entry = each.next();
            if (entry.cpuAddr() == cpuAddr) {
                each.remove();
                return entry;
            }
        }
        return null;
    }

    synchronized @Nullable Entry takeLatest() {
        return entries.pollFirst();
    }
}
