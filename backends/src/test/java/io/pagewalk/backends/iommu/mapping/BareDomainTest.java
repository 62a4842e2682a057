package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.direct.DirectPort;
import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Domains without a table, and the bus of a device with dma-ranges behind an identity domain (iommu:CORE-6, CORE-20).
 */
class BareDomainTest {
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_48);

    @Test
    void identityDomainShowsEveryAddressAsItself() {
        World world = World.strict();
        BareDomain identity = BareDomain.identity(driver);
        assertThat(identity.attachDevice(world.device)).isZero();
        assertThat(driver.calls).containsExactly("identity nic");
        assertThat(identity.type()).isEqualTo(IommuDomainType.IDENTITY);
        assertThat(identity.pageSizes()).isZero();
        assertThat(identity.apertureEnd()).isEqualTo(-1L);
        assertThat(identity.iovaToPhys(0x1234)).isEqualTo(0x1234);
        assertThat(identity.find(0x1234))
                .isEqualTo(new LiveMapping(0x1000, 0x1000, 0x1000, IommuProt.READ | IommuProt.WRITE, ""));
        assertThat(identity.leaves()).isEmpty();
        assertThat(identity.tablePages()).isZero();
        assertThat(identity.toText()).isEqualTo("identity domain\n");
        assertThat(identity.toJson())
                .isEqualTo("{\"type\":\"identity\",\"pageSizes\":\"0x0\",\"aperture\":[\"0x0\","
                        + "\"0xffffffffffffffff\"],\"tablePages\":0,\"leaves\":[],\"mappings\":[]}");
    }

    @Test
    void blockedDomainShowsNothing() {
        World world = World.strict();
        BareDomain blocked = BareDomain.blocked(driver);
        assertThat(blocked.attachDevice(world.device)).isZero();
        assertThat(driver.calls).containsExactly("detach nic");
        assertThat(blocked.type()).isEqualTo(IommuDomainType.BLOCKED);
        assertThat(blocked.apertureEnd()).isZero();
        assertThat(blocked.iovaToPhys(0x1234)).isZero();
        assertThat(blocked.find(0x1234)).isNull();
        assertThat(blocked.toText()).isEqualTo("blocked domain\n");
    }

    @Test
    void textOfADomainIsPlainAscii() {
        World world = World.strict();
        IommuDomain domain = new IommuDomain(
                world.machine,
                "a\"b\\c\u0001\u00e9~ ",
                new TreeMapPageTable(0x1000, 0xffff),
                driver,
                false,
                new IovaUsage(World.CPUS));
        long pfn = domain.iovas().allocFast(0, 1, 0xf, true);
        domain.core().map(pfn << 12, 0x5000, 0x1000, IommuProt.READ);
        assertThat(domain.toJson())
                .isEqualTo("{\"type\":\"DMA\",\"pageSizes\":\"0x1000\",\"aperture\":[\"0x0\",\"0xffff\"],"
                        + "\"tablePages\":1,\"leaves\":[{\"iova\":\"0xf000\",\"phys\":\"0x5000\",\"leaf\":\"0x1000\","
                        + "\"count\":1,\"perm\":\"r-\"}],\"mappings\":[{\"iova\":\"0xf000\",\"size\":\"0x1000\","
                        + "\"phys\":\"0x5000\",\"owner\":\"a\\\"b\\\\c\\u0001\\u00e9~ \"}]}");
        assertThat(domain.toText().lines())
                .containsExactly(
                        "DMA domain: page sizes 0x1000, aperture 0x0-0xffff, table pages 1",
                        "  0xf000 -> 0x5000 1 x 0x1000 r-",
                        "  mapping 0xf000+0x1000 -> 0x5000 of a\"b\\c\u0001\u00e9~ ");
    }

    @Test
    @DisplayName("iommu:GRP-2, GRP-4: a device with firmware memory cannot be blocked; another can, and comes back")
    void deviceIsBlockedAndComesBack() {
        World world = World.strict();
        assertThat(world.backend.attachBlocked(world.device)).isZero();
        assertThat(world.driver.calls).endsWith("detach nic");
        assertThat(world.backend.domainOf(world.device).type()).isEqualTo(IommuDomainType.BLOCKED);
        assertThat(world.backend.attachIdentity(world.device))
                .as("from blocked")
                .isZero();
        assertThat(world.backend.domainOf(world.device).type()).isEqualTo(IommuDomainType.IDENTITY);
        assertThat(world.backend.attachBlocked(world.device))
                .as("from identity")
                .isEqualTo(-Errno.EBUSY);
        world.backend.detach(world.device);
        assertThat(world.backend.domainOf(world.device)).isSameAs(world.backend.defaultDomainOf(world.device));
        assertThat(world.backend.domainOf(world.device).type()).isEqualTo(IommuDomainType.DMA);
        World firmware = World.strict(c -> c.withFirmwareRegions(PhysRange.ofSize(0x10_0000, 0x1000)));
        assertThat(firmware.backend.attachBlocked(firmware.device)).isEqualTo(-Errno.EINVAL);
        assertThat(firmware.backend.domainOf(firmware.device).type()).isEqualTo(IommuDomainType.DMA);
    }

    @Test
    @DisplayName("iommu:CORE-9: the type of a default domain is only ever made lazy")
    void defaultTypeIsOnlyMadeLazy() {
        World world = World.strict();
        assertThat(world.backend.setDefaultType(world.device, "DMA"))
                .as("is so already")
                .isZero();
        assertThat(world.backend.setDefaultType(world.device, "identity")).isEqualTo(-Errno.EPERM);
        assertThat(world.backend.setDefaultType(world.device, "auto")).isEqualTo(-Errno.EPERM);
        assertThat(world.backend.setDefaultType(world.device, "blocked")).isEqualTo(-Errno.EINVAL);
        assertThat(world.backend.setDefaultType(world.device, "")).isEqualTo(-Errno.EINVAL);
        assertThat(world.backend.defaultDomainOf(world.device).type()).isEqualTo(IommuDomainType.DMA);
        assertThat(world.backend.setDefaultType(world.device, "DMA-FQ")).isZero();
        assertThat(world.backend.defaultDomainOf(world.device).type()).isEqualTo(IommuDomainType.DMA_FQ);
        assertThat(world.backend.setDefaultType(world.device, "DMA-FQ")).isZero();
    }

    @Test
    void backendPromisesWhatItsDefaultTypeDoes() {
        World strict = World.strict();
        World lazy = World.lazy();
        assertThat(strict.backend.blocksAfterUnmap()).isTrue();
        assertThat(lazy.backend.blocksAfterUnmap()).isFalse();
        assertThat(strict.backend.ownsAddresses()).isTrue();
        assertThat(lazy.backend.ownsAddresses()).isTrue();
        assertThat(new IommuBackend(
                                strict.machine,
                                driver,
                                SwiotlbBoot.boot(strict.machine, BackendOptions.NONE, false),
                                new IommuBoot(false, IommuDomainType.IDENTITY, false))
                        .ownsAddresses())
                .isFalse();
        assertThat(strict.backend.part(Swiotlb.class)).isNotNull();
        assertThat(strict.backend.part(Iommu.class)).isSameAs(strict.backend);
        assertThat(strict.backend.part(String.class)).isNull();
    }

    /** An IOMMU that writes down what it is asked. */
    private static final class RecordingPort implements BusPort {
        final List<String> calls = new ArrayList<>();

        @Override
        public long beginAccess() {
            calls.add("begin");
            return 7;
        }

        @Override
        public void endAccess(long token) {
            calls.add("end " + token);
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            calls.add(access + " " + Long.toHexString(dmaAddr));
            return dmaAddr == 0x8000_2000L ? BusPort.fault(5) : dmaAddr + 0x10;
        }

        @Override
        public String faultText(int code) {
            return "unit says " + code;
        }
    }

    @Test
    @DisplayName("dma-ranges of a device behind an identity domain come before the IOMMU")
    void bridgeComesBeforeTheIommu() {
        RecordingPort unit = new RecordingPort();
        BridgePort port = new BridgePort(
                new DirectPort(
                        List.of(new DmaRange(0x8000_0000L, 0, 0x2800), new DmaRange(-0x1000L, 0x1_0000, 0x1000)), 0),
                unit);
        assertThat(port.beginAccess()).isEqualTo(7);
        assertThat(port.translate(0x1004, Access.WRITE)).isEqualTo(0x8000_1014L);
        assertThat(port.translate(0x2000, Access.READ)).isEqualTo(BusPort.fault(5));
        port.endAccess(7);
        assertThat(unit.calls).containsExactly("begin", "WRITE 80001004", "READ 80002000", "end 7");
        long outside = port.translate(0x2800, Access.READ);
        assertThat(outside).isEqualTo(BusPort.fault(0x401));
        assertThat(port.faultText(BusPort.faultCode(outside))).isEqualTo("no dma-ranges entry translates the address");
        assertThat(port.faultText(5)).isEqualTo("unit says 5");
        assertThat(port.translate(0x1_0000, Access.READ))
                .as("the bus has words of its own for what is no RAM")
                .isEqualTo(BusPort.fault(DeviceBus.NOT_RAM));
        assertThat(port.spanBytes(0x1004)).as("a page").isEqualTo(0xffc);
        assertThat(port.spanBytes(0x2700)).as("the entry's end").isEqualTo(0x100);
        assertThat(unit.calls).hasSize(4);
    }

    @Test
    @DisplayName("iommu.debug_pagealloc: a page that is freed while mapped is named with its iova")
    void pageFreedWhileMappedIsNamed() {
        World world = World.of(
                World.builder().commandLine("iommu.debug_pagealloc=1").build(),
                new RecordingDriver(RecordingDriver.APERTURE_48),
                false,
                c -> c);
        var pages = world.machine.pages();
        long block = pages.allocPages(Zone.NORMAL, 1);
        long dmaAddr = world.map(block, 0x2000);
        pages.freePages(block, 1);
        assertThat(warnings(world))
                .containsExactly(
                        String.format("page 0x%x is freed while still mapped by nic, iova 0x%x", block, dmaAddr),
                        String.format(
                                "page 0x%x is freed while still mapped by nic, iova 0x%x",
                                block + 0x1000, dmaAddr + 0x1000));
        world.unmap(dmaAddr, 0x2000);
        long again = pages.allocPages(Zone.NORMAL, 0);
        long first = world.map(again, 0x1000);
        world.unmap(first, 0x1000);
        pages.freePages(again, 0);
        assertThat(warnings(world)).as("unmapped before it was freed").hasSize(2);
        World quiet = World.of(
                World.builder().commandLine("iommu.debug_pagealloc=0").build(),
                new RecordingDriver(RecordingDriver.APERTURE_48),
                false,
                c -> c);
        long page = quiet.machine.pages().allocPages(Zone.NORMAL, 0);
        quiet.map(page, 0x1000);
        quiet.machine.pages().freePages(page, 0);
        assertThat(warnings(quiet)).isEmpty();
    }

    private static List<String> warnings(World world) {
        return world.machine.log().entries().stream()
                .filter(entry -> entry.site().equals("iommu_debug_pagealloc"))
                .map(entry -> entry.text())
                .toList();
    }

    @Test
    @DisplayName("iommu:CORE-17: a map that the hardware could not be told of is taken back")
    void mapThatCannotBeSyncedIsTakenBack() {
        World world = World.strict();
        TreeMapPageTable table = new TreeMapPageTable(TreeMapPageTable.SIZES_4K_2M_1G, RecordingDriver.APERTURE_48);
        IommuCore core = new IommuCore(table, failingSync(world.driver), world.machine.log());
        assertThat(core.map(0x1000, 0x5000, 0x1000, IommuProt.READ))
                .as("before an attach")
                .isZero();
        core.attachedAs(2);
        assertThat(core.map(0x3000, 0x7000, 0x2000, IommuProt.READ)).isEqualTo(-Errno.EIO);
        assertThat(table.leaves()).containsOnlyKeys(0x1000L);
        assertThat(world.driver.calls).containsExactly("range 0x3000-0x4fff leaf");
        var sg = new SgTable(1).add(0x9000, 0x1000);
        assertThat(core.mapSg(0x8000, sg, 1, IommuProt.READ)).isEqualTo(-Errno.EIO);
        assertThat(table.leaves()).containsOnlyKeys(0x1000L);
    }

    private static IommuDriver failingSync(RecordingDriver driver) {
        return (IommuDriver) Proxy.newProxyInstance(
                BareDomainTest.class.getClassLoader(),
                new Class<?>[] {IommuDriver.class},
                (proxy, method, args) -> method.getName().equals("syncMap") ? -Errno.EIO : method.invoke(driver, args));
    }

    @Test
    @DisplayName("iommu:DALLOC-5, MSK-12: what the operations say of themselves")
    void operationsSayWhatTheyAre() {
        World world = World.strict();
        assertThat(world.ops.isDmaIommu(world.device)).isTrue();
        assertThat(world.ops.isMaskSupported(world.device, 0)).isTrue();
        assertThat(world.ops.optMappingSize(world.device)).isEqualTo(0x2_0000);
        assertThat(world.ops.requiredMask(world.device)).isEqualTo(0xffff_ffffL);
        assertThat(world.ops.mergeBoundary(world.device)).isEqualTo(0xfff);
        assertThat(world.ops.maxMappingSize(world.device)).isEqualTo(-1L);
    }

    @Test
    void mappingIsFoundByAnyOfItsAddresses() {
        World world = World.strict(c -> c.withFirmwareRegions(PhysRange.ofSize(0x10_0000, 0x2000)));
        IommuDomain domain = (IommuDomain) world.backend.domainOf(world.device);
        long dmaAddr = world.map(0x5000, 0x3000);
        assertThat(domain.find(dmaAddr + 0x2fff))
                .isEqualTo(new LiveMapping(dmaAddr, 0x3000, 0x5000, IommuProt.READ | IommuProt.WRITE, "nic"));
        assertThat(domain.find(dmaAddr - 1)).isNull();
        LiveMapping firmware = domain.find(0x10_1000);
        assertThat(firmware)
                .isEqualTo(new LiveMapping(0x10_0000, 0x2000, 0x10_0000, IommuProt.READ | IommuProt.WRITE, "firmware"));
        domain.core().map(0x7000_0000, 0x9000, 0x1000, IommuProt.READ);
        assertThat(domain.find(0x7000_0123))
                .as("in no range")
                .isEqualTo(new LiveMapping(0x7000_0000, 0x1000, 0x9000, IommuProt.READ, ""));
        assertThat(domain.mappings()).extracting(LiveMapping::owner).containsExactly("firmware", "nic");
    }

    @Test
    void untrustedDeviceHasThePoolReported() {
        assertThat(World.strict().report()).doesNotContainKey(Metric.POOL_SLOTS);
        assertThat(World.untrusted(c -> c).report()).containsEntry(Metric.POOL_SLOTS, 1024L);
    }
}
