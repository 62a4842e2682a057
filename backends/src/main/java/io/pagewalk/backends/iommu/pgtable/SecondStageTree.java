package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The tree of tables of one domain: its root and depth, ways down, and the coming and going of table pages.
 *
 * <p>Thread-safe but for {@link #narrow}: two threads that miss the same table both bring one, and one of them wins.
 */
final class SecondStageTree {
    /** Flags the result of {@link #tableFor} when a large leaf is in the way; its level stands in the low bits. */
    static final long LEAF_IN_THE_WAY = Long.MIN_VALUE;

    private final TablePool pool;
    private final TableMemory tables;
    private final KernelLog log;
    private final AtomicLong linkedPages = new AtomicLong(1);
    private long rootPhysAddr;
    private int levels;

    SecondStageTree(TablePool pool, KernelLog log, long rootPhysAddr, int levels) {
        this.pool = pool;
        this.tables = pool.tables();
        this.log = log;
        this.rootPhysAddr = rootPhysAddr;
        this.levels = levels;
    }

    long rootPhysAddr() {
        return rootPhysAddr;
    }

    int levels() {
        return levels;
    }

    long linkedPages() {
        return linkedPages.get();
    }

    TableMemory tables() {
        return tables;
    }

    TablePool pool() {
        return pool;
    }

    // ---- going down

    /**
     * The table of a level that has a page's entry, missing tables being linked on the way.
     *
     * @return its physical address, -ENOMEM, or {@link #LEAF_IN_THE_WAY} with the level of a large leaf
     */
    long tableFor(long pfn, int level) {
        long table = rootPhysAddr;
        for (int above = levels; above > level; above--) {
            long slot = VtdPteLayout.slot(table, pfn, above);
            long entry = tables.entry(slot);
            if (!VtdPteLayout.isPresent(entry)) {
                entry = link(slot, entry);
                if (entry == 0) {
                    return -Errno.ENOMEM;
                }
            }
            if (VtdPteLayout.isLarge(entry)) {
                return LEAF_IN_THE_WAY | above;
            }
            table = VtdPteLayout.address(entry);
        }
        return table;
    }

    /** Puts a new table behind an empty entry, unless another thread does so first; 0 when there is no page. */
    private long link(long slot, long empty) {
        long table = pool.alloc();
        if (table == TablePool.NO_PAGE) {
            return 0;
        }
        long entry = VtdPteLayout.tableEntry(table);
        long found = tables.compareAndExchangeEntry(slot, empty, entry);
        if (found != empty) {
            pool.free(table);
            return found;
        }
        linkedPages.getAndIncrement();
        return entry;
    }

    /** Shows the leaves below a table that map pages of a range. */
    void forEachLeaf(long table, int level, long firstPfn, long lastPfn, LeafVisitor visitor) {
        long pages = VtdPteLayout.pagesAt(level);
        for (long pfn = firstPfn & -pages; pfn <= lastPfn; pfn += pages) {
            long entry = tables.entry(VtdPteLayout.slot(table, pfn, level));
            if (level == 1 || VtdPteLayout.isLarge(entry)) {
                showLeaf(pfn, entry, level, visitor);
            } else if (VtdPteLayout.isPresent(entry)) {
                long last = Math.min(lastPfn, pfn + pages - 1);
                forEachLeaf(VtdPteLayout.address(entry), level - 1, Math.max(firstPfn, pfn), last, visitor);
            }
        }
    }

    private static void showLeaf(long pfn, long entry, int level, LeafVisitor visitor) {
        if (VtdPteLayout.isPresent(entry)) {
            visitor.leaf(pfn << Addresses.PAGE_SHIFT, VtdPteLayout.address(entry), VtdPteLayout.bytesAt(level), (int)
                    (entry & VtdPteLayout.PERMISSIONS));
        }
    }

    // ---- letting go

    /** Lists a table and all below it, parents first, in the order of their entries (iommu:VTD-25). */
    void unlinkInto(TablePageList freed, long table, int level) {
        int before = freed.size();
        collect(freed, table, level);
        int count = freed.size() - before;
        linkedPages.getAndAdd(-count);
        pool.noteUnlinked(count);
    }

    private void collect(TablePageList freed, long table, int level) {
        freed.add(table);
        for (int i = 0; level > 1 && i < VtdPteLayout.ENTRIES; i++) {
            long entry = tables.entry(table + 8L * i);
            if (pointsToTable(entry)) {
                collect(freed, VtdPteLayout.address(entry), level - 1);
            }
        }
    }

    /** Gives a table and all below it straight back to the pool, children first (iommu:QK-17). */
    void freeTree(long table, int level) {
        for (int i = 0; level > 1 && i < VtdPteLayout.ENTRIES; i++) {
            long entry = tables.entry(table + 8L * i);
            if (pointsToTable(entry)) {
                freeTree(VtdPteLayout.address(entry), level - 1);
            }
        }
        freePage(table);
    }

    private void freePage(long table) {
        pool.free(table);
        linkedPages.getAndDecrement();
    }

    private static boolean pointsToTable(long entry) {
        return VtdPteLayout.isPresent(entry) && !VtdPteLayout.isLarge(entry);
    }

    /**
     * Takes top levels away by following entry 0; an empty entry 0 leaves the root where it is, one level lower
     * (iommu:VTD-4). What the other entries of such a root lead to maps nothing and is given back.
     */
    void narrow(int fewerLevels) {
        while (levels > fewerLevels) {
            long below = tables.entry(rootPhysAddr);
            dropAllButFirst();
            if (pointsToTable(below)) {
                freePage(rootPhysAddr);
                rootPhysAddr = VtdPteLayout.address(below);
            }
            levels--;
        }
    }

    private void dropAllButFirst() {
        for (int i = 1; i < VtdPteLayout.ENTRIES; i++) {
            long slot = rootPhysAddr + 8L * i;
            long entry = tables.entry(slot);
            if (entry != 0) {
                tables.entryRelease(slot, 0);
                freeTree(VtdPteLayout.address(entry), levels - 1);
            }
        }
    }

    // ---- what a driver does wrong

    /** A walk met a large leaf where it needed a table: Linux goes on into the mapped memory (iommu:VTD-19, VTD-23). */
    void reportLeafInTheWay(String what, long pfn, int level) {
        log.hazard(
                VtdSecondStage.SUPERPAGE_WALK,
                what + " at IOVA " + Addresses.hex(pfn << Addresses.PAGE_SHIFT) + " walks through the "
                        + (level == 2 ? "2 MiB" : "1 GiB") + " leaf above it as though it were a table");
    }

    /** A leaf would be written over another one (iommu:VTD-17). */
    void reportAlreadySet(long pfn, long found, long refused) {
        log.warn(
                "vtd.pte-already-set",
                "ERROR: DMA PTE for vPFN " + Addresses.hex(pfn) + " already set (to " + Long.toHexString(found)
                        + " not " + Long.toHexString(refused) + ")");
    }

    void reportTooWide(int width, long end) {
        log.message(
                "vtd.width",
                "intel_iommu_map: iommu width (" + width + ") is not sufficient for the mapped address ("
                        + Long.toHexString(end) + ")");
    }
}
