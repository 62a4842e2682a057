package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.pgtable.TablePool;
import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.backends.iommu.pgtable.VtdSecondStage;
import io.pagewalk.dma.memory.Addresses;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/** Walks the trees of all domains: no table is linked twice, and the counts agree. For one thread. */
final class TableTreeCheck {
    private final TablePool pool;
    private final TableMemory tables;
    private final Consumer<String> violation;
    private final Set<Long> seen = new HashSet<>();

    TableTreeCheck(TablePool pool, Consumer<String> violation) {
        this.pool = pool;
        this.tables = pool.tables();
        this.violation = violation;
    }

    void check(VtdSecondStage table) {
        long before = seen.size();
        visit(table.rootPhysAddr(), table.levels());
        long linked = seen.size() - before;
        if (linked != table.tablePages()) {
            violation.accept("the domain with root " + Addresses.hex(table.rootPhysAddr()) + " links " + linked
                    + " table pages but counts " + table.tablePages());
        }
    }

    private void visit(long page, int level) {
        if (!seen.add(page)) {
            violation.accept("table page " + Addresses.hex(page) + " is linked more than once");
            return;
        }
        if (!tables.isReachable(page)) {
            violation.accept("table page " + Addresses.hex(page) + " is not RAM");
            return;
        }
        for (int i = 0; level > 1 && i < VtdPteLayout.ENTRIES; i++) {
            long entry = tables.entry(page + 8L * i);
            if (VtdPteLayout.isPresent(entry) && !VtdPteLayout.isLarge(entry)) {
                visit(VtdPteLayout.address(entry), level - 1);
            }
        }
    }

    void finish() {
        long expected = seen.size() + pool.unlinked();
        if (pool.inUse() != expected) {
            violation.accept(pool.inUse() + " table pages are in use, but " + seen.size() + " are linked and "
                    + pool.unlinked() + " on their way back");
        }
    }
}
