package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.swiotlb.RestrictedModel;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.statistics.Statistics;

/**
 * Restricted pools of any size, also of no whole sets, do what a model written from the requirements does: maps and
 * coherent allocations in any order have its addresses, and all slots come back (dma-core:SWX-3 to SWX-6, SWC-20).
 */
class RestrictedPoolProperties {
    private static final long START = 0x20_0000;

    /** A region and a device. */
    record Shape(int slots, int startOffset, int minAlign, long boundary) {}

    /** One call. */
    record Step(int kind, int size, int origOffset, int pick) {}

    @Property(tries = 200)
    void regionDoesWhatTheModelDoes(
            @ForAll("shapes") Shape shape, @ForAll("steps") @Size(min = 20, max = 100) List<Step> steps) {
        new Run(shape).execute(steps);
    }

    @Provide
    Arbitrary<Shape> shapes() {
        return Combinators.combine(
                        Arbitraries.integers().between(1, 400),
                        Arbitraries.of(0, 0, 0x800, 0x1000),
                        Arbitraries.of(0, 0, 0x7ff, 0xfff, 0x3fff),
                        Arbitraries.of(-1L, 0xffff_ffffL, 0xffffL))
                .as(Shape::new);
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        return Combinators.combine(
                        Arbitraries.of(0, 0, 0, 1, 1, 2, 2, 3),
                        Arbitraries.integers().between(1, 0x8000),
                        Arbitraries.integers().between(1, 0x4000),
                        Arbitraries.integers().between(0, 1 << 20))
                .as(Step::new)
                .list();
    }

    /** One program on both. */
    private static final class Run {
        private final Machine machine;
        private final Device device;
        private final RestrictedModel model;
        private final Map<Long, Integer> mapped = new LinkedHashMap<>();
        private final Map<Long, CoherentBuffer> allocated = new LinkedHashMap<>();

        Run(Shape shape) {
            long start = START + shape.startOffset();
            machine = Machine.builder()
                    .ram(RamMap.of(PhysRange.ofSize(0, 16 << 20)))
                    .chunkBytes(1 << 16)
                    .restrictedPools(RestrictedPool.of("region", PhysRange.ofSize(start, shape.slots() * 0x800L)))
                    .build();
            device = machine.addDevice(DeviceConfig.named("dev")
                    .withRestrictedPool("region")
                    .withMinAlignMask(shape.minAlign())
                    .withSegments(0, shape.boundary() == -1 ? 0 : shape.boundary()));
            model = new RestrictedModel(start, shape.slots(), shape.minAlign(), shape.boundary());
        }

        void execute(List<Step> steps) {
            for (Step step : steps) {
                switch (step.kind()) {
                    case 0 -> map(step);
                    case 1 -> alloc(step);
                    case 2 -> unmap(step);
                    default -> free(step);
                }
                assertThat(Swiotlb.of(machine).files().get("swiotlb/region/io_tlb_used"))
                        .isEqualTo(model.used() + "\n");
            }
            mapped.forEach((dmaAddr, size) -> device.dma().unmapPage(dmaAddr, size, DmaDirection.TO_DEVICE, 0));
            allocated.values().forEach(CoherentBuffer::close);
            List<String> wrong = new ArrayList<>();
            machine.checkStructure(wrong::add);
            machine.checkIdle(wrong::add);
            assertThat(wrong).isEmpty();
        }

        private void map(Step step) {
            long orig = 0x10_0000L + step.origOffset();
            long expected = model.map(orig, step.size());
            assertThat(device.dma().mapPage(orig, step.size(), DmaDirection.TO_DEVICE, 0))
                    .isEqualTo(expected);
            Statistics.label("maps").collect(expected == -1 ? "refused" : "found");
            if (expected != -1) {
                mapped.put(expected, step.size());
            }
        }

        private void alloc(Step step) {
            long rounded = (step.size() + 0xfffL) & -0x1000L;
            long expected = model.alloc(rounded);
            CoherentBuffer buffer = device.dma().allocCoherent(step.size(), 0);
            assertThat(buffer == null ? -1 : buffer.physAddr(0)).isEqualTo(expected);
            Statistics.label("allocations").collect(expected == -1 ? "refused" : "found");
            if (buffer != null) {
                assertThat(expected & (Long.highestOneBit(rounded * 2 - 1) - 1))
                        .as("SWX-5")
                        .isZero();
                allocated.put(expected, buffer);
            }
        }

        private void unmap(Step step) {
            if (!mapped.isEmpty()) {
                long dmaAddr = new ArrayList<>(mapped.keySet()).get(step.pick() % mapped.size());
                device.dma()
                        .unmapPage(dmaAddr, Objects.requireNonNull(mapped.remove(dmaAddr)), DmaDirection.TO_DEVICE, 0);
                model.release(dmaAddr);
            }
        }

        private void free(Step step) {
            if (!allocated.isEmpty()) {
                long physAddr = new ArrayList<>(allocated.keySet()).get(step.pick() % allocated.size());
                Objects.requireNonNull(allocated.remove(physAddr)).close();
                model.release(physAddr);
            }
        }
    }
}
