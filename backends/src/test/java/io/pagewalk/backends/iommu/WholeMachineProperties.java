package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** A machine with a VT-d unit as a whole: who gets which address when, and what is left after a failure. */
class WholeMachineProperties {
    private static final long PAGE = 0x1000;
    private static final int CPUS = 2;

    private record Held(long dmaAddr, long sizeBytes) {
        boolean overlaps(Held other) {
            return dmaAddr < other.dmaAddr + other.sizeBytes && other.dmaAddr < dmaAddr + sizeBytes;
        }
    }

    private record Unmapped(Held range, long flushesBefore) {}

    private static Machine machine(String commandLine) {
        return Machine.builder()
                .ramBytes(64 << 20)
                .cpus(CPUS)
                .commandLine(commandLine)
                .backend("iommu")
                .backendOptions(BackendOptions.NONE.with("iommu.tablePoolBytes", 64 * PAGE))
                .build();
    }

    private static long flushes(Machine machine) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        machine.report(numbers::put);
        return numbers.getOrDefault(Metric.FLUSHES, 0L);
    }

    @Property(tries = 40, edgeCases = EdgeCasesMode.NONE)
    void noAddressIsGivenTwiceNorBeforeItsFlush(@ForAll long seed, @ForAll boolean lazy) {
        try (Machine machine = machine(lazy ? "iommu.strict=0" : "iommu.strict=1")) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            Random random = new Random(seed);
            List<Held> live = new ArrayList<>();
            List<Unmapped> waiting = new ArrayList<>();
            for (int step = 0; step < 1200; step++) {
                Dma dma = device.dma(random.nextInt(CPUS));
                if (live.isEmpty() || random.nextInt(20) < 11) {
                    long size = PAGE * (1 + random.nextInt(random.nextInt(5) == 0 ? 40 : 3));
                    Held held = new Held(dma.mapPage(0x10_0000, size, DmaDirection.TO_DEVICE, DmaAttrs.NONE), size);
                    assertThat(live).noneMatch(held::overlaps);
                    long now = flushes(machine);
                    waiting.removeIf(old -> old.flushesBefore() < now);
                    assertThat(waiting).noneMatch(old -> held.overlaps(old.range()));
                    live.add(held);
                } else {
                    Held held = live.remove(random.nextInt(live.size()));
                    long before = flushes(machine);
                    dma.unmapPage(held.dmaAddr(), held.sizeBytes(), DmaDirection.TO_DEVICE, DmaAttrs.NONE);
                    if (lazy && flushes(machine) == before) {
                        waiting.add(new Unmapped(held, before));
                    }
                }
                if (random.nextInt(100) == 0) {
                    machine.clock().advance(1_000_000L * random.nextInt(12));
                }
            }
        }
    }

    /** What a driver does in its life, stopped by whatever fails. */
    private static void lifeOfADriver(Device device, long seed) {
        Random random = new Random(seed);
        Dma dma = device.dma(random.nextInt(CPUS));
        List<Runnable> ends = new ArrayList<>();
        for (int step = 0; step < 12; step++) {
            long size = 1L + random.nextInt(3 * (int) PAGE);
            switch (random.nextInt(3)) {
                case 0 -> {
                    long dmaAddr = dma.mapPage(0x10_0123, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
                    if (dmaAddr != Dma.DMA_MAPPING_ERROR) {
                        ends.add(() -> dma.unmapPage(dmaAddr, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE));
                    }
                }
                case 1 -> {
                    SgTable sg = new SgTable(2).add(0x20_0000, size).add(0x30_0800, PAGE);
                    if (dma.mapSg(sg, 2, DmaDirection.TO_DEVICE, DmaAttrs.NONE) > 0) {
                        ends.add(() -> dma.unmapSg(sg, 2, DmaDirection.TO_DEVICE, DmaAttrs.NONE));
                    }
                }
                default -> coherent(dma, size, ends);
            }
        }
        ends.forEach(Runnable::run);
    }

    private static void coherent(Dma dma, long size, List<Runnable> ends) {
        try {
            CoherentBuffer buffer = dma.alloc(size);
            ends.add(buffer::close);
        } catch (DmaException refused) {
            // Nothing is held then, which is what the test is about.
        }
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void failureOfEveryPointLeavesTheCountersAsBefore(@ForAll long seed, @ForAll @IntRange(max = 2) int kind) {
        String[] lines = {"iommu.strict=1", "iommu.strict=0", "swiotlb=1024,force iommu.strict=1"};
        try (Machine machine = machine(lines[kind])) {
            Device device = machine.addDevice(DeviceConfig.named("nic").withTrusted(kind != 2));
            lifeOfADriver(device, seed);
            machine.quiesce();
            long freeBytes = machine.pages().freeBytes();
            for (int nth = 1; nth <= 60; nth++) {
                machine.failures().failNth(nth);
                lifeOfADriver(device, seed + nth / 10);
                boolean reached = machine.failures().failedAt() != null;
                machine.failures().disarm();
                machine.quiesce();
                List<String> violations = new ArrayList<>();
                machine.checkStructure(violations::add);
                machine.checkIdle(violations::add);
                assertThat(violations).as("failure %d", nth).isEmpty();
                assertThat(machine.pages().freeBytes()).as("failure %d", nth).isEqualTo(freeBytes);
                if (!reached) {
                    break;
                }
            }
        }
    }
}
