package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.swiotlb.ModelPool.Mapping;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.statistics.Statistics;

/**
 * Random programs on tiny pools do what a model written from the requirements does: addresses, counts, and every byte.
 */
class SwiotlbPoolProperties {
    private static final int ORIG_FIRST = 0x10_0000;
    private static final int ORIG_BYTES = 0x2_0000;
    private static final int MEMORY_BYTES = 0x38_0000;
    private static final long POOL_START = 0x20_0000;

    /** What a device and a pool look like. */
    record Shape(int sets, int areasLog2, int startOffset, int minAlign, long boundary, long dmaShift) {
        int areas() {
            return Math.min(1 << areasLog2, sets);
        }
    }

    /** One call; what its numbers mean depends on what is live. */
    record Step(
            int kind, int cpu, int origOffset, int size, int pick, DmaDirection direction, int attrs, int allocAlign) {}

    @Property(tries = 300)
    void poolDoesWhatTheModelDoes(
            @ForAll("shapes") Shape shape, @ForAll("steps") @Size(min = 20, max = 120) List<Step> steps) {
        new Run(shape).execute(steps);
    }

    @Provide
    Arbitrary<Shape> shapes() {
        return Combinators.combine(
                        Arbitraries.of(1, 2, 4),
                        Arbitraries.integers().between(0, 2),
                        Arbitraries.of(0, 0, 0x1000, 0x800, 0x3800),
                        Arbitraries.of(0, 0, 0x1ff, 0x7ff, 0xfff, 0xfff, 0x3fff, 0xffff, 0xe00),
                        Arbitraries.of(-1L, -1L, 0xffff_ffffL, 0xffffL, 0x3fffL, 0x7ffL),
                        Arbitraries.of(0L, 0L, 0x10_0000L, 0x1800L, 0x400L))
                .as(Shape::new);
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(
                net.jqwik.api.Tuple.of(4, Arbitraries.integers().between(1, 0x3000)),
                net.jqwik.api.Tuple.of(2, Arbitraries.of(0x800, 0x1000, 0x801, 0x7ff, 0xfff, 0x1001, 1)),
                net.jqwik.api.Tuple.of(1, Arbitraries.integers().between(0x3000, 0x1_0000)));
        return Combinators.combine(
                        Arbitraries.of(0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5),
                        Arbitraries.integers().between(0, 7),
                        Arbitraries.integers().between(0, ORIG_BYTES / 2),
                        sizes,
                        Arbitraries.integers().between(0, 1 << 20),
                        Arbitraries.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.BIDIRECTIONAL),
                        Arbitraries.of(0, 0, DmaAttrs.SKIP_CPU_SYNC),
                        Arbitraries.of(0, 0, 0, 0x7ff, 0xfff, 0x3fff))
                .as(Step::new)
                .list();
    }

    /** One program on both. */
    private static final class Run {
        private final Shape shape;
        private final PoolWorld world;
        private final Device device;
        private final ModelPool model;
        private int value;

        Run(Shape shape) {
            this.shape = shape;
            int slots = shape.sets() * ModelPool.SET;
            long start = POOL_START + shape.startOffset();
            world = new PoolWorld(start, slots, shape.areas());
            DeviceConfig config = DeviceConfig.named("dev")
                    .withMinAlignMask(shape.minAlign())
                    .withSegments(0, shape.boundary() == -1 ? 0 : shape.boundary());
            device = world.device(
                    shape.dmaShift() == 0 ? config : config.withRanges(new DmaRange(0, shape.dmaShift(), 64L << 20)));
            model = new ModelPool(new byte[MEMORY_BYTES], start, slots, shape.areas());
            for (int at = ORIG_FIRST; at < ORIG_FIRST + ORIG_BYTES; at += 0x700) {
                write(at, 0x700);
            }
        }

        void execute(List<Step> steps) {
            for (Step step : steps) {
                execute(step);
                compareCounts();
            }
            compareMemory();
            for (Mapping mapping : model.live()) {
                unmap(mapping, mapping.size(), DmaDirection.FROM_DEVICE, 0);
            }
            compareMemory();
            world.assertIdle();
            assertThat(world.pool.usedHiwater()).isEqualTo(model.hiwater);
        }

        private void execute(Step step) {
            List<Mapping> live = model.live();
            if (step.kind() == 0 || live.isEmpty()) {
                map(step);
                return;
            }
            Mapping mapping = live.get(step.pick() % live.size());
            long offset = step.pick() % mapping.size();
            switch (step.kind()) {
                case 1 -> unmap(mapping, Math.min(step.size(), mapping.size()), step.direction(), step.attrs());
                case 2 -> syncForCpu(mapping, offset, step.size(), step.direction());
                case 3 -> syncForDevice(mapping, offset, step.size(), step.direction());
                case 4 -> write((int) mapping.tlb(), (int) mapping.size());
                default -> write((int) mapping.orig(), (int) mapping.size());
            }
        }

        private void map(Step step) {
            long orig = (long) ORIG_FIRST + step.origOffset();
            long expected = model.map(
                    step.cpu(),
                    orig,
                    step.size(),
                    step.allocAlign(),
                    shape.minAlign(),
                    shape.boundary(),
                    shape.dmaShift());
            long actual = world.pool.map(
                    device, step.cpu(), orig, step.size(), step.allocAlign(), step.direction(), step.attrs());
            assertThat(actual).isEqualTo(expected);
            Statistics.label("maps").collect(expected == -1 ? "refused" : "found");
            if (expected != -1 && isPromised(step)) {
                assertThat((actual + shape.dmaShift() ^ orig) & shape.minAlign())
                        .as("SWM-14")
                        .isZero();
            }
        }

        private boolean isPromised(Step step) {
            return (shape.minAlign() & ~shape.boundary()) == 0 && (step.allocAlign() & ~0xfff) == 0;
        }

        /** Within the allocation, as everything beyond would be other buffers' memory. */
        private long clipped(Mapping mapping, long offset, long size) {
            return Math.min(size, Math.max(model.limit(mapping, offset), 0) + 16);
        }

        private void syncForCpu(Mapping mapping, long offset, long size, DmaDirection direction) {
            long part = clipped(mapping, offset, size);
            world.pool.syncForCpu(device, 0, mapping.tlb() + offset, part, direction);
            if (direction != DmaDirection.TO_DEVICE) {
                model.copy(mapping, offset, part, false);
            }
        }

        private void syncForDevice(Mapping mapping, long offset, long size, DmaDirection direction) {
            long part = clipped(mapping, offset, size);
            world.pool.syncForDevice(device, 0, mapping.tlb() + offset, part, direction);
            if (direction != DmaDirection.FROM_DEVICE) {
                model.copy(mapping, offset, part, true);
            }
        }

        private void unmap(Mapping mapping, long size, DmaDirection direction, int attrs) {
            world.pool.unmap(device, 0, mapping.tlb(), size, direction, attrs);
            if (direction != DmaDirection.TO_DEVICE && (attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
                model.copy(mapping, 0, size, false);
            }
            model.unmap(mapping);
        }

        /** The CPU or the device writes something new. */
        private void write(int at, int size) {
            value = value * 31 + 7;
            for (int i = 0; i < size; i++) {
                model.memory[at + i] = (byte) (value + i);
            }
            world.machine.cpuMemory().write(at, model.memory, at, size);
        }

        private void compareCounts() {
            SlotTable table = world.slots.table();
            int[] actual = new int[table.slots()];
            for (int slot = 0; slot < table.slots(); slot++) {
                actual[slot] = table.freeRun(slot);
            }
            assertThat(actual).isEqualTo(model.freeRuns());
            assertThat(world.pool.usedSlots()).isEqualTo(model.used());
            for (int area = 0; area < shape.areas(); area++) {
                assertThat(world.slots.area(area).index()).isEqualTo(model.index(area));
            }
            world.assertSound();
        }

        private void compareMemory() {
            assertThat(world.machine.cpuMemory().mismatch(0, model.memory, 0, MEMORY_BYTES))
                    .isEqualTo(-1);
        }
    }
}
