package io.pagewalk.backends.iommu.mapping;

import static io.pagewalk.backends.iommu.api.IommuDomainType.DMA;
import static io.pagewalk.backends.iommu.api.IommuDomainType.DMA_FQ;
import static io.pagewalk.backends.iommu.api.IommuDomainType.IDENTITY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaOps;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which domain a group gets, and how devices come behind it. */
class DefaultDomainsTest {
    private static final long RAM = 0x80_0000;
    private static final long PAGE = 0x1000;

    private final Machine machine = World.builder().build();
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_39);

    private IommuBackend backend(IommuDomainType type) {
        return new IommuBackend(
                machine,
                driver,
                SwiotlbBoot.boot(machine, BackendOptions.NONE, false),
                new IommuBoot(false, type, false));
    }

    private Device device(String name) {
        return device(DeviceConfig.named(name));
    }

    private Device device(DeviceConfig config) {
        return machine.addDevice(config);
    }

    private List<String> log() {
        return machine.log().entries().stream().map(entry -> entry.text()).toList();
    }

    @Test
    @DisplayName("iommu:CORE-4: the first need wins, identity over all")
    void needsOfMembersCombine() {
        assertThat(DefaultDomainType.combine(Arrays.asList(null, null))).isNull();
        assertThat(DefaultDomainType.combine(Arrays.asList(null, DMA, null))).isEqualTo(DMA);
        assertThat(DefaultDomainType.combine(Arrays.asList(DMA, IDENTITY))).isEqualTo(IDENTITY);
        assertThat(DefaultDomainType.combine(Arrays.asList(IDENTITY, DMA))).isEqualTo(IDENTITY);
    }

    @Test
    @DisplayName("iommu:CORE-4: need before default; untrusted means strict DMA, or nothing")
    void needComesBeforeTheDefault() {
        assertThat(DefaultDomainType.choose(null, false, DMA_FQ)).isEqualTo(DMA_FQ);
        assertThat(DefaultDomainType.choose(DMA, false, IDENTITY)).isEqualTo(DMA);
        assertThat(DefaultDomainType.choose(IDENTITY, false, DMA_FQ)).isEqualTo(IDENTITY);
        assertThat(DefaultDomainType.choose(null, true, IDENTITY)).isEqualTo(DMA);
        assertThat(DefaultDomainType.choose(DMA, true, DMA_FQ)).isEqualTo(DMA);
        assertThat(DefaultDomainType.choose(IDENTITY, true, DMA_FQ)).isNull();
    }

    @Test
    @DisplayName("iommu:CORE-4: an untrusted device that its driver will have in an identity domain only is refused")
    void untrustedDeviceThatNeedsIdentityIsRefused() {
        driver.prefer(IDENTITY);
        IommuBackend backend = backend(DMA_FQ);
        Device dock = device(DeviceConfig.named("dock").withTrusted(false));
        assertThatThrownBy(() -> backend.attach(dock))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the IOMMU cannot take dock: error 22");
    }

    @Test
    @DisplayName("iommu:CORE-3: a driver that wants strict gets it in place of lazy, not of identity")
    void driverMayWantStrict() {
        driver.wantStrict();
        IommuBackend lazy = backend(DMA_FQ);
        Device nic = device("nic");
        lazy.attach(nic);
        assertThat(lazy.defaultDomainOf(nic).type()).isEqualTo(DMA);
        IommuBackend identity = backend(IDENTITY);
        identity.attach(nic);
        assertThat(identity.defaultDomainOf(nic).type()).isEqualTo(IDENTITY);
    }

    @Test
    @DisplayName("iommu:DINIT-6: without deferred flushes, or without memory for the queue, lazy is strict")
    void lazyIsDemotedWhereItCannotBe() {
        driver.refuseDeferredFlush();
        IommuBackend backend = backend(DMA_FQ);
        Device nic = device("nic");
        backend.attach(nic);
        assertThat(backend.defaultDomainOf(nic).type()).isEqualTo(DMA);
        assertThat(log()).isEmpty();
    }

    @Test
    @DisplayName("iommu:DINIT-6, FQ-9: a queue that cannot be allocated is logged, and the domain is strict")
    void lazyIsDemotedWithoutMemory() {
        machine.failures().failNth("iommu.flush-queue", 1);
        IommuBackend backend = backend(DMA_FQ);
        Device nic = device("nic");
        backend.attach(nic);
        assertThat(backend.defaultDomainOf(nic).type()).isEqualTo(DMA);
        assertThat(log()).containsExactly("iova flush queue initialization failed");
        machine.failures().failNth("iommu.flush-queue", 1);
        assertThat(backend.setDefaultType(nic, "DMA-FQ")).isEqualTo(-Errno.ENOMEM);
        assertThat(backend.setDefaultType(nic, "DMA-FQ")).isZero();
    }

    @Test
    @DisplayName("iommu:CORE-5: a lazy domain that cannot be made is made strict, with a message; a strict one fails")
    void lazyFallsBackToStrict() {
        driver.failNewTables(1);
        IommuBackend backend = backend(DMA_FQ);
        Device nic = device("nic");
        backend.attach(nic);
        assertThat(backend.defaultDomainOf(nic).type()).isEqualTo(DMA);
        assertThat(log())
                .containsExactly("Failed to allocate default IOMMU domain of type 11 for group nic - Falling back to"
                        + " IOMMU_DOMAIN_DMA");
        driver.failNewTables(1);
        Device disk = device("disk");
        assertThatThrownBy(() -> backend(DMA).attach(disk)).isInstanceOf(DmaException.class);
    }

    @Test
    @DisplayName("iommu:CORE-8: what firmware keeps is mapped before the attach")
    void directMappingsComeBeforeTheAttach() {
        backend(DMA).attach(device(DeviceConfig.named("bmc").withFirmwareRegions(new PhysRange(RAM, RAM + 0x1fff))));
        assertThat(driver.mappedAtAttach).containsExactly(1);
        assertThat(driver.tables.get(0).iovaToPhys(RAM + 0x1fff)).isEqualTo(RAM + 0x1fff);
        assertThat(driver.calls).as("nothing to flush for no hardware").isEmpty();
    }

    @Test
    @DisplayName(
            "iommu:CORE-8: direct mappings that failed are tried again after the attach, flushed, or all is undone")
    void directMappingsAreTriedTwice() {
        DeviceConfig bmc = DeviceConfig.named("bmc").withFirmwareRegions(new PhysRange(RAM, RAM + 0x1fff));
        driver.failMaps(1);
        backend(DMA).attach(device(bmc));
        assertThat(driver.mappedAtAttach).containsExactly(0);
        assertThat(driver.tables.get(0).iovaToPhys(RAM)).isEqualTo(RAM);
        assertThat(driver.calls).containsExactly("domain");
    }

    @Test
    @DisplayName("iommu:CORE-8: a device whose firmware memory cannot be mapped stays blocked")
    void deviceWithoutItsFirmwareMemoryStaysBlocked() {
        driver.failMaps(2);
        IommuBackend backend = backend(DMA);
        Device bmc = device(DeviceConfig.named("bmc").withFirmwareRegions(new PhysRange(RAM, RAM + 0x1fff)));
        assertThatThrownBy(() -> backend.attach(bmc)).hasMessage("the IOMMU cannot take bmc: error 12");
        assertThat(driver.calls).endsWith("detach bmc", "destroy");
        assertThatThrownBy(() -> backend.domainOf(bmc)).hasMessage("bmc is not behind this machine's IOMMU");
    }

    @Test
    @DisplayName("iommu:CORE-32: pages that are mapped already are skipped, and the runs between them mapped")
    void mappedPagesAreSkipped() {
        TreeMapPageTable table = (TreeMapPageTable) driver.newTable();
        IommuDomain domain = new IommuDomain(machine, "bmc", table, driver, false, new IovaUsage(2));
        table.mapPages(RAM + PAGE, RAM + PAGE, PAGE, 1, 1);
        Device bmc = device(DeviceConfig.named("bmc").withFirmwareRegions(new PhysRange(RAM, RAM + 4 * PAGE - 1)));
        assertThat(DirectMappings.create(domain, bmc)).isZero();
        assertThat(table.leaves()).hasSize(4);
        assertThat(table.leaf(RAM + PAGE).prot()).as("the old one").isEqualTo(1);
        assertThat(table.leaf(RAM).prot()).isEqualTo(3);
        assertThat(table.leaf(RAM + 2 * PAGE).physAddr()).isEqualTo(RAM + 2 * PAGE);
    }

    @Test
    @DisplayName("iommu:DINIT-5, QK-20: devices of a group share addresses; only the first one's regions are reserved")
    void devicesOfAGroupShareTheirDomain() {
        IommuBackend backend = backend(DMA);
        Device a = device(DeviceConfig.named("a").withIommuGroup("slot"));
        Device b = device(DeviceConfig.named("b")
                .withIommuGroup("slot")
                .withFirmwareRegions(new PhysRange(0xffff_e000L, 0xffff_efffL)));
        DmaOps opsOfA = backend.attach(a);
        DmaOps opsOfB = backend.attach(b);
        assertThat(driver.tables).hasSize(1);
        assertThat(opsOfA.mapPage(a, 0, RAM, PAGE, DmaDirection.TO_DEVICE, 0)).isEqualTo(0xffff_f000L);
        assertThat(opsOfB.mapPage(b, 0, RAM, PAGE, DmaDirection.TO_DEVICE, 0))
                .as("mapped for firmware, but not reserved")
                .isEqualTo(0xffff_e000L);
        assertThat(backend.domainOf(b)).isSameAs(backend.domainOf(a));
        assertThat(backend.allocPagingDomain().attach(a)).as("iommu:GRP-2").isEqualTo(-Errno.EINVAL);
        assertThat(backend.attachIdentity(b)).isEqualTo(-Errno.EINVAL);
        assertThat(backend.reservedRegions(a)).hasSize(2);
    }

    @Test
    @DisplayName("iommu:CORE-4: an untrusted device does not join a group that is not strict")
    void untrustedDeviceJoinsStrictGroupsOnly() {
        IommuBackend backend = backend(DMA_FQ);
        backend.attach(device(DeviceConfig.named("a").withIommuGroup("slot")));
        Device b = device(DeviceConfig.named("b").withIommuGroup("slot").withTrusted(false));
        assertThatThrownBy(() -> backend.attach(b)).hasMessage("the IOMMU cannot take b: error 22");
        assertThat(backend.attach(device("c"))).isNotNull();
    }

    @Test
    @DisplayName("iommu:GRP-3: when a member cannot move, those that did move back, and the one that failed with them")
    void groupMovesAsOneOrNotAtAll() {
        IommuGroup group = new IommuGroup(BareDomain.identity(driver), BareDomain.blocked(driver));
        Device a = device("a");
        Device b = device("b");
        Device c = device("c");
        List.of(a, b, c).forEach(group::join);
        driver.calls.clear();
        driver.refuseAttach(b);
        TableDomain next = new IommuDomain(machine, "d", driver.newTable(), driver, false, new IovaUsage(2));
        assertThat(group.setDomain(next)).isEqualTo(-Errno.EINVAL);
        assertThat(driver.calls).containsExactly("attach a", "attach b", "identity a", "identity b");
        assertThat(group.current().type()).isEqualTo(IDENTITY);
    }

    @Test
    @DisplayName("iommu:DINIT-10: 256 identity pages for interrupt messages of VT-d")
    void interruptMessagesHaveIdentityPages() {
        IommuDomain domain = new IommuDomain(machine, "nic", driver.newTable(), driver, false, new IovaUsage(2));
        assertThat(domain.msiPages()).isZero();
        domain.init(device("nic"));
        assertThat(domain.msiPages()).isEqualTo(256);
        assertThat(domain.msiIova(0xfee0_0000L)).isEqualTo(0xfee0_0000L);
        assertThat(domain.msiIova(0xfeef_ffffL)).isEqualTo(0xfeef_ffffL);
        assertThat(domain.msiIova(0xfef0_0000L)).isZero();
        assertThat(domain.msiIova(0xfedf_ffffL)).isZero();
    }

    @Test
    @DisplayName("iommu:DINIT-5: a domain whose granule has changed takes no further device")
    void granuleMustStayTheSame() {
        TreeMapPageTable table = (TreeMapPageTable) driver.newTable();
        IommuDomain domain = new IommuDomain(machine, "a", table, driver, false, new IovaUsage(2));
        assertThat(domain.init(device("a"))).isZero();
        assertThat(domain.init(device("b"))).isZero();
        table.offer(1L << 16);
        assertThat(domain.init(device("c"))).isEqualTo(-Errno.EFAULT);
    }

    @Test
    @DisplayName(
            "iommu:FQ-1: one queue of 32767 for all CPUs where the driver shadows its tables, emptied after a second")
    void shadowedTablesShareOneLargeQueue() {
        driver.shadow();
        IommuBackend backend = backend(DMA_FQ);
        Device nic = device("nic");
        DmaOps ops = backend.attach(nic);
        for (int i = 0; i < 300; i++) {
            long dmaAddr = ops.mapPage(nic, i % 2, RAM, PAGE, DmaDirection.TO_DEVICE, 0);
            ops.unmapPage(nic, i % 2, dmaAddr, PAGE, DmaDirection.TO_DEVICE, 0);
        }
        machine.clock().advance(999_999_999);
        assertThat(driver.calls).doesNotContain("domain");
        machine.clock().advance(1);
        assertThat(driver.calls).containsOnlyOnce("domain");
    }
}
