package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.backends.iommu.unit.ContextLayout;
import java.util.List;
import java.util.TreeSet;

/** Collects the pages that a requester's translations are read from. For one thread, while nobody maps. */
final class TablePages {
    private final TableMemory tables;
    private final TreeSet<Long> pages = new TreeSet<>(Long::compareUnsigned);

    TablePages(TableMemory tables) {
        this.tables = tables;
    }

    /** All pages from a root table on, ascending. */
    List<Long> of(long rootTable, int requesterId) {
        pages.add(rootTable);
        long rootEntry = tables.entry(ContextLayout.rootSlot(rootTable, requesterId));
        if (ContextLayout.isPresent(rootEntry)) {
            visitContext(ContextLayout.pointer(rootEntry), requesterId);
        }
        return List.copyOf(pages);
    }

    private void visitContext(long contextTable, int requesterId) {
        pages.add(contextTable);
        long slot = ContextLayout.contextSlot(contextTable, requesterId);
        long low = tables.entry(slot);
        if (ContextLayout.isPresent(low) && ContextLayout.translationType(low) == ContextLayout.TT_TABLES) {
            int agaw = ContextLayout.agaw(tables.entry(slot + Long.BYTES));
            visitTable(ContextLayout.pointer(low), agaw + 2);
        }
    }

    private void visitTable(long table, int level) {
        pages.add(table);
        for (int i = 0; level > 1 && i < VtdPteLayout.ENTRIES; i++) {
            long entry = tables.entry(table + 8L * i);
            if (VtdPteLayout.isPresent(entry) && !VtdPteLayout.isLarge(entry)) {
                visitTable(VtdPteLayout.address(entry), level - 1);
            }
        }
    }
}
