package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.CpuMemory;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Bytes between lists and buffers, beside a model that is one array: dma-core:SGH-3. */
class SgBuffersProperties {
    /** First half of the world's RAM. */
    private static final int RAM_BYTES = 0x8000;

    private final CpuMemory memory = World.make().machine.cpuMemory();

    record Entry(int page, int offset, int length) {}

    @Provide
    Arbitrary<List<Entry>> entries() {
        return Combinators.combine(
                        Arbitraries.integers().between(0, 4),
                        Arbitraries.oneOf(
                                Arbitraries.integers().between(0, 0xfff),
                                Arbitraries.integers().between(0, 0x1800)),
                        Arbitraries.oneOf(
                                Arbitraries.just(0),
                                Arbitraries.integers().between(0, 0x20),
                                Arbitraries.integers().between(0, 0x1800)))
                .as(Entry::new)
                .list()
                .ofMaxSize(5);
    }

    private static SgTable list(List<Entry> entries) {
        SgTable sg = new SgTable(1);
        for (Entry entry : entries) {
            sg.add(entry.page() * 0x1000L, entry.offset(), entry.length());
        }
        return sg;
    }

    private byte[] fillRam(int seed) {
        byte[] ram = new byte[RAM_BYTES];
        for (int i = 0; i < ram.length; i++) {
            ram[i] = (byte) (i * 31 + (i >>> 8) * 7 + seed);
        }
        memory.write(0, ram, 0, ram.length);
        return ram;
    }

    private byte[] ram() {
        byte[] ram = new byte[RAM_BYTES];
        memory.read(0, ram, 0, ram.length);
        return ram;
    }

    /** Where each byte of the first entries lies. */
    private static int[] places(List<Entry> entries, int nents) {
        return entries.stream()
                .limit(nents)
                .flatMapToInt(e ->
                        java.util.stream.IntStream.range(0, e.length()).map(i -> e.page() * 0x1000 + e.offset() + i))
                .toArray();
    }

    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void whatIsCopiedOutAreTheListsBytesInOrder(
            @ForAll("entries") List<Entry> entries,
            @ForAll @IntRange(max = 6) int nents,
            @ForAll @IntRange(max = 0x3000) int length,
            @ForAll("skips") long skip) {
        byte[] ram = fillRam(length);
        int[] places = places(entries, nents);
        int expected = skip > places.length ? 0 : (int) Math.min(length, places.length - skip);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < expected; i++) {
            bytes.write(ram[places[(int) skip + i]]);
        }
        byte[] buffer = new byte[length + 7];
        int copied = SgBuffers.copyToBuffer(memory, list(entries), nents, buffer, 3, length, skip);

        assertThat(copied).isEqualTo(expected);
        assertThat(Arrays.copyOfRange(buffer, 3, 3 + copied)).isEqualTo(bytes.toByteArray());
        assertThat(Arrays.copyOf(buffer, 3)).containsOnly(0);
        assertThat(Arrays.copyOfRange(buffer, 3 + copied, buffer.length)).containsOnly(0);
        assertThat(ram()).isEqualTo(ram);
    }

    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void whatIsCopiedInOrZeroedChangesTheListsBytesAlone(
            @ForAll("entries") List<Entry> entries,
            @ForAll @IntRange(max = 6) int nents,
            @ForAll @IntRange(max = 0x3000) int length,
            @ForAll("skips") long skip,
            @ForAll boolean zero) {
        byte[] model = fillRam(length);
        byte[] buffer = new byte[length + 5];
        for (int i = 0; i < buffer.length; i++) {
            buffer[i] = zero ? 0 : (byte) (0x80 + i % 101);
        }
        int[] places = places(entries, nents);
        int expected = skip > places.length ? 0 : (int) Math.min(length, places.length - skip);
        for (int i = 0; i < expected; i++) {
            model[places[(int) skip + i]] = buffer[5 + i];
        }
        SgTable sg = list(entries);
        long moved = zero
                ? SgBuffers.zeroBuffer(memory, sg, nents, length, skip)
                : SgBuffers.copyFromBuffer(memory, sg, nents, buffer, 5, length, skip);

        assertThat(moved).isEqualTo(expected);
        assertThat(ram()).isEqualTo(model);
    }

    @Provide
    Arbitrary<Long> skips() {
        return Arbitraries.oneOf(
                Arbitraries.just(0L),
                Arbitraries.longs().between(0, 0x40),
                Arbitraries.longs().between(0, 0x3000));
    }

    @Test
    void zeroingTakesAnUnsignedLength() { // SGH-3
        fillRam(1);
        SgTable sg = new SgTable(2).add(0x1ff0, 0x20).add(0x4000, 4);

        assertThat(SgBuffers.zeroBuffer(memory, sg, 2, -1L, 1)).isEqualTo(0x23);
        assertThat(memory.getByte(0x1ff0)).isNotZero();
        assertThat(memory.getLong(0x1ff1)).isZero();
        assertThat(memory.getInt(0x4000)).isZero();
        assertThat(memory.getByte(0x4004)).isNotZero();
        assertThat(SgBuffers.zeroBuffer(memory, sg, 2, 0, 0)).isZero();
    }

    @Test
    void skippingAllOrMoreCopiesNothing() { // SGH-3
        SgTable sg = new SgTable(1).add(0x1000, 4);
        byte[] buffer = new byte[4];
        assertThat(SgBuffers.copyToBuffer(memory, sg, 1, buffer, 0, 4, 4)).isZero();
        assertThat(SgBuffers.copyToBuffer(memory, sg, 1, buffer, 0, 4, 5)).isZero();
        assertThat(SgBuffers.copyFromBuffer(memory, sg, 1, buffer, 0, 4, 5)).isZero();
        assertThat(SgBuffers.copyToBuffer(memory, new SgTable(1), 1, buffer, 0, 4, 0))
                .isZero();
    }

    @Test
    void badNumbersAreRefusedAndChangeNothing() {
        byte[] ram = fillRam(9);
        SgTable sg = new SgTable(1).add(0x1000, 4);
        byte[] buffer = new byte[4];
        assertThatThrownBy(() -> SgBuffers.copyFromBuffer(memory, sg, 1, buffer, 0, 5, 0))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> SgBuffers.copyToBuffer(memory, sg, 1, buffer, -1, 1, 0))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> SgBuffers.copyFromBuffer(memory, sg, -1, buffer, 0, 4, 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> SgBuffers.copyFromBuffer(memory, sg, 1, buffer, 0, 4, -1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> SgBuffers.zeroBuffer(memory, sg, 1, 4, -1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(ram()).isEqualTo(ram);
        assertThatThrownBy(() -> SgBuffers.zeroBuffer(memory, new SgTable(1).add(0x9000, 4), 1, 4, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
