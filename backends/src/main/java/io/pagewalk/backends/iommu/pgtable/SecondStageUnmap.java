package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.dma.memory.Addresses;

/** Takes mappings out of a tree. Implements iommu:VTD-21 to VTD-25. Thread-safe on disjoint ranges. */
final class SecondStageUnmap {

    /*
     * Linux looks once where the first page is mapped and takes at least what an entry of that level spans, from the page on and
     * without aligning: unmapping a hole is a success that takes more than it was asked to, and may take live pages behind
     * the hole with it. An entry that is covered from end to end goes, and its tables with it; one that is covered in part is
     * entered. A large leaf cannot be entered; Linux tries. Here the leaf stays as it is, which is what Linux's attempt comes to
     * when the mapped memory is zero, and is reported.
     */

    private final SecondStageTree tree;
    private final TableMemory tables;

    SecondStageUnmap(SecondStageTree tree) {
        this.tree = tree;
        this.tables = tree.tables();
    }

    /** Unmaps and answers the bytes taken; 0 beyond the width. */
    long unmap(long iova, long sizeBytes, TablePageList freed) {
        long firstPfn = iova >>> Addresses.PAGE_SHIFT;
        int levels = tree.levels();
        if (!VtdPteLayout.reaches(firstPfn, levels)) {
            return 0;
        }
        long table = tree.rootPhysAddr();
        int level = levels;
        long entry = tables.entry(VtdPteLayout.slot(table, firstPfn, level));
        while (level > 1 && VtdPteLayout.isPresent(entry) && !VtdPteLayout.isLarge(entry)) {
            table = VtdPteLayout.address(entry);
            level--;
            entry = tables.entry(VtdPteLayout.slot(table, firstPfn, level));
        }
        long bytes = Addresses.max(sizeBytes, VtdPteLayout.bytesAt(level));
        long pages = ((iova + bytes - 1) >>> Addresses.PAGE_SHIFT) - firstPfn + 1;
        if (level == 1 && pages == 1) {
            clearLeaf(VtdPteLayout.slot(table, firstPfn, 1), entry);
        } else if (level == 1 && isInsideOneTable(firstPfn, pages)) {
            clearLeaves(VtdPteLayout.slot(table, firstPfn, 1), (int) pages);
        } else {
            clearFromRoot(firstPfn, pages, freed);
        }
        return bytes;
    }

    /** Whether pages share a lowest table without filling it, so that it stays. */
    private static boolean isInsideOneTable(long firstPfn, long pages) {
        return pages < VtdPteLayout.ENTRIES
                && pages > 0
                && VtdPteLayout.index(firstPfn, 1) + pages <= VtdPteLayout.ENTRIES;
    }

    private void clearLeaves(long firstSlot, int count) {
        for (int i = 0; i < count; i++) {
            long slot = firstSlot + 8L * i;
            clearLeaf(slot, tables.entry(slot));
        }
    }

    private void clearLeaf(long slot, long entry) {
        if (VtdPteLayout.isPresent(entry)) {
            tables.entryRelease(slot, 0);
        }
    }

    /** A range that reaches beyond the width, or wraps, ends with the last page of the tables. */
    private void clearFromRoot(long firstPfn, long pages, TablePageList freed) {
        int levels = tree.levels();
        long widest = VtdPteLayout.pagesAt(levels + 1) - 1;
        long lastPfn = firstPfn + pages - 1;
        boolean fits = pages > 0 && lastPfn <= widest;
        clear(tree.rootPhysAddr(), levels, firstPfn, fits ? lastPfn : widest, freed);
    }

    private void clear(long table, int level, long firstPfn, long lastPfn, TablePageList freed) {
        long pages = VtdPteLayout.pagesAt(level);
        for (long pfn = firstPfn & -pages; pfn <= lastPfn; pfn += pages) {
            long slot = VtdPteLayout.slot(table, pfn, level);
            long entry = tables.entry(slot);
            if (VtdPteLayout.isPresent(entry)) {
                boolean whole = firstPfn <= pfn && pfn + pages - 1 <= lastPfn;
                clearEntry(
                        slot, entry, level, whole, Math.max(firstPfn, pfn), Math.min(lastPfn, pfn + pages - 1), freed);
            }
        }
    }

    private void clearEntry(
            long slot, long entry, int level, boolean whole, long firstPfn, long lastPfn, TablePageList freed) {
        boolean leaf = level == 1 || VtdPteLayout.isLarge(entry);
        if (whole) {
            tables.entryRelease(slot, 0);
            if (!leaf) {
                tree.unlinkInto(freed, VtdPteLayout.address(entry), level - 1);
            }
        } else if (leaf) {
            tree.reportLeafInTheWay("an unmap", firstPfn, level);
        } else {
            clear(VtdPteLayout.address(entry), level - 1, firstPfn, lastPfn, freed);
        }
    }
}
