package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;
import net.jqwik.api.statistics.StatisticsReport;

/** The arbitraries stay within their worlds, and reach what is worth reaching often enough. */
@StatisticsReport(StatisticsReport.StatisticsReportMode.OFF)
class DmaArbitrariesProperties {
    private static final long FOUR_GIB = 1L << 32;

    @Provide
    Arbitrary<SmallWorld> swiotlb() {
        return Arbitraries.just(SmallWorld.of("swiotlb"));
    }

    @Provide
    Arbitrary<SmallWorld> direct() {
        return Arbitraries.just(SmallWorld.of("direct"));
    }

    @Law
    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void buffersLieInAnArenaAndMeetItsEdgesPagesSlotsAndTheLineAtFourGib(@ForAll Buffer buffer) {
        assertThat(SmallWorld.ARENAS)
                .anyMatch(a -> Addresses.contains(a.first(), a.sizeBytes(), buffer.physAddr(), buffer.sizeBytes()));
        reached("page crossed", crosses(buffer, Addresses.PAGE_SIZE), 40);
        reached("slot crossed", crosses(buffer, DmaArbitraries.SLOT_BYTES), 50);
        reached("4 GiB crossed", crosses(buffer, FOUR_GIB), 1);
        reached("starts a page", Addresses.isAligned(buffer.physAddr(), Addresses.PAGE_SIZE), 10);
        reached("ends with a page", Addresses.isAligned(buffer.last() + 1, Addresses.PAGE_SIZE), 10);
        reached("last byte of RAM", buffer.last() == SmallWorld.ARENAS.get(1).last(), 1);
        reached("one byte", buffer.sizeBytes() == 1, 0.5);
        reached("more than a set of slots", buffer.sizeBytes() > DmaArbitraries.SET_BYTES, 1);
    }

    private static boolean crosses(Buffer buffer, long boundary) {
        return buffer.physAddr() / boundary != buffer.last() / boundary;
    }

    @Law
    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void entriesOfAListShareNoByteAndAreOftenAdjacentApartAndOutOfOrder(@ForAll Segments segments) {
        List<Buffer> buffers = segments.buffers();
        boolean adjacent = false;
        boolean backwards = false;
        for (int i = 1; i < buffers.size(); i++) {
            Buffer before = buffers.get(i - 1);
            Buffer here = buffers.get(i);
            assertThat(buffers.subList(0, i)).noneMatch(here::overlaps);
            adjacent |= before.last() + 1 == here.physAddr();
            backwards |= here.physAddr() < before.physAddr();
        }
        reached("adjacent", adjacent, 20);
        reached("out of order", backwards, 20);
        reached("single", buffers.size() == 1, 2);
        reached("many", buffers.size() > 8, 10);
    }

    @Law
    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void devicesAreOftenNarrowPickyAndUntrusted(@ForAll DeviceConfig config) {
        reached("32 bits", config.coherentMask() == Addresses.bitMask(32), 10);
        reached("narrower", Addresses.lessThan(config.coherentMask(), Addresses.bitMask(32)), 5);
        reached("keeps offsets", config.minAlignMask() != 0, 20);
        reached("boundary", config.segmentBoundaryMask() == 0xffff, 5);
        reached("untrusted", !config.trusted(), 5);
        reached("not PCI", !config.pci(), 5);
    }

    @Law
    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void partsReachWholeBuffersAndSingleBytesAndStayInside(@ForAll Part part, @ForAll Buffer buffer) {
        int offset = part.offset(buffer.sizeBytes());
        int size = part.sizeBytes(buffer.sizeBytes());
        assertThat(offset).isNotNegative();
        assertThat(size).isPositive();
        assertThat(offset + size).isLessThanOrEqualTo(buffer.sizeBytes());
        reached("whole", size == buffer.sizeBytes(), 2);
        reached("a byte", size == 1, 5);
    }

    @Law
    void mapsAreBouncedAndFailForMoreThanOneReason(
            TestMachines machines,
            @ForAll("swiotlb") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer) {
        Machine machine = machines.start(world);
        CheckedMapping mapping = CheckedMapping.page(machine.addDevice(config), 0, buffer, DmaDirection.TO_DEVICE);
        reached("bounced", bytesBounced(machine) > 0, 50);
        reached("too large", failedWith(mapping, FailureReason.EXCEEDS_MAX_MAPPING), 1);
        reached("any failure", !mapping.isLive(), 3);
    }

    @Law
    void someDevicesOfAMachineWithoutForcedBouncesAreBouncedAndMostAreNot(
            TestMachines machines,
            @ForAll("direct") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer) {
        Machine machine = machines.start(world);
        CheckedMapping.page(machine.addDevice(config), 0, buffer, DmaDirection.TO_DEVICE);
        reached("bounced", bytesBounced(machine) > 0, 5);
        reached("not bounced", bytesBounced(machine) == 0, 50);
    }

    @Provide
    Arbitrary<SmallWorld> iommu() {
        return Arbitraries.just(SmallWorld.of("iommu-strict"));
    }

    @Law
    void listsMergeWhereAnIommuTranslates(
            TestMachines machines,
            @ForAll("iommu") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments) {
        Device device = machines.start(world).addDevice(config);
        CheckedMapping mapping = CheckedMapping.sg(device, 0, segments, DmaDirection.TO_DEVICE);
        int entries = segments.buffers().size();
        reached("merged", mapping.isLive() && mapping.extents().size() < entries, 15);
        reached(
                "partly merged",
                mapping.extents().size() > 1 && mapping.extents().size() < entries,
                5);
        reached("not merged", mapping.extents().size() == entries, 15);
        if (mapping.isLive()) {
            mapping.deviceReadsTheModel();
            mapping.unmap(0);
        }
    }

    @Law
    void programsMapALotAndRunIntoAFullPool(
            TestMachines machines, @ForAll("swiotlb") SmallWorld world, @ForAll DmaProgram program) {
        DmaProgramRun run = DmaProgramRun.run(machines.start(world), program);
        reached("several maps", run.maps() > 4, 20);
        reached("failures", run.failures() > 0, 10);
    }

    private static boolean failedWith(CheckedMapping mapping, FailureReason reason) {
        return mapping.failure() != null && mapping.failure().reason() == reason;
    }

    private static long bytesBounced(Machine machine) {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return metrics.getOrDefault(Metric.BYTES_BOUNCED, 0L);
    }

    private static void reached(String what, boolean yes, double atLeastPercent) {
        Statistics.label(what).collect(yes).coverage(c -> c.check(true).percentage(p -> p >= atLeastPercent));
    }
}
