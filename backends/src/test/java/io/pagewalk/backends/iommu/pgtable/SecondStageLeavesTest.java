package io.pagewalk.backends.iommu.pgtable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What tables show of themselves, and the pages that they are made of (iommu:VTD-10 to VTD-25). */
class SecondStageLeavesTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1L << 30;
    private static final int READ_WRITE = IommuProt.READ | IommuProt.WRITE;

    private final Machine machine = Machine.builder()
            .ram(RamMap.of(PhysRange.ofSize(0, 16 * MIB)))
            .chunkBytes(1 << 16)
            .backend("virt")
            .build();

    private TablePool pool(long bytes) {
        return TablePool.create(machine, BackendOptions.NONE.with("iommu.tablePoolBytes", bytes));
    }

    private VtdSecondStage table(TablePool pool) {
        VtdSecondStage table = new VtdSecondStage(pool, machine.log(), pool.alloc());
        assertThat(table.narrow(3, 39, 2)).isZero();
        return table;
    }

    private static List<String> leaves(VtdSecondStage table, long firstIova, long lastIova) {
        List<String> seen = new ArrayList<>();
        table.forEachLeaf(
                firstIova,
                lastIova,
                (iova, physAddr, sizeBytes, perm) ->
                        seen.add(String.format("%x->%x+%x %d", iova, physAddr, sizeBytes, perm)));
        return seen;
    }

    @Test
    @DisplayName("iommu:VTD-11, VTD-13: leaves of every size are shown in order, with what they permit")
    void leavesAreShownInOrder() {
        for (long poolBytes : new long[] {MIB, 0}) {
            VtdSecondStage table = table(pool(poolBytes));
            table.mapPages(0x1000, 0x5000, 0x1000, 1, READ_WRITE);
            table.mapPages(0x1f_f000, 0x9000, 0x1000, 1, IommuProt.READ);
            table.mapPages(4 * MIB, 8 * MIB, 2 * MIB, 1, IommuProt.READ);
            table.mapPages(2 * GIB, 3 * GIB, GIB, 1, READ_WRITE);
            table.mapPages((1L << 39) - 0x1000, 0x7000, 0x1000, 1, READ_WRITE);
            assertThat(leaves(table, 0, -1L))
                    .containsExactly(
                            "1000->5000+1000 3",
                            "1ff000->9000+1000 1",
                            "400000->800000+200000 1",
                            "80000000->c0000000+40000000 3",
                            "7ffffff000->7000+1000 3");
            assertThat(leaves(table, 0x1000, 0x1000)).containsExactly("1000->5000+1000 3");
            assertThat(leaves(table, 0x2000, 0x1f_efff)).isEmpty();
            assertThat(leaves(table, 0x1fff, 0x1f_f000)).hasSize(2);
            assertThat(leaves(table, 5 * MIB, 5 * MIB)).containsExactly("400000->800000+200000 1");
            assertThat(leaves(table, 6 * MIB, 3 * GIB - 1)).containsExactly("80000000->c0000000+40000000 3");
            assertThat(leaves(table, 3 * GIB, 511 * GIB)).isEmpty();
            table.unmapPages(0x1000, 0x1000, new TablePageList());
            assertThat(leaves(table, 0, 0x1f_ffff)).containsExactly("1ff000->9000+1000 1");
        }
    }

    @Test
    @DisplayName("iommu:VTD-23, VTD-25: a part of a table is cleared in place, and only its pages")
    void partOfATableIsClearedInPlace() {
        VtdSecondStage table = table(pool(MIB));
        table.mapPages(0, 0x1000, 0x1000, 1, READ_WRITE);
        table.mapPages(0x1000, 0x2000, 0x1000, 0x3ff, READ_WRITE);
        assertThat(table.tablePages()).isEqualTo(4);
        TablePageList freed = new TablePageList();
        assertThat(table.unmapPages(0x3000, 0x1000, freed)).isEqualTo(0x1000);
        assertThat(table.unmapPages(0x5000, 0x2000, freed)).isEqualTo(0x2000);
        assertThat(table.unmapPages(0x1f_e000, 0x2000, freed)).isEqualTo(0x2000);
        assertThat(freed.isEmpty()).isTrue();
        for (long iova = 0; iova < 4 * MIB; iova += 0x1000) {
            boolean gone = iova == 0x3000 || iova == 0x5000 || iova == 0x6000 || iova == 0x1f_e000 || iova == 0x1f_f000;
            assertThat(leaves(table, iova, iova).isEmpty()).as("%x", iova).isEqualTo(gone);
        }
        assertThat(table.unmapPages(0x20_0000, 2 * MIB, freed)).isEqualTo(2 * MIB);
        assertThat(freed.size()).as("a whole table").isEqualTo(1);
        assertThat(table.tablePages()).isEqualTo(3);
        assertThat(leaves(table, 2 * MIB, -1L)).isEmpty();
    }

    @Test
    @DisplayName("iommu:VTD-23: a range across two tables, and one beyond the width, end where they end")
    void rangesEndWhereTheyEnd() {
        VtdSecondStage table = table(pool(MIB));
        table.mapPages(0x1f_e000, 0x1f_e000, 0x1000, 4, READ_WRITE);
        TablePageList freed = new TablePageList();
        assertThat(table.unmapPages(0x1f_f000, 0x2000, freed)).isEqualTo(0x2000);
        assertThat(leaves(table, 0, -1L)).containsExactly("1fe000->1fe000+1000 3", "201000->201000+1000 3");
        assertThat(freed.isEmpty()).isTrue();
        long last = (1L << 39) - 0x1000;
        table.mapPages(last, 0x7000, 0x1000, 1, READ_WRITE);
        assertThat(table.unmapPages(last, 0x3000, freed)).isEqualTo(0x3000);
        assertThat(leaves(table, 0, -1L)).hasSize(2);
    }

    @Test
    @DisplayName("iommu:VTD-16: a run of large pages lies where its numbers say, and what is there already is named")
    void runOfLargePagesNamesWhatIsThere() {
        VtdSecondStage table = table(pool(MIB));
        table.mapPages(0x5000, 0x5000, 0x1000, 1, READ_WRITE);
        table.mapPages(0x4000, 0x8000, 0x1000, 3, READ_WRITE);
        assertThat(machine.log().entries())
                .singleElement()
                .extracting(entry -> entry.text())
                .isEqualTo("ERROR: DMA PTE for vPFN 0x5 already set (to 5003 not 9003)");
        assertThat(leaves(table, 0, -1L)).hasSize(3);
    }

    @Test
    @DisplayName("iommu:VTD-27: tables that go away give back every page, and their numbers follow")
    void destroyedTablesGiveEverythingBack() {
        TablePool pool = pool(MIB);
        VtdSecondStage table = table(pool);
        table.mapPages(0, 0x1000, 0x1000, 0x600, READ_WRITE);
        assertThat(pool.inUse()).isEqualTo(table.tablePages()).isEqualTo(5);
        table.destroy();
        assertThat(pool.inUse()).isZero();
        assertThat(pool.peak()).isEqualTo(5);
    }

    @Test
    void pagesOfOneListGoToTheEndOfAnother() {
        TablePageList list = new TablePageList();
        list.add(0x1000);
        TablePageList other = new TablePageList();
        for (int i = 2; i < 12; i++) {
            other.add(i * 0x1000L);
        }
        list.takeAll(other);
        assertThat(other.isEmpty()).isTrue();
        assertThat(list.size()).isEqualTo(11);
        for (int i = 0; i < 11; i++) {
            assertThat(list.get(i)).isEqualTo((i + 1) * 0x1000L);
        }
    }

    @Test
    void wordsInsideAndOutsideTheWindowAreTheSameMemory() {
        long base = 0x10_0000;
        TableMemory tables = new TableMemory(machine.memory(), machine.memory().contiguousRegion(base, 1 << 16), base);
        for (long physAddr : new long[] {base, base + 0xfff8, base + 0x1_0000, base - 8, 0x20_0000}) {
            tables.entryRelease(physAddr, 5);
            assertThat(machine.memory().getLong(physAddr)).isEqualTo(5);
            assertThat(tables.compareAndExchangeEntry(physAddr, 6, 7))
                    .as("as found")
                    .isEqualTo(5);
            assertThat(tables.entry(physAddr)).isEqualTo(5);
            assertThat(tables.compareAndExchangeEntry(physAddr, 5, 7)).isEqualTo(5);
            assertThat(tables.entry(physAddr)).isEqualTo(7);
            assertThat(tables.isReachable(physAddr)).isTrue();
        }
        assertThat(tables.isReachable(16 * MIB)).isFalse();
        assertThat(tables.isReachable(16 * MIB - 8)).isTrue();
    }

    @Test
    void regionIsAnEighthOfSmallMemoriesAndCanBePutSomewhere() {
        long before = machine.pages().freeBytes();
        TablePool.create(machine, BackendOptions.NONE);
        assertThat(machine.pages().freeBytes()).isEqualTo(before - 2 * MIB);
        BackendOptions fixed = BackendOptions.NONE.with("iommu.tablePoolBytes", MIB);
        TablePool pool = TablePool.create(machine, fixed.with("iommu.tablePoolBase", 12 * MIB));
        assertThat(pool.alloc()).isEqualTo(12 * MIB);
        assertThat(machine.pages().hasFreePagesWithin(12 * MIB, MIB)).isFalse();
        assertThatThrownBy(() -> TablePool.create(machine, fixed.with("iommu.tablePoolBase", 32 * MIB)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x2000000+0x100000");
    }
}
