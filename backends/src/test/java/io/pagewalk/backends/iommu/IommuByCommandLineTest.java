package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Backend {@code iommu}, which is what the command line makes of it. */
class IommuByCommandLineTest {
    private static final long PAGE = 0x1000;

    private static MachineBuilder builder(String commandLine) {
        return Machine.builder()
                .ramBytes(128 << 20)
                .commandLine(commandLine)
                .backend("iommu")
                .backendOptions(BackendOptions.NONE.with("iommu.tablePoolBytes", 64 * PAGE));
    }

    private static long map(Device device, long physAddr, long sizeBytes) {
        return device.dma().mapPage(physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
    }

    private static void assertIdle(Machine machine) {
        List<String> violations = new ArrayList<>();
        machine.quiesce();
        machine.checkStructure(violations::add);
        machine.checkIdle(violations::add);
        assertThat(violations).isEmpty();
    }

    private static Map<Metric, Long> report(Machine machine) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        machine.report(numbers::put);
        return numbers;
    }

    @Test
    void isFoundByNameButNotShownBesideItsVariants() {
        assertThat(DmaBackends.all()).extracting(DmaBackends.Found::name).doesNotContain("iommu");
        assertThat(DmaBackends.byName("iommu").summary()).isEqualTo("VT-d as the kernel command line has it");
    }

    @Test
    @DisplayName("iommu:CORE-2: lazy by default, strict on request; the promise of the machine follows")
    void lazyByDefaultStrictOnRequest() {
        try (Machine lazy = builder("quiet").build();
                Machine strict = builder("intel_iommu=on iommu.strict=1").build()) {
            Device first = lazy.addDevice(DeviceConfig.named("nic"));
            Device second = strict.addDevice(DeviceConfig.named("nic"));
            assertThat(Iommu.of(lazy).defaultDomainOf(first).type()).isEqualTo(IommuDomainType.DMA_FQ);
            assertThat(Iommu.of(strict).defaultDomainOf(second).type()).isEqualTo(IommuDomainType.DMA);
            assertThat(lazy.blocksAfterUnmap()).isFalse();
            assertThat(strict.blocksAfterUnmap()).isTrue();
            assertThat(lazy.ownsAddresses()).isTrue();
        }
    }

    @Test
    @DisplayName("intel_iommu=off: the machine is one without an IOMMU")
    void offIsDirect() {
        try (Machine machine = builder("intel_iommu=off").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            assertThat(map(device, 0x123456, 8)).isEqualTo(0x123456);
            assertThatThrownBy(() -> Iommu.of(machine)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    @DisplayName("dma-core:DEV-11, iommu:QK-21: behind an identity domain everything is as without an IOMMU")
    void identityIsAsWithoutAnIommu() {
        try (Machine pt = builder("iommu=pt").build();
                Machine direct = builder("quiet").backend("direct").build()) {
            DeviceConfig config = DeviceConfig.named("nic").withStreamingMask(0xfff_ffffL);
            Device there = pt.addDevice(config);
            Device here = direct.addDevice(config);
            assertThat(Iommu.of(pt).domainOf(there).type()).isEqualTo(IommuDomainType.IDENTITY);
            assertThat(map(there, 0x123456, 8)).isEqualTo(0x123456).isEqualTo(map(here, 0x123456, 8));
            assertThat(there.dma().requiredMask()).isEqualTo(here.dma().requiredMask());
            assertThat(there.setMask(0xff_ffffL)).isEqualTo(here.setMask(0xff_ffffL));
            assertThat(there.dma().maxMappingSize()).isEqualTo(here.dma().maxMappingSize());
            assertThat(there.dma().optMappingSize()).isEqualTo(here.dma().optMappingSize());
            assertThat(there.skipsSync()).isEqualTo(here.skipsSync());
            assertThat(pt.ownsAddresses()).isFalse();
            assertThat(pt.blocksAfterUnmap()).isFalse();
            try (CoherentBuffer buffer = there.dma().alloc(PAGE)) {
                buffer.putLong(0, 0x42);
                assertThat(there.bus().readLong(buffer.dmaAddr())).isEqualTo(0x42);
            }
            assertIdle(pt);
        }
    }

    @Test
    @DisplayName("iommu:CTX-3: the unit reads a pass-through context entry, and lets all addresses of its width pass")
    void unitPassesAddressesOfAnIdentityDomain() {
        try (Machine machine = builder("iommu.passthrough=1").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.memory().putLong(0x20_0000, 0x77);
            assertThat(device.bus().readLong(0x20_0000)).isEqualTo(0x77);
            assertThat(device.bus().readLong(1L << 50)).isEqualTo(-1L);
            assertThat(machine.faults().recent().get(0).reason()).isNotEmpty();
        }
    }

    @Test
    @DisplayName("iommu:DEV-11 with dma-ranges: the bridge in front of the unit moves addresses as it does without one")
    void identityKeepsTheOffsetsOfDmaRanges() {
        DmaRange range = new DmaRange(0, 0x8000_0000L, 64 << 20);
        try (Machine machine = builder("iommu=pt").build()) {
            Device device = machine.addDevice(DeviceConfig.named("soc").withRanges(range));
            machine.memory().putLong(0x20_0000, 0x77);
            long dmaAddr = map(device, 0x20_0000, 8);
            assertThat(dmaAddr).isEqualTo(0x8020_0000L);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x77);
            byte[] bytes = new byte[0x20];
            assertThat(device.bus().read(0x83ff_fff0L, bytes, 0, 0x20)).isEqualTo(0x10);
            assertThat(machine.faults().recent().get(0).reason())
                    .isEqualTo("no dma-ranges entry translates the address");
            assertThat(device.bus().readLong(0x20_0000)).isEqualTo(-1L);
        }
    }

    @Test
    @DisplayName("iommu:CORE-4, QK-25: an untrusted device gets strict DMA whatever the command line says")
    void untrustedDeviceAlwaysGetsADmaDomain() {
        for (String commandLine : List.of("iommu=pt swiotlb=1024,force", "iommu.strict=0 swiotlb=1024,force")) {
            try (Machine machine = builder(commandLine).build()) {
                Device dock = machine.addDevice(DeviceConfig.named("dock").withTrusted(false));
                assertThat(Iommu.of(machine).domainOf(dock).type()).isEqualTo(IommuDomainType.DMA);
                long dmaAddr = map(dock, 0x20_0000, PAGE);
                assertThat(dmaAddr).isEqualTo(0xfffff000L);
                dock.dma().unmapPage(dmaAddr, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
                assertThat(dock.bus().readLong(dmaAddr)).isEqualTo(-1L);
                assertThat(report(machine)).containsKey(Metric.POOL_SLOTS);
            }
        }
    }

    @Test
    @DisplayName("iommu:CORE-7: a unit that cannot let addresses pass gets DMA domains under iommu=pt")
    void unitWithoutPassThroughTranslates() {
        BackendOptions options =
                BackendOptions.NONE.with("iommu.passThrough", 0).with("iommu.tablePoolBytes", 16 * PAGE);
        try (Machine machine = builder("iommu=pt").backendOptions(options).build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            assertThat(Iommu.of(machine).domainOf(device).type()).isEqualTo(IommuDomainType.DMA);
            assertThat(map(device, 0x20_0000, PAGE)).isEqualTo(0xfffff000L);
        }
    }

    @Test
    @DisplayName("iommu:VTD-5: intel_iommu=sp_off takes large pages away")
    void superpagesCanBeTurnedOff() {
        try (Machine machine = builder("intel_iommu=on,sp_off").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            assertThat(domain.attach(device)).isZero();
            assertThat(domain.pageSizes()).isEqualTo(PAGE);
        }
    }

    @Test
    @DisplayName("iommu:DINIT-12: forcedac skips the first try below 4 GiB")
    void forceDacStartsAtTheTop() {
        for (String backend : List.of("iommu", "iommu-strict", "iommu-lazy")) {
            try (Machine machine = builder("iommu.forcedac=1").backend(backend).build()) {
                Device device = machine.addDevice(DeviceConfig.named("nic"));
                assertThat(map(device, 0x20_0000, PAGE)).isEqualTo(0xffff_ffff_f000L);
            }
        }
    }

    @Test
    @DisplayName("fixed variants keep their domain type against the command line")
    void fixedVariantsKeepTheirType() {
        String all = "iommu=pt iommu.strict=1 intel_iommu=off";
        try (Machine lazy = builder(all).backend("iommu-lazy").build();
                Machine strict = builder("iommu=pt").backend("iommu-strict").build()) {
            assertThat(Iommu.of(lazy)
                            .domainOf(lazy.addDevice(DeviceConfig.named("nic")))
                            .type())
                    .isEqualTo(IommuDomainType.DMA_FQ);
            assertThat(Iommu.of(strict)
                            .domainOf(strict.addDevice(DeviceConfig.named("nic")))
                            .type())
                    .isEqualTo(IommuDomainType.DMA);
        }
    }

    @Test
    @DisplayName(
            "D8, iommu:CORE-8, CORE-32, VTD-6: what firmware keeps is mapped to itself before the device is let on")
    void firmwareRegionsAreReachableFromTheFirstMomentOn() {
        PhysRange rmrr = new PhysRange(0x200_0000, 0x23f_ffff);
        try (Machine machine = builder("iommu.strict=1").build()) {
            machine.memory().putLong(0x212_3458, 0x99);
            Device device = machine.addDevice(DeviceConfig.named("bmc").withFirmwareRegions(rmrr));
            assertThat(device.bus().readLong(0x212_3458)).isEqualTo(0x99);
            assertThat(device.bus().readLong(0x240_0000)).isEqualTo(-1L);
            assertThat(Iommu.of(machine).domainOf(device).leaves())
                    .as("4 KiB leaves, since the unit was not known yet")
                    .singleElement()
                    .satisfies(run -> {
                        assertThat(run.iova()).isEqualTo(0x200_0000);
                        assertThat(run.physAddr()).isEqualTo(0x200_0000);
                        assertThat(run.leafBytes()).isEqualTo(PAGE);
                        assertThat(run.count()).isEqualTo(0x400);
                    });
            assertThat(Iommu.of(machine).domainOf(device).find(0x212_3458))
                    .satisfies(found -> assertThat(found.owner()).isEqualTo("firmware"));
            assertThat(Iommu.of(machine).attachBlocked(device))
                    .as("iommu:GRP-4")
                    .isEqualTo(-Errno.EINVAL);
            assertIdle(machine);
        }
    }

    @Test
    @DisplayName("iommu:GRP-2, CORE-6: identity and blocked domains of one's own choice, and the way back")
    void deviceCanBePassedThroughAndBlocked() {
        try (Machine machine = builder("iommu.strict=1").build()) {
            Iommu iommu = Iommu.of(machine);
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.memory().putLong(0x20_0000, 0x77);
            assertThat(device.bus().readLong(0x20_0000)).isEqualTo(-1L);
            assertThat(iommu.attachIdentity(device)).isZero();
            assertThat(device.bus().readLong(0x20_0000)).isEqualTo(0x77);
            assertThat(iommu.domainOf(device).iovaToPhys(0x20_0000)).isEqualTo(0x20_0000);
            assertThat(iommu.attachBlocked(device)).isEqualTo(-Errno.EBUSY);
            iommu.detach(device);
            long dmaAddr = map(device, 0x20_0000, PAGE);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x77);
            assertThat(iommu.attachBlocked(device)).isZero();
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(-1L);
            assertThat(iommu.domainOf(device).iovaToPhys(dmaAddr)).isZero();
            assertThat(iommu.attachIdentity(device)).as("from blocked on").isZero();
            iommu.detach(device);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x77);
        }
    }

    @Test
    @DisplayName("iommu:CORE-9: a strict group turns lazy while mappings are live; other changes need unbound drivers")
    void groupTurnsLazyLive() {
        try (Machine machine = builder("iommu.strict=1").build()) {
            Iommu iommu = Iommu.of(machine);
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.memory().putLong(0x20_0000, 0x77);
            long dmaAddr = map(device, 0x20_0000, PAGE);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x77);
            assertThat(iommu.setDefaultType(device, "dma")).isEqualTo(-Errno.EINVAL);
            assertThat(iommu.setDefaultType(device, "DMA")).isZero();
            assertThat(iommu.setDefaultType(device, "identity")).isEqualTo(-Errno.EPERM);
            assertThat(iommu.setDefaultType(device, "auto")).isEqualTo(-Errno.EPERM);
            assertThat(iommu.setDefaultType(device, "DMA-FQ")).isZero();
            assertThat(iommu.setDefaultType(device, "DMA-FQ")).isZero();
            assertThat(iommu.domainOf(device).type()).isEqualTo(IommuDomainType.DMA_FQ);
            assertThat(iommu.setDefaultType(device, "DMA")).isEqualTo(-Errno.EPERM);
            device.dma().unmapPage(dmaAddr, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            assertThat(device.bus().readLong(dmaAddr))
                    .as("stale until the flush")
                    .isEqualTo(0x77);
            machine.clock().advance(10_000_000);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(-1L);
            assertIdle(machine);
        }
    }

    @Test
    @DisplayName("a device that keeps the platform's operations faults on whatever it is given (iommu:DINIT-11)")
    void deviceBeyondTheApertureFaults() {
        try (Machine machine = builder("iommu.strict=1").build()) {
            Device device =
                    machine.addDevice(DeviceConfig.named("far").withRanges(new DmaRange(0, 1L << 50, 1L << 30)));
            long dmaAddr = map(device, 0x20_0000, 8);
            assertThat(dmaAddr).isEqualTo((1L << 50) + 0x20_0000);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(-1L);
        }
    }
}
