package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.ContextLayout;
import io.pagewalk.dma.memory.PhysicalMemory;

/**
 * The root table and the context tables of a unit as the driver writes them. Implements iommu:CTX-1 and the entry part
 * of iommu:CTX-3 and CTX-6.
 *
 * <p>Context tables appear when a bus is first used and stay. For one thread at a time; hardware may read meanwhile.
 */
final class ContextTables {
    private final PhysicalMemory memory;
    private final KernelPages pages;
    private final long rootTable;

    ContextTables(PhysicalMemory memory, KernelPages pages) {
        this.memory = memory;
        this.pages = pages;
        this.rootTable = pages.take();
    }

    long rootTable() {
        return rootTable;
    }

    boolean isPresent(int requesterId) {
        long low = memory.getLong(ContextLayout.rootSlot(rootTable, requesterId));
        return ContextLayout.isPresent(low)
                && ContextLayout.isPresent(
                        memory.getLong(ContextLayout.contextSlot(ContextLayout.pointer(low), requesterId)));
    }

    /** The low half of a present entry. */
    long low(int requesterId) {
        return memory.getLong(slot(requesterId));
    }

    /** The high half of a present entry. */
    long high(int requesterId) {
        return memory.getLong(slot(requesterId) + Long.BYTES);
    }

    /** Writes an entry, the half with P last. */
    void enter(int requesterId, long low, long high) {
        long slot = slot(requesterId);
        memory.putLong(slot, 0);
        memory.putLongRelease(slot + Long.BYTES, high);
        memory.putLongRelease(slot, low);
    }

    void clearPresent(int requesterId) {
        long slot = slot(requesterId);
        memory.putLongRelease(slot, memory.getLong(slot) & ~ContextLayout.PRESENT);
    }

    void erase(int requesterId) {
        long slot = slot(requesterId);
        memory.putLong(slot, 0);
        memory.putLong(slot + Long.BYTES, 0);
    }

    private long slot(int requesterId) {
        return ContextLayout.contextSlot(contextTable(requesterId), requesterId);
    }

    private long contextTable(int requesterId) {
        long rootSlot = ContextLayout.rootSlot(rootTable, requesterId);
        long low = memory.getLong(rootSlot);
        if (ContextLayout.isPresent(low)) {
            return ContextLayout.pointer(low);
        }
        long table = pages.take();
        memory.putLongRelease(rootSlot, table | ContextLayout.PRESENT);
        return table;
    }
}
