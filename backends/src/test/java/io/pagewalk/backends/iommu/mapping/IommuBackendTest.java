package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.direct.DirectOps;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.iova.IovaTree;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Domains as they begin, and the checks over a whole backend. */
class IommuBackendTest {
    private static final long RAM = 0x80_0000;
    private static final long PAGE = 0x1000;

    private static IommuDomain domain(Machine machine, DeviceConfig config, RecordingDriver driver) {
        return new IommuDomain(machine, config.name(), driver.newTable(), driver, false, new IovaUsage(machine.cpus()));
    }

    private static List<String> ranges(IovaDomain iovas) {
        List<String> all = new ArrayList<>();
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            all.add(String.format("%x-%x", tree.lo(range), tree.hi(range)));
        }
        return all;
    }

    /** The windows of a PC are cut into by what is reserved around inbound windows (iommu:IOVA-21). */
    private static List<String> reservedFor(DeviceConfig config) {
        Machine machine = World.builder().hostBridgeWindows(World.pcWindows()).build();
        IommuDomain domain = domain(machine, config, new RecordingDriver(RecordingDriver.APERTURE_48));
        assertThat(domain.init(machine.addDevice(config))).isZero();
        return ranges(domain.iovas());
    }

    @Test
    @DisplayName("iommu:DINIT-7, DINIT-9: bridge windows and interrupts are reserved for PCI, interrupts for all")
    void windowsAndInterruptsAreReserved() {
        assertThat(reservedFor(DeviceConfig.named("nic"))).containsExactly("a0-bf", "c0000-febff", "fee00-feeff");
        assertThat(reservedFor(DeviceConfig.named("soc").withPci(false))).containsExactly("fee00-feeff");
    }

    @Test
    @DisplayName("iommu:DINIT-8: what lies between inbound windows is reserved, and the first granule of each")
    void spaceBetweenInboundWindowsIsReserved() {
        DeviceConfig config = DeviceConfig.named("nic")
                .withRanges(
                        new DmaRange(0x4000_0000L, 0x8000_0000L, 0x1000_0000L),
                        new DmaRange(0, 0x1000_0000L, 0x1000_0000L));
        assertThat(reservedFor(config))
                .containsExactly("0-bf", "c0-10000", "20000-80000", "90000-febff", "fec00-fffffffffffff");
    }

    @Test
    @DisplayName("iommu:DINIT-8: windows that overlap do not initialise")
    void overlappingInboundWindowsAreRefused() {
        DeviceConfig config = DeviceConfig.named("nic")
                .withRanges(new DmaRange(0, 0x1000_0000L, 0x1000_0000L), new DmaRange(0, 0x1800_0000L, 0x1000_0000L));
        Machine machine = World.builder().build();
        assertThat(domain(machine, config, new RecordingDriver(RecordingDriver.APERTURE_48))
                        .init(machine.addDevice(config)))
                .isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName(
            "iommu:DINIT-4, DINIT-11: a device whose windows the domain cannot hold keeps the platform's operations")
    void deviceBeyondTheApertureKeepsPlatformOps() {
        DmaRange beyond = new DmaRange(0, 1L << 40, 1L << 30);
        RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_39);
        Machine machine = World.builder().build();
        try (World world = World.of(machine, driver, false, c -> c.withRanges(beyond))) {
            assertThat(world.ops).isInstanceOf(DirectOps.class);
            assertThat(machine.log().entries().get(0).text())
                    .isEqualTo("Failed to set up IOMMU for device nic (error 14); retaining platform DMA ops");
        }
    }

    @Test
    @DisplayName("iommu:DINIT-3: address page 0 is never given")
    void pageZeroIsNeverGiven() {
        try (World world = World.strict(config -> config.withStreamingMask(0x3fffL))) {
            List<Long> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                all.add(world.map(RAM, PAGE));
            }
            assertThat(all).containsExactly(0x3000L, 0x2000L, 0x1000L, -1L);
        }
    }

    @Test
    void quiesceReturnsEverything() {
        try (World world = World.lazy()) {
            for (int i = 0; i < 1000; i++) {
                long dmaAddr = world.map(i % 2, RAM, PAGE);
                world.unmap((i + 1) % 2, dmaAddr, PAGE);
            }
            assertThat(world.idleViolations()).isNotEmpty();
            world.assertNothingIsHeld();
            assertThat(ranges(new IovaDomain(world.machine, PAGE, 1, true))).isEmpty();
        }
    }

    @Test
    void reportCountsAddressesAndFlushes() {
        try (World world = World.lazy()) {
            long first = world.map(0, RAM, 4 * PAGE);
            long second = world.map(1, RAM, 3 * PAGE);
            assertThat(world.report()).containsEntry(Metric.IOVA_HELD_BYTES, 7 * PAGE);
            world.unmap(1, first, 4 * PAGE);
            world.unmap(0, second, 3 * PAGE);
            world.machine.clock().advance(10_000_000);
            assertThat(world.report())
                    .containsEntry(Metric.IOVA_HELD_BYTES, 0L)
                    .containsEntry(Metric.IOVA_PEAK_BYTES, 7 * PAGE)
                    .containsEntry(Metric.FLUSHES, 1L)
                    .doesNotContainKey(Metric.POOL_SLOTS);
        }
    }

    @Test
    void idleCheckNamesWhatIsHeld() {
        try (World world = World.strict()) {
            world.map(RAM, 2 * PAGE);
            assertThat(world.idleViolations())
                    .containsExactly(
                            "nic: iova 0xffffe000 to 0xffffffff is still taken",
                            "mappings hold 8192 bytes of device addresses");
        }
    }

    @Test
    void idleCheckFindsWhatIsFreeButMapped() {
        try (World world = World.strict()) {
            long dmaAddr = world.map(RAM, 2 * PAGE);
            world.unmap(dmaAddr, 2 * PAGE);
            world.backend.quiesce();
            world.table.mapPages(dmaAddr + PAGE, RAM, PAGE, 1, 3);
            assertThat(world.idleViolations()).containsExactly("nic: iova 0xfffff000 is free but still mapped");
        }
    }

    @Test
    void structureCheckFindsWhatIsTakenButNotMapped() {
        try (World world = World.strict()) {
            long dmaAddr = world.map(RAM, PAGE);
            world.table.unmapPages(dmaAddr, PAGE, new TablePageList());
            assertThat(world.structureViolations()).containsExactly("nic: iova 0xfffff000 is taken but not mapped");
        }
    }

    @Test
    @DisplayName("domains are apart: two devices get the same addresses")
    void devicesHaveDomainsOfTheirOwn() {
        try (World world = World.strict()) {
            Device second = world.machine.addDevice(DeviceConfig.named("disk"));
            long other = world.backend.attach(second).mapPage(second, 0, RAM, PAGE, DmaDirection.TO_DEVICE, 0);
            assertThat(other).isEqualTo(world.map(RAM, PAGE));
        }
    }
}
