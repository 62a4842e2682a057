package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BusPort;
import java.util.Arrays;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/** The bus against a model that looks up each byte by itself, over a port with pages like those of a page table. */
class DeviceBusProperties {
    private static final int FAULT = 6;
    /** DMA pages 0 to 7. */
    private static final int DMA_BYTES = 0x8000;

    /** What each byte of RAM holds at first, by physical address. */
    private static final byte[] CONTENT = new byte[0x22000];

    static {
        for (int i = 0; i < CONTENT.length; i++) {
            CONTENT[i] = (byte) (i * 31 + (i >>> 8));
        }
    }

    /** From DMA page to physical page; some are missing, some lead where no RAM is, some to the ragged end of RAM. */
    @Provide
    Arbitrary<Map<Integer, Integer>> tables() {
        Arbitrary<Integer> pages = Arbitraries.frequencyOf(
                Tuple.of(8, Arbitraries.integers().between(0, 7)),
                Tuple.of(4, Arbitraries.integers().between(0x10, 0x17)),
                Tuple.of(1, Arbitraries.of(0x8, 0x18, 0x21)));
        return Arbitraries.maps(Arbitraries.integers().between(0, 7), pages).ofMinSize(4);
    }

    private static World world(Map<Integer, Integer> table, int reach) {
        World world = World.make(config -> config.withBusLimit(reach));
        world.port.translation = dmaAddr -> {
            @Nullable Integer page = table.get((int) (dmaAddr >>> 12));
            return page == null ? BusPort.fault(FAULT) : (page.longValue() << 12) | (dmaAddr & 0xfff);
        };
        for (PhysRange range : World.RAM.ranges()) {
            int sizeBytes = (int) range.sizeBytes();
            world.machine.memory().write(range.first(), CONTENT, (int) range.first(), sizeBytes);
        }
        return world;
    }

    /** The physical address of a byte, or -1 where a device cannot get. */
    private static long model(Map<Integer, Integer> table, int reach, long dmaAddr) {
        @Nullable Integer page = table.get((int) (dmaAddr >>> 12));
        if (page == null || dmaAddr > reach) {
            return -1;
        }
        long physAddr = (page.longValue() << 12) | (dmaAddr & 0xfff);
        return World.RAM.contains(physAddr, 1) ? physAddr : -1;
    }

    private static int reachable(Map<Integer, Integer> table, int reach, long dmaAddr, int length) {
        int done = 0;
        while (done < length && model(table, reach, dmaAddr + done) >= 0) {
            done++;
        }
        return done;
    }

    private static void assertFaultIfShort(World world, long dmaAddr, int done, int length) {
        assertThat(world.machine.faults().count()).isEqualTo(done == length ? 0 : 1);
        if (done < length) {
            assertThat(world.machine.faults().recent().get(0).dmaAddr()).isEqualTo(dmaAddr + done);
        }
        world.port.requireNoWindow();
    }

    @Property(tries = 150)
    void aReadIsTheMemoryBehindEachByteUpToTheFirstThatCannotBeReached(
            @ForAll("tables") Map<Integer, Integer> table,
            @ForAll @IntRange(min = 0x1000, max = DMA_BYTES + 0x1000) int reach,
            @ForAll @IntRange(max = DMA_BYTES) int dmaAddr,
            @ForAll @IntRange(max = 0x2800) int length) {
        World world = world(table, reach);
        int expected = reachable(table, reach, dmaAddr, length);
        Statistics.label("whole").collect(expected == length).coverage(c -> {
            c.check(true).percentage(p -> p > 3);
            c.check(false).percentage(p -> p > 3);
        });
        byte[] dst = new byte[length + 2];

        assertThat(world.bus.read(dmaAddr, dst, 1, length)).isEqualTo(expected);
        byte[] modelled = new byte[length + 2];
        Arrays.fill(modelled, 1, length + 1, (byte) -1);
        for (int i = 0; i < expected; i++) {
            modelled[i + 1] = CONTENT[(int) model(table, reach, (long) dmaAddr + i)];
        }
        assertThat(dst).isEqualTo(modelled);
        assertFaultIfShort(world, dmaAddr, expected, length);
    }

    @Property(tries = 100)
    void aWriteChangesTheMemoryBehindItsBytesAndNothingElse(
            @ForAll("tables") Map<Integer, Integer> table,
            @ForAll @IntRange(max = DMA_BYTES) int dmaAddr,
            @ForAll @IntRange(max = 0x900) int length,
            @ForAll byte salt) {
        World world = world(table, Integer.MAX_VALUE);
        int expected = reachable(table, Integer.MAX_VALUE, dmaAddr, length);
        byte[] src = new byte[length];
        for (int i = 0; i < length; i++) {
            src[i] = (byte) (i * 5 + salt);
        }
        assertThat(world.bus.write(dmaAddr, src, 0, length)).isEqualTo(expected);
        assertFaultIfShort(world, dmaAddr, expected, length);

        byte[] modelled = CONTENT.clone();
        for (int i = 0; i < expected; i++) {
            modelled[(int) model(table, Integer.MAX_VALUE, (long) dmaAddr + i)] = src[i];
        }
        for (PhysRange range : World.RAM.ranges()) {
            int first = (int) range.first();
            assertThat(world.machine.memory().mismatch(first, modelled, first, (int) range.sizeBytes()))
                    .isEqualTo(-1);
        }
    }

    @Property(tries = 200)
    void aWordIsTheSameAsItsEightBytes(
            @ForAll("tables") Map<Integer, Integer> table,
            @ForAll @IntRange(min = 0x1000, max = DMA_BYTES) int reach,
            @ForAll @IntRange(max = 8) int page,
            @ForAll @IntRange(min = -12, max = 12) int around,
            @ForAll long value) {
        int dmaAddr = Math.max(0, page * 0x1000 + around);
        World words = world(table, reach);
        World bytes = world(table, reach);
        byte[] eight = new byte[8];
        bytes.bus.read(dmaAddr, eight, 0, 8);
        long read = 0;
        for (int i = 7; i >= 0; i--) {
            read = (read << 8) | (eight[i] & 0xff);
        }
        assertThat(words.bus.readLong(dmaAddr)).isEqualTo(read);

        for (int i = 0; i < 8; i++) {
            eight[i] = (byte) (value >>> (8 * i));
        }
        assertThat(words.bus.writeLong(dmaAddr, value)).isEqualTo(bytes.bus.write(dmaAddr, eight, 0, 8));
        assertThat(words.bus.readLong(dmaAddr)).isEqualTo(bytes.bus.readLong(dmaAddr));
        assertThat(words.machine.faults().count())
                .isEqualTo(bytes.machine.faults().count());
        assertThat(words.port.translations).isEqualTo(bytes.port.translations);
    }
}
