package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.swiotlb.ModelPool.Mapping;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.Zone;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/**
 * Random programs of two devices on an allocator that may grow do what models of its pools do: which pool, which
 * address, all counts, every byte, and which pages are held.
 */
class DynamicPoolsProperties {
    private static final int ORIG_FIRST = 0x10_0000;
    private static final int ORIG_BYTES = 0x5_0000;
    private static final int MEMORY_BYTES = 0x40_0000;
    private static final long POOL_START = 0x20_0000;
    private static final PhysRange PAGES = PhysRange.ofSize(0x30_0000, 0x10_0000);

    /** The default pool, what it grows by, and what the devices ask for. */
    record Shape(int areas, int growSlots, int growAreas, int minAlign) {}

    /** One call; what its numbers mean depends on what is live. */
    record Step(
            int kind, int cpu, boolean second, int origOffset, int size, int pick, DmaDirection direction, int attrs) {}

    @Property(tries = 200)
    void poolsDoWhatTheirModelsDo(
            @ForAll("shapes") Shape shape, @ForAll("steps") @Size(min = 20, max = 100) List<Step> steps) {
        new Run(shape).execute(steps);
        Statistics.label("maps").coverage(coverage -> {
            coverage.check("default pool").percentage(p -> p > 30);
            coverage.check("grown pool").percentage(p -> p > 5);
            coverage.check("transient pool").percentage(p -> p > 1);
            coverage.check("refused").percentage(p -> p > 1);
        });
        Statistics.label("growth").coverage(coverage -> coverage.check("grown").count(n -> n > 10));
    }

    @Provide
    Arbitrary<Shape> shapes() {
        return Combinators.combine(
                        Arbitraries.of(1, 2),
                        Arbitraries.of(128, 256),
                        Arbitraries.of(1, 2, 4),
                        Arbitraries.of(0, 0, 0x7ff, 0xfff, 0x3fff))
                .as(Shape::new);
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(1, 0x3000)),
                Tuple.of(3, Arbitraries.integers().between(0x8000, 0x4_0000)),
                Tuple.of(1, Arbitraries.of(0x4_0000, 0x4_0001, 0x800, 0x1001)));
        return Combinators.combine(
                        Arbitraries.of(0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7),
                        Arbitraries.integers().between(0, 7),
                        Arbitraries.of(true, false),
                        Arbitraries.integers().between(0, 0x8000),
                        sizes,
                        Arbitraries.integers().between(0, 1 << 20),
                        Arbitraries.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.BIDIRECTIONAL),
                        Arbitraries.of(0, 0, DmaAttrs.SKIP_CPU_SYNC))
                .as(Step::new)
                .list();
    }

    /** A mapping, whose it is, and the pool that it is in. */
    private record Live(Mapping mapping, Device device, ModelPool pool, boolean transientPool) {}

    /** A transient pool without a mapping, until its memory goes. */
    private record Retired(int pages, long freeAtNanos) {}

    /** One program on both. */
    private static final class Run {
        private final Shape shape;
        private final DynamicWorld world;
        private final List<Device> devices;
        private final byte[] memory = new byte[MEMORY_BYTES];
        private final List<ModelPool> pools = new ArrayList<>();
        private final List<Live> live = new ArrayList<>();
        private final List<Retired> retired = new ArrayList<>();
        private boolean growthIsQueued;
        private long grownPages;
        private int hiwater;
        private int value;

        Run(Shape shape) {
            this.shape = shape;
            SwiotlbParameter parameter = new SwiotlbParameter(shape.growSlots(), shape.growAreas(), false, false);
            world = new DynamicWorld(POOL_START, shape.areas(), parameter, ArchConfig.x86(), PAGES);
            devices = List.of(device("first"), device("second"));
            pools.add(new ModelPool(memory, POOL_START, 128 * shape.areas(), shape.areas()));
            for (int at = ORIG_FIRST; at < ORIG_FIRST + ORIG_BYTES; at += 0x5000) {
                write(at, 0x5000);
            }
        }

        private Device device(String name) {
            return world.machine.addDevice(
                    DeviceConfig.named(name).withMask(DynamicWorld.MASK_32).withMinAlignMask(shape.minAlign()));
        }

        void execute(List<Step> steps) {
            for (Step step : steps) {
                execute(step);
                compareCounts();
            }
            compareMemory();
            while (!live.isEmpty()) {
                unmap(live.get(0), DmaDirection.FROM_DEVICE, 0);
            }
            compareMemory();
            advance(TransientPools.GRACE_NANOS);
            compareCounts();
            assertThat(world.held()).isEmpty();
            assertThat(world.allocatedPages()).as("what the allocator grew by").isEqualTo(grownPages);
        }

        private void execute(Step step) {
            if (step.kind() == 6) {
                advance(0);
            } else if (step.kind() == 7) {
                advance(step.pick() * 10L);
            } else if (step.kind() == 0 || live.isEmpty()) {
                map(step);
            } else {
                use(step, live.get(step.pick() % live.size()));
            }
        }

        private void use(Step step, Live one) {
            Mapping mapping = one.mapping();
            long offset = step.pick() % mapping.size();
            long part = Math.min(step.size(), mapping.size() - offset);
            switch (step.kind()) {
                case 1 -> unmap(one, step.direction(), step.attrs());
                case 2 -> {
                    world.pool.syncForCpu(one.device(), 0, mapping.tlb() + offset, part, step.direction());
                    if (step.direction() != DmaDirection.TO_DEVICE) {
                        one.pool().copy(mapping, offset, part, false);
                    }
                }
                case 3 -> {
                    world.pool.syncForDevice(one.device(), 0, mapping.tlb() + offset, part, step.direction());
                    if (step.direction() != DmaDirection.FROM_DEVICE) {
                        one.pool().copy(mapping, offset, part, true);
                    }
                }
                case 4 -> write((int) mapping.tlb(), (int) mapping.size());
                default -> write((int) mapping.orig(), (int) mapping.size());
            }
        }

        private void map(Step step) {
            Device device = devices.get(step.second() ? 1 : 0);
            long orig = (long) ORIG_FIRST + step.origOffset();
            Live expected = expected(step, device, orig);
            long actual = world.pool.map(device, step.cpu(), orig, step.size(), 0, step.direction(), step.attrs());
            assertThat(actual)
                    .isEqualTo(expected == null ? -1 : expected.mapping().tlb());
            if (expected == null) {
                Statistics.label("maps").collect("refused");
                return;
            }
            Statistics.label("maps")
                    .collect(
                            expected.transientPool()
                                    ? "transient pool"
                                    : expected.pool() == pools.get(pools.size() - 1) ? "default pool" : "grown pool");
            live.add(expected);
            hiwater = Math.max(hiwater, used());
        }

        /** SWS-21, SWD-2, SWD-4 to SWD-6. Gives null when nothing is found. */
        private @Nullable Live expected(Step step, Device device, long orig) {
            long total = ModelPool.total(orig, step.size(), 0, shape.minAlign());
            if (total > 0x4_0000) {
                return null;
            }
            for (int c = 0; c < shape.growAreas(); c++) {
                for (ModelPool pool : pools) {
                    int area = (step.cpu() + c) % pool.areas();
                    long tlb = c < pool.areas() ? pool.mapIn(area, orig, step.size(), 0, shape.minAlign(), -1, 0) : -1;
                    if (tlb != -1) {
                        return new Live(at(pool, tlb), device, pool, false);
                    }
                }
            }
            growthIsQueued = true;
            return expectedAlone(step, device, orig, (int) ((total + 0x7ff) / 0x800));
        }

        private @Nullable Live expectedAlone(Step step, Device device, long orig, int slots) {
            long start = nextBlock(slots);
            if (start == PageAllocator.NO_PAGE) {
                return null;
            }
            zero(start, slots);
            ModelPool pool = new ModelPool(memory, start, slots, 1);
            long tlb = pool.mapIn(0, orig, step.size(), 0, shape.minAlign(), -1, 0);
            return tlb == -1 ? null : new Live(at(pool, tlb), device, pool, true);
        }

        private static Mapping at(ModelPool pool, long tlb) {
            return pool.live().stream().filter(m -> m.tlb() == tlb).findFirst().orElseThrow();
        }

        /** Where the page allocator would put so many slots. */
        private long nextBlock(int slots) {
            int order = order(slots);
            long physAddr = world.machine.pages().allocPages(Zone.DMA32, order);
            if (physAddr != PageAllocator.NO_PAGE) {
                world.machine.pages().freePages(physAddr, order);
            }
            return physAddr;
        }

        private static int order(int slots) {
            int pages = (slots + 1) / 2;
            return pages == 1 ? 0 : 32 - Integer.numberOfLeadingZeros(pages - 1);
        }

        private void zero(long start, int slots) {
            java.util.Arrays.fill(memory, (int) start, (int) start + slots * 0x800, (byte) 0);
        }

        private void unmap(Live one, DmaDirection direction, int attrs) {
            Mapping mapping = one.mapping();
            live.remove(one);
            world.pool.unmap(one.device(), 0, mapping.tlb(), mapping.size(), direction, attrs);
            if (direction != DmaDirection.TO_DEVICE && (attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
                one.pool().copy(mapping, 0, mapping.size(), false);
            }
            if (one.transientPool()) {
                long now = world.machine.clock().nowNanos();
                retired.add(new Retired(1 << order(one.pool().slots()), now + TransientPools.GRACE_NANOS));
                assertThat(world.pool.contains(one.device(), mapping.tlb())).isFalse();
            } else {
                one.pool().unmap(mapping);
            }
        }

        /** SWD-3 first, since it was queued without a delay; then what is due of SWD-8. */
        private void advance(long nanos) {
            if (growthIsQueued) {
                growthIsQueued = false;
                long start = nextBlock(shape.growSlots());
                if (start != PageAllocator.NO_PAGE) {
                    zero(start, shape.growSlots());
                    int areas = Math.min(shape.growAreas(), shape.growSlots() / 128);
                    pools.add(0, new ModelPool(memory, start, shape.growSlots(), areas));
                    grownPages += shape.growSlots() / 2;
                }
                Statistics.label("growth").collect(start == PageAllocator.NO_PAGE ? "no memory" : "grown");
            }
            world.machine.clock().advance(nanos);
            long now = world.machine.clock().nowNanos();
            retired.removeIf(pool -> pool.freeAtNanos() <= now);
        }

        /** The CPU or the device writes something new. */
        private void write(int at, int size) {
            value = value * 31 + 7;
            for (int i = 0; i < size; i++) {
                memory[at + i] = (byte) (value + i);
            }
            world.machine.cpuMemory().write(at, memory, at, size);
        }

        private int used() {
            return pools.stream().mapToInt(ModelPool::used).sum() + transientSlots();
        }

        private int transientSlots() {
            return live.stream()
                    .filter(Live::transientPool)
                    .mapToInt(one -> one.pool().slots())
                    .sum();
        }

        private long pages() {
            return grownPages
                    + retired.stream().mapToInt(Retired::pages).sum()
                    + live.stream()
                            .filter(Live::transientPool)
                            .mapToInt(one -> 1 << order(one.pool().slots()))
                            .sum();
        }

        private void compareCounts() {
            assertThat(world.pool.usedSlots()).as("total_used").isEqualTo(used());
            assertThat(world.pool.usedHiwater()).as("hiwater").isEqualTo(hiwater);
            assertThat(world.pool.transientSlots()).as("transient_nslabs").isEqualTo(transientSlots());
            assertThat(world.pool.slots())
                    .as("nslabs")
                    .isEqualTo(pools.stream().mapToInt(ModelPool::slots).sum());
            assertThat(world.allocatedPages()).as("pages").isEqualTo(pages());
            for (int i = 0; i < pools.size(); i++) {
                ModelPool model = pools.get(i);
                IoTlbPool actual = world.dynamic.lasting()[i];
                assertThat(actual.start()).isEqualTo(model.start());
                for (int area = 0; area < model.areas(); area++) {
                    assertThat(actual.area(area).index()).isEqualTo(model.index(area));
                }
            }
            assertThat(world.broken()).isEmpty();
        }

        private void compareMemory() {
            assertThat(world.machine.cpuMemory().mismatch(0, memory, 0, MEMORY_BYTES))
                    .isEqualTo(-1);
        }
    }
}
