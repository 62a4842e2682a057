package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.fake.World;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Allocation and freeing of lists: dma-core:SG-10 to SG-14. */
class ScatterlistsTest {
    private final Machine machine = World.make().machine;
    private final Scatterlists lists = machine.scatterlists();
    private final SgTable table = new SgTable(1);

    private static List<Integer> sizes(List<SgChunk> chunks) {
        return chunks.stream().map(SgChunk::entries).toList();
    }

    private static Scatterlists without(KernelConfig config) {
        return machine(config).scatterlists();
    }

    private static Machine machine(KernelConfig config) {
        return World.make(World.builder().kernelConfig(config)).machine;
    }

    @ParameterizedTest
    @CsvSource({
        "1,1",
        "127,127",
        "128,128",
        "129,128 2",
        "200,128 73",
        "254,128 127",
        "255,128 128",
        "256,128 128 2",
        "300,128 128 46"
    })
    void aTableIsMadeOfChunksWhoseLastEntryChains(int nents, String expected) { // SG-10, SG-1
        assertThat(lists.allocTable(table, nents)).isZero();

        assertThat(sizes(table.chunks()))
                .isEqualTo(List.of(expected.split(" ")).stream()
                        .map(Integer::valueOf)
                        .toList());
        assertThat(table.entries()).isEqualTo(nents);
        assertThat(table.nents()).isEqualTo(nents);
        assertThat(table.origNents()).isEqualTo(nents);
        assertThat(SgWalk.nents(table)).isEqualTo(nents);
        assertThat(lists.liveChunks()).isEqualTo(table.chunks());
        lists.freeTable(table);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void allEntriesOfANewTableAreZero() { // SG-5, SG-10
        table.add(0x5000, 0x123, 0x456).setDma(0, 0x789, 0xabc);
        table.setBusAddress(0, true);
        table.markBounced(true);
        table.markEnd(0);
        lists.allocTable(table, 200);

        assertThat(table.isBounced()).isFalse();
        for (int i = 0; i < 200; i++) {
            assertThat(table.physAddr(i) | table.lengthBytes(i) | table.dmaAddr(i) | table.dmaLengthBytes(i))
                    .isZero();
            assertThat(table.isBusAddress(i)).isFalse();
            assertThat(table.isEnd(i)).isEqualTo(i == 199);
        }
    }

    @Test
    void entriesAreWalkedOverTheEndsOfChunks() { // SG-4
        lists.allocTable(table, 256);
        for (int i = 0; i < 256; i++) {
            table.setPage(i, i * 0x2000L, i, i + 1);
        }

        int entry = 0;
        for (int i = 0; i < 255; i++) {
            assertThat(table.physAddr(entry)).isEqualTo(i * 0x2000L + i);
            assertThat(table.lengthBytes(entry)).isEqualTo(i + 1);
            entry = table.next(entry);
        }
        assertThat(table.lengthBytes(entry)).isEqualTo(256);
        assertThat(table.next(entry)).isEqualTo(-1);
    }

    @Test
    void noEntriesAreInvalidAndZeroTheTable() { // SG-10
        table.add(0x5000, 1).mapped(1);

        assertThat(lists.allocTable(table, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(table).hasToString("SgTable[origNents=0, nents=0]");
        assertThat(table.entries()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"200,2,128", "300,2,128", "300,3,255", "129,2,128"})
    void whenALaterChunkFailsTheCountsStayOneAboveWhatWasAllocated(int nents, int nth, int left) { // SG-11
        machine.failures().failNth("sg.chunk", nth);

        assertThat(lists.allocTable(table, nents)).isEqualTo(-Errno.ENOMEM);
        assertThat(table.nents()).isEqualTo(left);
        assertThat(table.origNents()).isEqualTo(left);
        assertThat(table.entries()).isZero();
        assertThat(table.chunks()).isEmpty();
        assertThat(lists.liveChunks()).isEmpty();
        assertThat(machine.failures().failedAt()).isEqualTo("sg.chunk");
    }

    @Test
    void whenTheFirstChunkFailsNothingIsCounted() { // SG-11
        machine.failures().failNth(1);

        assertThat(lists.allocTable(table, 200)).isEqualTo(-Errno.ENOMEM);
        assertThat(table).hasToString("SgTable[origNents=0, nents=0]");
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void freeingKeepsTheCountsAndHappensOnce() { // SG-12
        lists.allocTable(table, 3);
        table.mapped(2);
        lists.freeTable(table);
        lists.freeTable(table);

        assertThat(table.origNents()).isEqualTo(3);
        assertThat(table.nents()).isEqualTo(2);
        assertThat(table.entries()).isZero();
        assertThat(table.chunks()).isEmpty();
        assertThat(SgWalk.nents(table)).isZero();
        assertThat(table).hasToString("SgTable[origNents=3, nents=2]");
    }

    @Test
    void aFreedTableIsClearedBeforeEntriesAreAdded() { // SG-12
        lists.allocTable(table, 3);
        lists.freeTable(table);

        assertThatThrownBy(() -> table.add(0x1000, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a table that counts 3 entries and has 0 must be cleared first");
        table.clear();
        assertThat(table.add(0x1000, 1)).hasToString("SgTable[origNents=1, nents=0, 0x1000+0x1]");
    }

    @Test
    void anAllocatedListIsNeitherAddedToNorClearedNorShaped() {
        lists.allocTable(table, 3);

        assertThatThrownBy(() -> table.add(0x1000, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("an allocated list is freed, not added to (dma-core:SG-12)");
        assertThatThrownBy(table::clear)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("an allocated list is freed, not cleared (dma-core:SG-12)");
        assertThatThrownBy(() -> table.init(1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> table.initOne(0x1000, 1)).isInstanceOf(IllegalStateException.class);
        assertThat(table.entries()).isEqualTo(3);
        assertThat(table.origNents()).isEqualTo(3);
    }

    @Test
    void allocatingOverAListLeaksIt() { // SG-10: the table is zeroed, whatever it holds
        lists.allocTable(table, 200);
        List<SgChunk> lost = table.chunks();
        lists.allocTable(table, 5);

        assertThat(lists.liveChunks()).hasSize(3).startsWith(lost.get(0), lost.get(1));
        lists.freeTable(table);
        assertThat(lists.liveChunks()).isEqualTo(lost);
        assertThat(lost).hasToString("[chunk 0 of 128 entries, chunk 1 of 73 entries]");
        assertThat(lost.get(1).id()).isEqualTo(1);
    }

    @Test
    void onlyAnAllocatedListOfThisMachineIsFreed() {
        SgTable own = new SgTable(1).add(0x1000, 1);
        assertThatThrownBy(() -> lists.freeTable(own))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a list of the driver's own is not freed (dma-core:SG-12)");
        assertThatThrownBy(() -> lists.freeSplit(own)).isInstanceOf(IllegalArgumentException.class);

        Scatterlists others = World.make().machine.scatterlists();
        others.allocTable(table, 1);
        assertThatThrownBy(() -> lists.freeTable(table))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("chunk 0 of 1 entries is no live one of this machine");
        assertThatThrownBy(() -> lists.freeSplit(table)).isInstanceOf(IllegalArgumentException.class);
        assertThat(others.liveChunks()).isEqualTo(table.chunks()).hasSize(1);
    }

    @Test
    void withoutChainsMoreThanAChunkWarnsOnce() { // SG-14
        Machine unchained = machine(KernelConfig.distribution().withSgChain(false));
        Scatterlists single = unchained.scatterlists();

        assertThat(single.allocTable(table, 129)).isEqualTo(-Errno.EINVAL);
        assertThat(single.allocTable(table, 1000)).isEqualTo(-Errno.EINVAL);
        assertThat(table).hasToString("SgTable[origNents=0, nents=0]");
        assertThat(unchained.log().warnCount()).isEqualTo(1);
        assertThat(unchained.log().count("sg_alloc_table")).isEqualTo(2);
        assertThat(unchained.log().entries().get(0).text())
                .isEqualTo("129 entries need more than one chunk, and chunks do not chain (dma-core:SG-14)");
        assertThat(single.allocTable(table, 128)).isZero();
    }

    @Test
    void withoutDmaFlagsNoFlagIsEverSeen() { // SG-2
        Scatterlists flagless = without(KernelConfig.distribution().withSgDmaFlags(false));
        flagless.allocTable(table, 2);
        table.setBusAddress(1, true);
        table.markBounced(true);
        table.markEnd(0);

        assertThat(table.isBusAddress(1)).isFalse();
        assertThat(table.isBounced()).isFalse();
        assertThat(table.isEnd(0)).isTrue();

        SgTable made = new SgTable(1);
        flagless.allocTableFromPages(made, new long[] {5}, 1, 0, 0x1000);
        made.setBusAddress(0, true);
        assertThat(made.isBusAddress(0)).isFalse();
        assertThat(KernelConfig.distribution().sgDmaFlags()).isTrue();
    }

    @Test
    void freeingByACountThatRunsOverAChunkIsABug() { // SG-13
        SgAppendTable append = new SgAppendTable();
        lists.allocAppendTableFromPages(append, new long[] {10}, 1, 0, 0x1000, 0x1000, 1);
        long[] apart = new long[200];
        for (int i = 0; i < apart.length; i++) {
            apart[i] = 100 + 2L * i;
        }
        lists.allocAppendTableFromPages(append, apart, 200, 0, 200 * 0x1000, 0x1000, 0);
        assertThat(sizes(append.table().chunks())).containsExactly(2, 128, 73);
        assertThat(append.totalNents()).isEqualTo(201);

        assertThatThrownBy(() -> lists.freeAppendTable(append))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("freeing 201 entries follows entry 127 of chunk 0 of 2 entries, which is no CHAIN"
                        + " (dma-core:SG-13)");
        assertThat(lists.liveChunks()).hasSize(3);
    }

    @Test
    void freeingByOrigNentsWhatWasAppendedLeaksWhatIsBehind() { // SG-13
        SgAppendTable append = new SgAppendTable();
        long[] apart = new long[130];
        for (int i = 0; i < apart.length; i++) {
            apart[i] = 100 + 2L * i;
        }
        lists.allocAppendTableFromPages(append, apart, 100, 0, 100 * 0x1000, 0x1000, 50);
        lists.freeTable(append.table());
        assertThat(lists.liveChunks()).isEmpty();

        SgAppendTable longer = new SgAppendTable();
        lists.allocAppendTableFromPages(longer, apart, 130, 0, 130 * 0x1000, 0x1000, 200);
        assertThat(sizes(longer.table().chunks())).containsExactly(128, 128);
        SgChunk lost = longer.table().chunks().get(1);
        longer.table().count(128);
        lists.freeTable(longer.table());
        assertThat(lists.liveChunks()).containsExactly(lost);
    }

    @Test
    void freeingByMoreThanThereIsIsABug() { // SG-13
        lists.allocTable(table, 128);
        table.count(200);

        assertThatThrownBy(() -> lists.freeTable(table))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("freeing 200 entries follows entry 127 of chunk 0 of 128 entries, which is no CHAIN"
                        + " (dma-core:SG-13)");
        assertThat(lists.liveChunks()).hasSize(1);
    }

    @Test
    void entriesOfAReusedTableAreZero() { // SG-5, SG-10
        lists.allocTable(table, 3);
        for (int i = 0; i < 3; i++) {
            table.setPage(i, 0x5000, 0x123, 0x456);
            table.setDma(i, 0x789, 0xabc);
            table.setBusAddress(i, true);
        }
        lists.freeTable(table);
        lists.allocTable(table, 3);

        for (int i = 0; i < 3; i++) {
            assertThat(table.pageAddr(i) | table.offset(i) | table.lengthBytes(i))
                    .isZero();
            assertThat(table.dmaAddr(i) | table.dmaLengthBytes(i)).isZero();
            assertThat(table.isBusAddress(i)).isFalse();
        }
    }

    @Test
    void negativeCountsAreRefusedAndChangeNothing() {
        table.add(0x5000, 1);
        assertThatThrownBy(() -> lists.allocTable(table, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a table of -1 entries");
        assertThat(table.origNents()).isEqualTo(1);
        assertThat(lists.liveChunks()).isEmpty();
    }
}
