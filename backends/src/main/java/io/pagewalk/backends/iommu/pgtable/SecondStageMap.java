package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.dma.Errno;

/** Writes mappings into a tree. Implements iommu:VTD-15 to VTD-19. Thread-safe on disjoint ranges. */
final class SecondStageMap {

    /*
     * A mapping is written in runs. Each run has one level, the largest that address, target and length allow, and ends with
     * the table it is in, or when less than one entry of its level is left; then the level is chosen anew.
     *
     * Leaves are never written over each other: the old one stays, the kernel logs, and the call succeeds all the same. Only
     * a large page makes room first, by throwing out whatever tables and leaves its slots held, which is the one case in
     * which mapping has to invalidate.
     *
     * The one case in which mapping meets memory that is no table is a small page inside a large one. Linux reads the large
     * leaf as though it pointed to a table. Here such a run is left out and reported.
     */

    private final SecondStageTree tree;
    private final TableMemory tables;
    private int largeLevels;
    private TableFlush flush = TableFlush.NONE;

    SecondStageMap(SecondStageTree tree) {
        this.tree = tree;
        this.tables = tree.tables();
    }

    void setLargeLevels(int count) {
        largeLevels = count;
    }

    void setFlush(TableFlush newFlush) {
        flush = newFlush;
    }

    int map(long firstPfn, long firstPhysPfn, long pageCount, int prot) {
        return pageCount == 1
                ? mapPage(firstPfn, firstPhysPfn, prot)
                : mapRuns(firstPfn, firstPhysPfn, pageCount, prot);
    }

    /** One page has one level and one entry. */
    private int mapPage(long pfn, long physPfn, int prot) {
        long table = tree.tableFor(pfn, 1);
        if (table < 0) {
            return (int) Math.min(0, tableMissing(table, pfn, 1));
        }
        writeLeaf(VtdPteLayout.slot(table, pfn, 1), pfn, physPfn << 12 | VtdPteLayout.leafBits(prot, 1));
        return 0;
    }

    private int mapRuns(long firstPfn, long firstPhysPfn, long pageCount, int prot) {
        long pfn = firstPfn;
        long physPfn = firstPhysPfn;
        long left = pageCount;
        while (left > 0) {
            int level = largePageLevel(pfn, physPfn, left, largeLevels);
            long done = mapRun(pfn, physPfn, left, level, prot);
            if (done < 0) {
                return (int) done;
            }
            pfn += done;
            physPfn += done;
            left -= done;
        }
        return 0;
    }

    /** The level of the largest page that fits here (iommu:VTD-15). */
    static int largePageLevel(long pfn, long physPfn, long pageCount, int largeLevels) {
        int level = 1;
        long merged = pfn | physPfn;
        long left = pageCount >>> 9;
        for (int s = largeLevels; s > 0 && (merged & 0x1ff) == 0 && left != 0; s--) {
            level++;
            merged >>>= 9;
            left >>>= 9;
        }
        return level;
    }

    /** Writes one run and answers its pages, or a negated errno. */
    private long mapRun(long pfn, long physPfn, long pageCount, int level, int prot) {
        long table = tree.tableFor(pfn, level);
        if (table < 0) {
            return tableMissing(table, pfn, pageCount);
        }
        int index = VtdPteLayout.index(pfn, level);
        int shift = VtdPteLayout.levelShift(level);
        int count = (int) Math.min(pageCount >>> shift, VtdPteLayout.ENTRIES - index);
        if (level > 1) {
            makeRoom(table + 8L * index, pfn, count, level);
        }
        writeLeaves(table + 8L * index, pfn, physPfn << 12 | VtdPteLayout.leafBits(prot, level), count, level);
        return (long) count << shift;
    }

    /** How many pages are done when there is no table for them: -ENOMEM, or all those below the leaf in the way. */
    private long tableMissing(long table, long pfn, long pageCount) {
        return table == -Errno.ENOMEM ? table : skipLeaf(pfn, pageCount, (int) table & 7);
    }

    private long skipLeaf(long pfn, long pageCount, int leafLevel) {
        tree.reportLeafInTheWay("a mapping", pfn, leafLevel);
        long span = VtdPteLayout.pagesAt(leafLevel);
        return Math.min(pageCount, span - (pfn & (span - 1)));
    }

    private void writeLeaves(long firstSlot, long firstPfn, long firstEntry, int count, int level) {
        long step = VtdPteLayout.bytesAt(level);
        long entry = firstEntry;
        for (int i = 0; i < count; i++) {
            writeLeaf(firstSlot + 8L * i, firstPfn + i * VtdPteLayout.pagesAt(level), entry);
            entry += step;
        }
    }

    private void writeLeaf(long slot, long pfn, long entry) {
        long found = tables.entry(slot);
        if (found == 0) {
            tables.entryRelease(slot, entry);
        } else {
            tree.reportAlreadySet(pfn, found, entry);
        }
    }

    /**
     * Empties the slots of large pages; each one that held something is invalidated to the end of the run
     * (iommu:VTD-18).
     */
    private void makeRoom(long firstSlot, long firstPfn, int count, int level) {
        long pages = VtdPteLayout.pagesAt(level);
        long lastPfn = firstPfn + count * pages - 1;
        for (int i = 0; i < count; i++) {
            long slot = firstSlot + 8L * i;
            long found = tables.entry(slot);
            if (VtdPteLayout.isPresent(found)) {
                tables.entryRelease(slot, 0);
                if (!VtdPteLayout.isLarge(found)) {
                    tree.freeTree(VtdPteLayout.address(found), level - 1);
                }
                flush.flush((firstPfn + i * pages) << 12, lastPfn << 12);
            }
        }
    }
}
