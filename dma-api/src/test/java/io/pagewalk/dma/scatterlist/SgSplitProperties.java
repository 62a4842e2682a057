package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.fake.World;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Parts of a list: dma-core:SGH-4, QRK-32. */
class SgSplitProperties {
    private final Machine machine = World.make().machine;
    private final Scatterlists lists = machine.scatterlists();
    private final SgTable in =
            new SgTable(3).add(0x10000, 0x123, 0x1000).add(0x20000, 0x10, 0x800).add(0x30000, 0, 0x2000);
    private final @Nullable SgTable[] out = new SgTable[4];

    private int split(int mappedNents, long skip, long... sizes) {
        return lists.split(in, mappedNents, skip, sizes, out);
    }

    private SgTable part(int part) {
        return Objects.requireNonNull(out[part]);
    }

    /** Entries as {@code page+offset:length}, all hexadecimal. */
    private String text(int part) {
        List<String> entries = new ArrayList<>();
        SgTable sg = part(part);
        for (int i = 0; i < sg.origNents(); i++) {
            entries.add(String.format("%x+%x:%x", sg.pageAddr(i), sg.offset(i), sg.lengthBytes(i)));
        }
        return String.join(" ", entries);
    }

    private String dma(int part) {
        List<String> segments = new ArrayList<>();
        SgTable sg = part(part);
        for (int i = 0; i < sg.nents(); i++) {
            segments.add(String.format("%x+%x", sg.dmaAddr(i), sg.dmaLengthBytes(i)));
        }
        return String.join(" ", segments);
    }

    @Test
    void partsFollowEachOtherAndKeepTheOldOffset() { // SGH-4, QRK-32
        assertThat(split(0, 0x100, 0x200, 0xd00, 0x1000)).isZero();

        assertThat(text(0)).isEqualTo("10000+223:200");
        assertThat(text(1)).isEqualTo("10000+423:d00");
        assertThat(text(2)).isEqualTo("20000+10:800 30000+0:800");
        assertThat(out[3]).isNull();
        assertThat(part(2).isEnd(1)).isTrue();
        assertThat(part(2).nents()).isZero();
        assertThat(in.lengthBytes(0)).isEqualTo(0x1000);
    }

    @Test
    void aSkipToTheEndOfAnEntryBeginsWithNoBytesOfIt() { // SGH-4
        assertThat(split(0, 0x1000, 0x800)).isZero();
        assertThat(text(0)).isEqualTo("10000+1123:0 20000+10:800");

        assertThat(split(0, 0x1001, 0x10)).isZero();
        assertThat(text(0)).isEqualTo("20000+11:10");
    }

    @Test
    void onePartMayCoverTheWholeList() { // SGH-4
        assertThat(split(0, 0, 0x3800)).isZero();
        assertThat(text(0)).isEqualTo("10000+123:1000 20000+10:800 30000+0:2000");
        assertThat(SgWalk.nents(part(0))).isEqualTo(3);
    }

    @Test
    void emptyPartsAndEntriesStay() { // SGH-4
        SgTable gaps = new SgTable(3).add(0x1000, 0x10).add(0x2000, 0).add(0x3000, 0x10);
        assertThat(lists.split(gaps, 0, 0, new long[] {0x10, 0x8, 0, 0x8}, out)).isZero();

        assertThat(text(0)).isEqualTo("1000+0:10");
        assertThat(text(1)).isEqualTo("2000+0:0 3000+0:8");
        assertThat(text(2)).isEqualTo("3000+8:0");
        assertThat(text(3)).isEqualTo("3000+8:8");
    }

    @Test
    void onlyTheListUpToEndIsSplit() { // SGH-4
        in.markEnd(1);
        assertThat(split(0, 0, 0x1800)).isZero();
        assertThat(split(0, 0, 0x1801)).isEqualTo(-Errno.EINVAL);
    }

    @ParameterizedTest
    @ValueSource(longs = {0x3801, -1, Long.MAX_VALUE})
    void partsBeyondTheListAreInvalid(long size) { // SGH-4
        assertThat(split(0, 0, size)).isEqualTo(-Errno.EINVAL);
        assertThat(split(0, 0x3000, 0x800, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(split(0, 0x3801, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(split(0, 0x3800, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(lists.split(new SgTable(1), 0, 0, new long[] {1}, out)).isEqualTo(-Errno.EINVAL);
        assertThat(out).containsOnlyNulls();
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void dmaFieldsAreZeroUnlessMapped() { // SGH-4
        in.setDma(0, 0xabc000, 0x3800);
        split(0, 0, 0x3800);
        assertThat(part(0).dmaAddr(0)).isZero();
        assertThat(part(0).dmaLengthBytes(0)).isZero();
    }

    @Test
    void aSecondPassCutsTheDmaSegments() { // SGH-4
        in.setDma(0, 0xabc000, 0x1800);
        in.setDma(1, 0xff0000, 0x2000);
        in.mapped(2);

        assertThat(split(2, 0x100, 0x200, 0x1600, 0x1000)).isZero();
        assertThat(text(1)).isEqualTo("10000+423:d00 20000+10:800 30000+0:100");
        assertThat(dma(0)).isEqualTo("abc100+200");
        assertThat(dma(1)).isEqualTo("abc300+1500 ff0000+100");
        assertThat(dma(2)).isEqualTo("ff0100+1000");
        assertThat(part(1).nents()).isEqualTo(2);
        assertThat(part(1).origNents()).isEqualTo(3);
        assertThat(part(1).dmaAddr(2)).isZero();
    }

    @Test
    void partsBeyondTheDmaSegmentsAreInvalidAndFreed() { // SGH-4
        in.setDma(0, 0xabc000, 0x1000);
        assertThat(split(1, 0, 0x1000)).isZero();
        lists.freeSplit(part(0));
        out[0] = null;

        assertThat(split(1, 0, 0x800, 0x801)).isEqualTo(-Errno.EINVAL);
        assertThat(out).containsOnlyNulls();
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void moreSegmentsThanEntriesAreABug() { // SGH-4
        in.setDma(0, 0x1000, 0x800);
        in.setDma(1, 0x2000, 0x800);
        assertThatThrownBy(() -> split(2, 0, 0x1000))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("part 0 has 1 entries, too few for its 2 DMA segments (dma-core:SGH-4)");
    }

    @Test
    void flagsAreCopiedWithTheirEntries() { // SGH-4, SG-2
        in.markBounced(true);
        in.setBusAddress(1, true);
        split(0, 0, 0x1000, 0x900);

        assertThat(part(0).isBounced()).isTrue();
        assertThat(part(1).isBounced()).isFalse();
        assertThat(part(0).isBusAddress(0)).isFalse();
        assertThat(part(1).isBusAddress(0)).isTrue();
        assertThat(part(1).isBusAddress(1)).isFalse();
    }

    @Test
    void everyAllocationMayFailAndLeavesNothing() { // SGH-4
        for (int nth = 1; nth <= 4; nth++) {
            machine.failures().failNth(nth);
            assertThat(split(0, 0, 1, 1, 1)).isEqualTo(-Errno.ENOMEM);
            assertThat(machine.failures().failedAt()).isEqualTo(nth == 1 ? "sg.split" : "sg.chunk");
            assertThat(out).containsOnlyNulls();
            assertThat(lists.liveChunks()).isEmpty();
        }
        machine.failures().failNth(5);
        assertThat(split(0, 0, 1, 1, 1)).isZero();
    }

    @Test
    void aPartIsOneChunkOfAnySize() { // SGH-4
        SgTable longList = new SgTable(1);
        for (int i = 0; i < 200; i++) {
            longList.add(i * 0x1000L, 2);
        }
        lists.split(longList, 0, 0, new long[] {400}, out);

        assertThat(part(0).chunks()).hasSize(1);
        assertThat(part(0).chunks().get(0).entries()).isEqualTo(200);
        assertThatThrownBy(() -> lists.freeTable(part(0)))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("freeing 200 entries follows entry 127 of chunk 0 of 200 entries, which is no CHAIN"
                        + " (dma-core:SG-13)");
        lists.freeSplit(part(0));
        lists.freeSplit(part(0));
        assertThat(part(0).origNents()).isEqualTo(200);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        assertThatThrownBy(() -> split(0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("0 parts into 4 tables");
        assertThatThrownBy(() -> split(0, 0, 1, 1, 1, 1, 1)).hasMessage("5 parts into 4 tables");
        assertThatThrownBy(() -> split(0, -1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("skip of -1 bytes in 0 DMA segments of a list of 3");
        assertThatThrownBy(() -> split(-1, 0, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> split(4, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("skip of 0 bytes in 4 DMA segments of a list of 3");
        assertThat(out).containsOnlyNulls();
    }

    private static int[] bytes(SgTable sg) {
        return IntStream.range(0, sg.origNents())
                .flatMap(i -> IntStream.range(0, (int) sg.lengthBytes(i)).map(b -> (int) sg.physAddr(i) + b))
                .toArray();
    }

    private static int[] dmaBytes(SgTable sg) {
        return IntStream.range(0, sg.nents())
                .flatMap(i -> IntStream.range(0, (int) sg.dmaLengthBytes(i)).map(b -> (int) sg.dmaAddr(i) + b))
                .toArray();
    }

    /** The model: a list is its bytes, and a part is a range of them. Segments join entries in pairs. */
    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void partsAreRangesOfTheListsBytes(
            @ForAll("lengths") List<Integer> lengths,
            @ForAll @IntRange(max = 300) int skip,
            @ForAll @Size(min = 1, max = 5) List<@IntRange(min = 1, max = 150) Integer> wanted) {
        SgTable whole = new SgTable(1);
        for (int i = 0; i < lengths.size(); i++) {
            whole.add(0x1000 * (i + 1L), i * 5L, lengths.get(i));
        }
        for (int i = 0; i < lengths.size(); i += 2) {
            int second = i + 1 < lengths.size() ? lengths.get(i + 1) : 0;
            whole.setDma(i / 2, 0x100_0000 + 0x3000L * i, lengths.get(i) + second);
        }
        whole.mapped((lengths.size() + 1) / 2);
        long[] sizes = wanted.stream().mapToLong(Integer::longValue).toArray();
        @Nullable SgTable[] parts = new SgTable[sizes.length];
        int[] all = bytes(whole);
        boolean fits = skip + Arrays.stream(sizes).sum() <= all.length;

        assertThat(lists.split(whole, whole.nents(), skip, sizes, parts)).isEqualTo(fits ? 0 : -Errno.EINVAL);
        int from = skip;
        for (int i = 0; fits && i < sizes.length; i++) {
            SgTable part = Objects.requireNonNull(parts[i]);
            int to = from + (int) sizes[i];
            assertThat(bytes(part)).isEqualTo(Arrays.copyOfRange(all, from, to));
            assertThat(dmaBytes(part)).isEqualTo(Arrays.copyOfRange(dmaBytes(whole), from, to));
            assertThat(part.origNents()).isEqualTo(part.entries());
            lists.freeSplit(part);
            from = to;
        }
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Provide
    Arbitrary<List<Integer>> lengths() {
        return Arbitraries.integers().between(1, 120).list().ofMinSize(1).ofMaxSize(12);
    }
}
