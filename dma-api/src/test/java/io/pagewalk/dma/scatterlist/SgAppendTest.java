package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lists made of pages: dma-core:SGA-1 to SGA-13 with examples EX-1 to EX-7. */
class SgAppendTest {
    private static final long PAGE = 0x1000;
    private static final long NO_LIMIT = 0xffff_ffffL;

    private final Machine machine = World.make().machine;
    private final Scatterlists lists = machine.scatterlists();
    private final SgTable table = new SgTable(1);
    private final SgAppendTable append = new SgAppendTable();

    /** Entries as {@code pfn+offset:length}, all hexadecimal, END as a trailing dollar sign. */
    private static String text(SgTable sg) {
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < sg.origNents(); i++) {
            entries.add(String.format(
                    "%x+%x:%x%s", sg.pageAddr(i) >>> 12, sg.offset(i), sg.lengthBytes(i), sg.isEnd(i) ? "$" : ""));
        }
        return String.join(" ", entries);
    }

    private static List<Integer> chunkSizes(SgTable sg) {
        return sg.chunks().stream().map(SgChunk::entries).toList();
    }

    private int appendBytes(int left, long sizeBytes, long... pfns) {
        return lists.allocAppendTableFromPages(append, pfns, pfns.length, 0, sizeBytes, NO_LIMIT, left);
    }

    private int append(int left, long... pfns) {
        return appendBytes(left, pfns.length * PAGE, pfns);
    }

    private static long[] apart(int count) {
        long[] pfns = new long[count];
        for (int i = 0; i < count; i++) {
            pfns[i] = 0x100 + 2L * i;
        }
        return pfns;
    }

    private int segment(long maxSegmentBytes) {
        long[] pfns = {0x100, 0x101, 0x102, 0x200, 0x201, 0x300};
        return lists.allocTableFromPagesSegment(table, pfns, pfns.length, 0x123, 0x5e98, maxSegmentBytes);
    }

    @Test
    void pagesThatFollowEachOtherMerge() { // EX-1, SGA-6, SGA-7
        assertThat(segment(NO_LIMIT)).isZero();

        assertThat(text(table)).isEqualTo("100+123:2edd 200+0:2000 300+0:fbb$");
        assertThat(table.nents()).isEqualTo(3);
        assertThat(chunkSizes(table)).containsExactly(3);
        assertThat(lists.allocTableFromPages(table, new long[] {7, 8}, 2, 0x10, 0x1800))
                .isZero();
        assertThat(text(table)).isEqualTo("7+10:1800$");
    }

    @ParameterizedTest
    @CsvSource({"0x2fff", "0x2000"})
    void theLimitIsRoundedDownAndCountsPagesAlone(String limit) { // EX-2, SGA-1, SGA-6
        assertThat(segment(Long.decode(limit))).isZero();

        assertThat(text(table)).isEqualTo("100+123:1edd 102+0:1000 200+0:2000 300+0:fbb$");
    }

    @Test
    void aLimitBelowAPageWarnsAndLeavesTheTableUnwritten() { // EX-3, SGA-1, SGA-12
        table.add(0x9000, 0x20).mapped(1);

        assertThat(segment(0xfff)).isEqualTo(-Errno.EINVAL);
        assertThat(table).hasToString("SgTable[origNents=1, nents=1, 0x9000+0x20]");
        assertThat(segment(0)).isEqualTo(-Errno.EINVAL);
        assertThat(machine.log().warnCount()).isEqualTo(2);
        assertThat(machine.log().entries().get(0).text())
                .isEqualTo("a segment limit below a page holds no page (dma-core:SGA-1)");
        assertThat(lists.allocAppendTableFromPages(append, new long[] {1}, 1, 0, 1, 0xfff, 0))
                .isEqualTo(-Errno.EINVAL);
        assertThat(append.prv()).isEqualTo(-1);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void appendsMergeIntoTheLastEntryWholePagesEach() { // EX-4, SGA-3, SGA-5, SGA-8, SGA-9
        assertThat(append(4, 0x10, 0x11, 0x20)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:2000 20+0:1000");
        assertThat(append.totalNents()).isEqualTo(6);
        assertThat(append.prv()).isEqualTo(1);
        assertThat(SgWalk.nents(append.table())).isEqualTo(6);

        assertThat(append(1, 0x21, 0x22, 0x30)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:2000 20+0:3000 30+0:1000");

        assertThat(appendBytes(0, 0x800, 0x31)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:2000 20+0:3000 30+0:2000$");
        assertThat(append.table().nents()).isEqualTo(3);
        assertThat(append.totalNents()).isEqualTo(6);
        assertThat(append.table().entries()).isEqualTo(6);
        assertThat(chunkSizes(append.table())).containsExactly(6);
        assertThat(SgWalk.nents(append.table())).isEqualTo(3);

        lists.freeAppendTable(append);
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).isEmpty();
        assertThat(append.totalNents()).isEqualTo(6);
        assertThat(append.table().origNents()).isEqualTo(3);
    }

    @Test
    void aShortChunkThatChainsLeaksWhatIsBehindIt() { // EX-5, SGA-11, QRK-39
        assertThat(append(1, 0x10)).isZero();
        assertThat(append.totalNents()).isEqualTo(2);
        assertThat(append(0, 0x20, 0x30, 0x40)).isZero();

        assertThat(chunkSizes(append.table())).containsExactly(2, 3);
        assertThat(append.totalNents()).isEqualTo(4);
        assertThat(text(append.table())).isEqualTo("10+0:1000 20+0:1000 30+0:1000 40+0:1000$");
        assertThat(SgWalk.nents(append.table())).isEqualTo(4);
        SgChunk second = append.table().chunks().get(1);
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).containsExactly(second);
        assertThat(second.entries()).isEqualTo(3);
    }

    @Test
    void sizeIsNotReducedByMergedPages() { // EX-6, SGA-5, QRK-31
        append(3, 0x10);
        assertThat(appendBytes(0, 0x2010, 0x11, 0x12, 0x40)).isZero();

        assertThat(text(append.table())).isEqualTo("10+0:3000 40+0:1000$");
        assertThat(append.table().origNents()).isEqualTo(2);
        assertThat(append.table().nents()).isEqualTo(2);
    }

    @Test
    void theLimitHoldsForTheLastEntryToo() { // EX-7, SGA-3
        append(3, 0x10);
        long[] pfns = {0x11, 0x12, 0x40};
        assertThat(lists.allocAppendTableFromPages(append, pfns, 3, 0, 0x2010, 0x2000, 0))
                .isZero();

        assertThat(text(append.table())).isEqualTo("10+0:2000 12+0:1000 40+0:1000$");
    }

    @Test
    void theFrameAfterTheLastEntryIsTruncated() { // SGA-3
        appendBytes(3, 0x234, 0x10);
        assertThat(append(2, 0x11)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:234 11+0:1000");

        assertThat(append(1, 0x12)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:234 11+0:2000");

        SgAppendTable inPage = new SgAppendTable();
        lists.allocAppendTableFromPages(inPage, new long[] {0x10}, 1, 0x100, 0x234, NO_LIMIT, 3);
        lists.allocAppendTableFromPages(inPage, new long[] {0x10}, 1, 0, PAGE, NO_LIMIT, 1);
        assertThat(text(inPage.table())).isEqualTo("10+100:1234");
    }

    @Test
    void allPagesMergedEndTheListWithoutANewEntry() { // SGA-3, SGA-9
        append(3, 0x10);
        assertThat(append(0, 0x11, 0x12)).isZero();

        assertThat(text(append.table())).isEqualTo("10+0:3000$");
        assertThat(append.table().nents()).isEqualTo(1);
        assertThat(append(0, 0x13)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:4000$");
    }

    @Test
    void aMappedTablesCountsFollowNents() { // SGA-9, QRK-31
        append(3, 0x10, 0x20);
        append.table().mapped(1);
        append(1, 0x30);

        assertThat(append.table().nents()).isEqualTo(2);
        assertThat(append.table().origNents()).isEqualTo(2);
        assertThat(append.prv()).isEqualTo(2);
    }

    @Test
    void dmaFieldsOfEntriesAreNotTouched() { // SGA-7, SG-6
        append(3, 0x10);
        append.table().setDma(1, 0xabc000, 0x77);
        append.table().setBusAddress(1, true);
        append(1, 0x20);

        assertThat(append.table().dmaAddr(1)).isEqualTo(0xabc000);
        assertThat(append.table().dmaLengthBytes(1)).isEqualTo(0x77);
        assertThat(append.table().isBusAddress(1)).isTrue();
        assertThat(append.table().dmaAddr(0)).isZero();
    }

    @Test
    void aSizeThatEndsEarlyWrapsForTheRunsBehind() { // SGA-7
        lists.allocTableFromPages(table, new long[] {0x10, 0x20, 0x30}, 3, 0, 0x800);

        assertThat(text(table)).isEqualTo("10+0:800 20+0:1000 30+0:1000$");
    }

    @Test
    void anOffsetBeyondTheFirstRunWrapsIn64Bits() { // SGA-7
        lists.allocTableFromPages(table, new long[] {0x10, 0x20}, 2, 0x1800, 0x1_0000_0300L);

        assertThat(text(table)).isEqualTo("10+1800:300 20+0:1000$");
        lists.allocTableFromPages(table, new long[] {0x10, 0x20}, 2, 0x1800, 0x300);
        assertThat(text(table)).isEqualTo("10+1800:300 20+0:b00$");
    }

    @Test
    void aLaterAppendWithAnOffsetWarnsAndChangesNothing() { // SGA-2
        append(3, 0x10);
        assertThat(lists.allocAppendTableFromPages(append, new long[] {0x11}, 1, 8, PAGE, NO_LIMIT, 0))
                .isEqualTo(-Errno.EINVAL);

        assertThat(text(append.table())).isEqualTo("10+0:1000");
        assertThat(append.totalNents()).isEqualTo(4);
        assertThat(machine.log().entries().get(0).text()).isEqualTo("offset 0x8 in a later append (dma-core:SGA-2)");
        assertThat(machine.log().count("sg_alloc_append_table_from_pages")).isEqualTo(1);
    }

    @Test
    void withoutChainsNothingIsAppendedToAList() { // SGA-2
        Machine unchained = World.make(
                        World.builder().kernelConfig(KernelConfig.distribution().withSgChain(false)))
                .machine;
        long[] pfns = {0x10};
        assertThat(unchained.scatterlists().allocAppendTableFromPages(append, pfns, 1, 8, PAGE - 8, NO_LIMIT, 3))
                .isZero();
        assertThat(unchained.scatterlists().allocAppendTableFromPages(append, pfns, 1, 8, PAGE, NO_LIMIT, 0))
                .isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(unchained.scatterlists().allocAppendTableFromPages(append, pfns, 1, 8, PAGE, 0xfff, 0))
                .isEqualTo(-Errno.EINVAL);
        assertThat(text(append.table())).isEqualTo("10+8:ff8");
        assertThat(unchained.log().warnCount()).isEqualTo(1);
    }

    @Test
    void devicePagesMergeOnlyWithinTheirMap() { // SGA-4
        DevicePageMap one = DevicePageMap.generic("one");
        DevicePageMap two = DevicePageMap.pciP2pDma("two", "nvme", 0x8000_0000L);
        machine.devicePages().add(PhysRange.ofSize(0x12 * PAGE, 2 * PAGE), one);
        machine.devicePages().add(PhysRange.ofSize(0x14 * PAGE, PAGE), two);
        machine.devicePages().add(PhysRange.ofSize(0x15 * PAGE, PAGE), two);
        long[] pfns = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16};

        lists.allocTableFromPages(table, pfns, 7, 0, 7 * PAGE);
        assertThat(text(table)).isEqualTo("10+0:2000 12+0:2000 14+0:2000 16+0:1000$");

        append(9, 0x10, 0x11);
        append(8, 0x12);
        append(7, 0x13);
        append(6, 0x14);
        assertThat(text(append.table())).isEqualTo("10+0:2000 12+0:2000 14+0:1000");
    }

    @Test
    void theLastEntryOfAChunkIsKeptForTheChain() { // SGA-8
        assertThat(append(300, apart(100))).isZero();
        assertThat(chunkSizes(append.table())).containsExactly(128);

        assertThat(append(172, apart(128))).isZero();
        assertThat(chunkSizes(append.table())).containsExactly(128, 128);
        assertThat(append.totalNents()).isEqualTo(255);
        assertThat(append.table().origNents()).isEqualTo(228);
        assertThat(append.table().pageAddr(127)).isEqualTo((0x100 + 2 * 27) * PAGE);
        assertThat(append.table().lengthBytes(127)).isEqualTo(PAGE);

        assertThat(append(0, apart(27))).isZero();
        assertThat(append.table().origNents()).isEqualTo(255);
        assertThat(append.totalNents()).isEqualTo(255);
        assertThat(append.table().isEnd(254)).isTrue();
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void withoutMemoryTheLastEntryIsRestoredAndNothingIsCounted() { // SGA-10
        append(1, 0x10);
        machine.failures().failNth("sg.chunk", 1);

        assertThat(append(0, 0x11, 0x20, 0x30, 0x40)).isEqualTo(-Errno.ENOMEM);
        assertThat(text(append.table())).isEqualTo("10+0:1000");
        assertThat(append.totalNents()).isEqualTo(2);
        assertThat(append.prv()).isZero();
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void entriesWrittenBeforeMemoryRanOutStay() { // SGA-10
        machine.failures().failNth("sg.chunk", 2);

        assertThat(append(0, apart(200))).isEqualTo(-Errno.ENOMEM);
        assertThat(append.table().origNents()).isZero();
        assertThat(append.table().nents()).isZero();
        assertThat(append.totalNents()).isEqualTo(128);
        assertThat(append.prv()).isEqualTo(-1);
        assertThat(append.table().entries()).isEqualTo(128);
        assertThat(append.table().pageAddr(126)).isEqualTo((0x100 + 2 * 126) * PAGE);
        assertThat(append.table().lengthBytes(127)).isZero();
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void aFirstAppendThatIsTriedAgainLeaksItsFirstChunk() { // SGA-8, SGA-10: the caller had to free it
        machine.failures().failNth("sg.chunk", 2);
        append(0, apart(200));
        SgChunk lost = append.table().chunks().get(0);
        assertThat(append(0, 0x10)).isZero();

        assertThat(append.totalNents()).isEqualTo(1);
        assertThat(text(append.table())).isEqualTo("10+0:1000$");
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).containsExactly(lost);
    }

    @Test
    void fromPagesFreesWhatItHadWhenMemoryRunsOut() { // SGA-12
        table.add(0x9000, 0x20);
        machine.failures().failNth("sg.chunk", 2);

        assertThat(lists.allocTableFromPages(table, apart(200), 200, 0, 200 * PAGE))
                .isEqualTo(-Errno.ENOMEM);
        assertThat(table).hasToString("SgTable[origNents=1, nents=0, 0x9000+0x20]");
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void aListThatWasEndedTakesNoMoreEntries() { // SGA-11
        append(0, 0x10);

        assertThatThrownBy(() -> append(0, 0x20))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("entry 0 ended the list and one more is needed (dma-core:SGA-11)");
    }

    @Test
    void aFreedListTakesNothing() { // SG-12
        append(1, 0x10);
        lists.freeAppendTable(append);

        assertThatThrownBy(() -> append(0, 0x11))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("append after entry 0 of a list that was freed (dma-core:SG-12)");
    }

    @Test
    void aListEndedByItsDriverInsideAChunkDoesNotChainThere() {
        append(5, 0x10);
        append.table().markEnd(1);

        assertThatThrownBy(() -> append(5, 0x20))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("entry 1 was ended inside its chunk, where lists do not chain (dma-core:SGA-8)");
        assertThat(append(0, 0x20)).isZero();
        assertThat(text(append.table())).isEqualTo("10+0:1000 20+0:1000$");
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 0x1000, 0, 0 pages of an array of 2; at least one is needed (dma-core:SGA-13)",
        "-1, 0, 0x1000, 0, -1 pages of an array of 2; at least one is needed (dma-core:SGA-13)",
        "3, 0, 0x1000, 0, 3 pages of an array of 2; at least one is needed (dma-core:SGA-13)",
        "2, -1, 0x1000, 0, offset 0xffffffffffffffff is not a 32-bit number",
        "2, 0x100000000, 0x1000, 0, offset 0x100000000 is not a 32-bit number",
        "2, 0, -1, 0, the segment limit 0xffffffffffffffff is not a 32-bit number",
        "2, 0, 0x100000000, 0, the segment limit 0x100000000 is not a 32-bit number",
        "2, 0, 0x1000, -1, -1 entries left to append"
    })
    void numbersOutOfRangeAreRefusedAndChangeNothing( // SGA-13
            int nPages, String offset, String limit, int left, String message) {
        append(7, 0x10);
        table.add(0x9000, 0x20);
        long[] pfns = {0x11, 0x12};

        assertThatThrownBy(() -> lists.allocAppendTableFromPages(
                        append, pfns, nPages, Long.decode(offset), PAGE, Long.decode(limit), left))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
        assertThat(text(append.table())).isEqualTo("10+0:1000");
        assertThat(append.totalNents()).isEqualTo(8);
        if (left == 0) {
            assertThatThrownBy(() -> lists.allocTableFromPagesSegment(
                            table, pfns, nPages, Long.decode(offset), PAGE, Long.decode(limit)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message);
        }
        assertThat(table).hasToString("SgTable[origNents=1, nents=0, 0x9000+0x20]");
        assertThat(machine.log().warnCount()).isZero();
    }

    @Test
    void aFrameWithoutAnAddressIsRefused() {
        assertThatThrownBy(() -> append(0, 0x10, 1L << 52))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("page frame 0x10000000000000 has no 64-bit address");
        assertThat(append(0, (1L << 52) - 1)).isZero();
        assertThat(append.table().pageAddr(0)).isEqualTo(-PAGE);
    }

    @Test
    @SuppressWarnings("NullAway") // hostile on purpose
    void nullsAreRefused() {
        long @Nullable [] none = null;
        assertThatThrownBy(() -> lists.allocTableFromPages(table, none, 1, 0, 1))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> lists.allocTableFromPages(null, new long[] {1}, 1, 0, 1))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> lists.allocTable(null, 1)).isInstanceOf(NullPointerException.class);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void aListOfAnotherMachineIsNotAppendedTo() {
        append(3, 0x10);

        assertThatThrownBy(() -> World.make()
                        .machine
                        .scatterlists()
                        .allocAppendTableFromPages(append, new long[] {0x11}, 1, 0, PAGE, NO_LIMIT, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("chunk 0 of 4 entries is no live one of this machine");
    }
}
