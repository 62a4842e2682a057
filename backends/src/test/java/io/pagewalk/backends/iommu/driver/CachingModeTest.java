package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Units that cache what is not mapped, and the driver that tells them of mappings. iommu:CORE-3, CTX-5, INV-1, INV-14.
 */
class CachingModeTest {
    private static final long PAGE = VtdWorld.PAGE;

    private static VtdWorld world() {
        return VtdWorld.create(VtdWorld.smallPool().with("iommu.cachingMode", 1));
    }

    @Test
    @DisplayName("INV-1: without a word to the unit, a page that was asked for too early stays out of reach")
    void aPageThatWasAskedForTooEarlyStaysOutOfReach() {
        VtdWorld world = world();
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(6));
        world.map(0x5000, 0x800_0000, PAGE, 1);

        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(6));
        assertThat(world.driver.syncMap(world.domainId, 0x5000, PAGE)).isZero();
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    @DisplayName("INV-14: a map invalidates its range, upper levels too; without caching mode it invalidates nothing")
    void aMapInvalidatesItsRange() {
        VtdWorld world = world();
        long pages = world.metric(Metric.INVALIDATIONS_PAGE);
        world.driver.syncMap(world.domainId, 0x3000, 3 * PAGE);
        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(pages + 1);
        long tail = world.driver.registers().read64(0x88) >>> 4;
        long queue = world.driver.registers().read64(0x90) & ~0xfffL;
        assertThat(world.machine.memory().getLong(queue + 16 * (tail - 2) + 8))
                .as("8 pages from 0 on, IH 0")
                .isEqualTo(3);
        world.driver.syncMap(world.domainId, 0x3000, 0);
        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(pages + 1);
        long domains = world.metric(Metric.INVALIDATIONS_DOMAIN);
        world.driver.syncMap(world.domainId, 0, 1L << 40);
        assertThat(world.metric(Metric.INVALIDATIONS_DOMAIN)).as("beyond MAMV").isEqualTo(domains + 1);
        world.driver.syncMap(world.domainId, 0x1000, -0x1000L);
        assertThat(world.metric(Metric.INVALIDATIONS_DOMAIN)).isEqualTo(domains + 2);

        VtdWorld plain = VtdWorld.create();
        long before = plain.metric(Metric.INVALIDATIONS_PAGE);
        plain.driver.syncMap(plain.domainId, 0x3000, PAGE);
        assertThat(plain.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(before);
    }

    @Test
    @DisplayName("CTX-5: a new context entry is told of under domain 0, so that a device that was early is let in")
    void aDeviceThatWasBlockedIsLetIn() {
        VtdWorld world = world();
        Device early = world.machine.addDevice(DeviceConfig.named("early").withRequesterId(0x318));
        BusPort port = world.driver.port(early);
        assertThat(port.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(2));
        world.map(0x5000, 0x800_0000, PAGE, 1);
        long contexts = world.metric(Metric.INVALIDATIONS_CONTEXT);
        long domains = world.metric(Metric.INVALIDATIONS_DOMAIN);

        world.driver.attach(early, world.table);

        assertThat(port.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        assertThat(world.metric(Metric.INVALIDATIONS_CONTEXT)).isEqualTo(contexts + 1);
        assertThat(world.metric(Metric.INVALIDATIONS_DOMAIN)).isEqualTo(domains + 1);
        world.driver.detach(early);
        assertThat(port.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(2));
        world.driver.attachIdentity(early);
        assertThat(port.translate(0x5000, Access.READ)).isEqualTo(0x5000);
    }

    @Test
    void onlyUnitsInCachingModeAreTold() {
        Machine machine = VtdWorld.newMachine();
        BackendOptions options = VtdWorld.smallPool()
                .with("iommu.units", 2)
                .with("iommu.unitOfBus3", 0)
                .with("iommu.unit1.cachingMode", 1);
        VtdDriver driver = new VtdDriver(machine, options);
        var table = driver.newTable();
        int number = driver.attach(machine.addDevice(DeviceConfig.named("a").withRequesterId(0x310)), table);
        driver.attach(machine.addDevice(DeviceConfig.named("b").withRequesterId(0x410)), table);
        long left = driver.registers(0).read64(0x88);
        long right = driver.registers(1).read64(0x88);

        driver.syncMap(number, 0x5000, PAGE);

        assertThat(driver.wantsStrict()).isTrue();
        assertThat(driver.registers(0).read64(0x88)).isEqualTo(left);
        assertThat(driver.registers(1).read64(0x88)).isEqualTo(right + 0x20);
    }

    @Test
    @DisplayName("CORE-3: caching mode makes lazy domains strict, and mappings work through the whole machine")
    void aWholeMachineInCachingModeIsStrict() {
        try (Machine machine = Machine.builder()
                .ramBytes(64 << 20)
                .backend("iommu-lazy")
                .backendOptions(BackendOptions.NONE.with("iommu.cachingMode", 1))
                .build()) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            assertThat(Iommu.of(machine).domainOf(nic).type()).isEqualTo(IommuDomainType.DMA);
            assertThat(nic.bus().readLong(0xffff_f000L)).isEqualTo(-1L);
            machine.memory().putLong(0x80_0000, 42);
            long dmaAddr = nic.dma().mapPage(0x80_0000, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            assertThat(dmaAddr).isEqualTo(0xffff_f000L);
            assertThat(nic.bus().readLong(dmaAddr)).isEqualTo(42);
            nic.dma().unmapPage(dmaAddr, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            assertThat(nic.bus().readLong(dmaAddr)).isEqualTo(-1L);
        }
    }
}
