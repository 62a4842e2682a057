package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.Metric;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.PropertyDefaults;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/**
 * The laws for machines whose bounce pool is tiny and grows (dma-core:SWD-1 to SWD-9): whatever pool a mapping is in,
 * its bytes are right, and transient pools leave nothing behind.
 */
@PropertyDefaults(tries = 60)
class DynamicPoolProperties implements DmaLaws {
    /** One set of slots, which a single mapping can fill. */
    private static final String ONE_SET = "swiotlb=128,1";

    private static final int PLACES = 16;
    private static final int PLACE_BYTES = 0x2_0000;

    private static final KernelConfig DYNAMIC = KernelConfig.distribution().withSwiotlbDynamic(true);

    @Override
    @Provide
    public Arbitrary<SmallWorld> worlds() {
        return Arbitraries.of("swiotlb", "swiotlb", "direct", "iommu-strict", "iommu-lazy")
                .map(backend -> new SmallWorld(backend, ONE_SET, SmallWorld.SMALL_TABLES, DYNAMIC));
    }

    /** One mapping, what is done meanwhile, and how far time goes on afterwards. */
    record Move(int place, int cpu, boolean second, int sizeBytes, DmaDirection direction, long nanos) {}

    @Provide
    Arbitrary<List<Move>> moves() {
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(
                Tuple.of(1, Arbitraries.integers().between(1, PLACE_BYTES)),
                Tuple.of(3, Arbitraries.integers().between(PLACE_BYTES / 2, PLACE_BYTES)));
        return Combinators.combine(
                        Arbitraries.integers().between(0, PLACES - 1),
                        Arbitraries.integers().between(0, SmallWorld.CPUS - 1),
                        Arbitraries.of(true, false),
                        sizes,
                        Arbitraries.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.BIDIRECTIONAL),
                        Arbitraries.of(0L, 0L, 0L, 0L, 1L, 5_000_000L, 20_000_000L))
                .as(Move::new)
                .list()
                .ofMinSize(10)
                .ofMaxSize(60);
    }

    /** A place has one mapping at a time: a new one ends the one before it. */
    @Law
    void bytesAreRightThroughGrowth(TestMachines machines, @ForAll("moves") List<Move> moves) {
        Machine machine = machines.start(new SmallWorld("swiotlb", ONE_SET, SmallWorld.SMALL_TABLES, DYNAMIC));
        Device first = machine.addDevice(DeviceConfig.named("first"));
        Device second = machine.addDevice(DeviceConfig.named("second"));
        long pagesBefore = machine.pages().allocatedPages();
        CheckedMapping[] places = new CheckedMapping[PLACES];
        for (Move move : moves) {
            unmap(places[move.place()]);
            places[move.place()] = map(move.second() ? second : first, move);
            if (move.nanos() > 0) {
                machine.clock().advance(move.nanos());
            }
        }
        for (CheckedMapping mapping : places) {
            unmap(mapping);
        }
        machine.clock().advance(1_000_000_000L);
        long grownSlots = metric(machine, Metric.POOL_SLOTS) - 128;
        assertThat(machine.pages().allocatedPages())
                .as("pages once the grace period is over")
                .isEqualTo(pagesBefore + grownSlots / 2);
        assertThat(metric(machine, Metric.POOL_TRANSIENT_SLOTS)).isZero();
        DmaInvariants.checkIdle(machine);
        Statistics.label("sets added").collect(Math.min(grownSlots / 128, 3));
        Statistics.label("sets added").coverage(coverage -> coverage.check(2L).count(n -> n > 0));
    }

    private static CheckedMapping map(Device device, Move move) {
        long before = metric(device.machine(), Metric.POOL_TRANSIENT_SLOTS);
        Buffer buffer =
                new Buffer(SmallWorld.ARENAS.get(0).first() + (long) move.place() * PLACE_BYTES, move.sizeBytes());
        CheckedMapping mapping = CheckedMapping.page(device, move.cpu(), buffer, move.direction());
        assertThat(mapping.isLive()).as("there is memory for all").isTrue();
        boolean isAlone = metric(device.machine(), Metric.POOL_TRANSIENT_SLOTS) > before;
        Statistics.label("maps").collect(isAlone ? "transient pool" : "pool that stays");
        Statistics.label("maps")
                .coverage(coverage -> coverage.check("transient pool").percentage(p -> p > 3));
        if (move.direction().deviceWrites()) {
            mapping.deviceWrites(Part.ALL);
        }
        if (move.direction().deviceReads()) {
            mapping.cpuWrites(Part.ALL);
            mapping.deviceReadsTheModel();
        }
        return mapping;
    }

    private static void unmap(@Nullable CheckedMapping mapping) {
        if (mapping != null) {
            mapping.unmap(0);
        }
    }

    private static long metric(Machine machine, Metric wanted) {
        long[] found = new long[1];
        machine.report((metric, value) -> found[0] += metric == wanted ? value : 0);
        return found[0];
    }
}
