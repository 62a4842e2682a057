package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PciBridge;
import io.pagewalk.dma.PciPlace;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Several units in one machine, and devices with several requester ids. */
class VtdUnitsTest {
    private static final long PAGE = VtdWorld.PAGE;

    private final Machine machine = VtdWorld.newMachine();

    /** Bus 3 meets unit 0, all others unit 1. */
    private static BackendOptions twoUnits() {
        return VtdWorld.smallPool().with("iommu.units", 2).with("iommu.unitOfBus3", 0);
    }

    private Device device(String name, int requesterId) {
        return machine.addDevice(DeviceConfig.named(name).withRequesterId(requesterId));
    }

    private static long metric(VtdDriver driver, Metric metric) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        driver.report(numbers::put);
        return numbers.getOrDefault(metric, -1L);
    }

    private static long translate(VtdDriver driver, Device device, long iova) {
        return driver.port(device).translate(iova, Access.READ);
    }

    private long contextLow(VtdDriver driver, int unit, int requesterId) {
        PhysicalMemory memory = machine.memory();
        long root = driver.registers(unit).read64(VtdRegisters.RTADDR);
        long rootEntry = memory.getLong(root + 16L * (requesterId >>> 8));
        return rootEntry == 0 ? 0 : memory.getLong((rootEntry & ~0xfffL) + 16L * (requesterId & 0xff));
    }

    private long contextHigh(VtdDriver driver, int unit, int requesterId) {
        long root = driver.registers(unit).read64(VtdRegisters.RTADDR);
        long rootEntry = machine.memory().getLong(root + 16L * (requesterId >>> 8));
        return machine.memory().getLong((rootEntry & ~0xfffL) + 16L * (requesterId & 0xff) + 8);
    }

    private static List<String> violations(VtdDriver driver) {
        List<String> violations = new ArrayList<>();
        driver.checkStructure(violations::add);
        return violations;
    }

    // ---- several units

    @Test
    void eachUnitTranslatesForItsOwnBuses() {
        VtdDriver driver = new VtdDriver(machine, twoUnits());
        Device left = device("left", 0x310);
        Device right = device("right", 0x410);
        PageTable tables = driver.newTable();
        driver.attach(left, tables);
        driver.attach(right, driver.newTable());
        tables.mapPages(0x5000, 0x800_0000, PAGE, 1, VtdWorld.RW);

        assertThat(driver.unitCount()).isEqualTo(2);
        assertThat(translate(driver, left, 0x5000)).isEqualTo(0x800_0000);
        assertThat(translate(driver, right, 0x5000)).isEqualTo(BusPort.fault(6));
        assertThat(driver.registers(0).read32(VtdRegisters.FSTS)).isZero();
        assertThat(driver.registers(1).read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_PPF);
        assertThat(contextLow(driver, 1, 0x310)).isZero();
        assertThat(metric(driver, Metric.TRANSLATION_FAULTS)).isEqualTo(1);
        assertThat(metric(driver, Metric.IOTLB_LOOKUPS)).as("of both").isEqualTo(2);
        assertThat(violations(driver)).isEmpty();
    }

    @Test
    @DisplayName("iommu:VTD-8: ids are the lowest free ones of each unit; the last device of a unit gives its id back")
    void domainIdsAreThoseOfEachUnit() {
        VtdDriver driver = new VtdDriver(machine, twoUnits());
        PageTable first = driver.newTable();
        PageTable second = driver.newTable();
        Device left = device("left", 0x310);
        Device right = device("right", 0x410);
        Device right2 = device("right2", 0x418);
        driver.attach(left, first);
        driver.attach(right, second);
        driver.attach(right2, first);

        assertThat(contextHigh(driver, 0, 0x310)).as("id 2").isEqualTo(0x202);
        assertThat(contextHigh(driver, 1, 0x410)).as("id 2 of the other unit").isEqualTo(0x202);
        assertThat(contextHigh(driver, 1, 0x418)).as("id 3").isEqualTo(0x302);
        driver.attach(right, first);
        assertThat(contextHigh(driver, 1, 0x410)).isEqualTo(0x302);
        Device late = device("late", 0x500);
        driver.attach(late, driver.newTable());
        assertThat(contextHigh(driver, 1, 0x500)).as("id 2 is free again").isEqualTo(0x202);
        driver.detach(right);
        driver.attach(right, driver.newTable());
        assertThat(contextHigh(driver, 1, 0x410)).as("id 3 is in use by right2").isEqualTo(0x402);
    }

    @Test
    @DisplayName("iommu:INV-13: an invalidation goes to every unit that has the domain, and to no other")
    void invalidationsGoToTheUnitsOfTheDomain() {
        VtdDriver driver = new VtdDriver(machine, twoUnits());
        PageTable shared = driver.newTable();
        Device left = device("left", 0x310);
        Device right = device("right", 0x410);
        int number = driver.attach(left, shared);
        assertThat(driver.attach(right, shared)).isEqualTo(number);
        shared.mapPages(0x5000, 0x800_0000, PAGE, 1, VtdWorld.RW);
        translate(driver, left, 0x5000);
        translate(driver, right, 0x5000);
        shared.unmapPages(0x5000, PAGE, new TablePageList());
        assertThat(translate(driver, right, 0x5000)).as("stale").isEqualTo(0x800_0000);
        long before = metric(driver, Metric.INVALIDATIONS_PAGE);
        long tail = driver.registers(1).read64(VtdRegisters.IQT);

        driver.invalidateRange(number, 0x5000, 0x5fff, true);

        assertThat(translate(driver, left, 0x5000)).isEqualTo(BusPort.fault(6));
        assertThat(translate(driver, right, 0x5000)).isEqualTo(BusPort.fault(6));
        assertThat(metric(driver, Metric.INVALIDATIONS_PAGE)).isEqualTo(before + 2);
        assertThat(driver.registers(1).read64(VtdRegisters.IQT))
                .as("one descriptor, one wait")
                .isEqualTo(tail + 0x20);
        driver.detach(right);
        long after = driver.registers(1).read64(VtdRegisters.IQT);
        driver.invalidateRange(number, 0x5000, 0x5fff, true);
        driver.invalidateDomain(number);
        assertThat(driver.registers(1).read64(VtdRegisters.IQT)).isEqualTo(after);
    }

    @Test
    @DisplayName("iommu:VTD-5: large pages of the sizes that all units have")
    void largePagesAreWhatAllUnitsHave() {
        VtdDriver driver = new VtdDriver(machine, twoUnits().with("iommu.unit1.superpages", 1));
        PageTable tables = driver.newTable();
        driver.attach(device("left", 0x310), tables);

        assertThat(tables.pageSizes()).isEqualTo(0x20_1000);
    }

    @Test
    @DisplayName("iommu:VTD-4: each unit narrows the tables, but not below another unit")
    void aUnitIsRefusedWhatItCannotWalk() {
        VtdDriver driver = new VtdDriver(machine, twoUnits().with("iommu.unit1.widthBits", 39));
        Device left = device("left", 0x310);
        Device right = device("right", 0x410);
        PageTable four = driver.newTable();
        PageTable three = driver.newTable();
        driver.attach(left, four);
        assertThat(driver.attach(right, three)).isPositive();

        assertThat(four.levels()).isEqualTo(4);
        assertThat(three.levels()).isEqualTo(3);
        assertThat(contextHigh(driver, 1, 0x410) & 7).as("AW").isEqualTo(1);
        assertThat(driver.attach(right, four)).isEqualTo(-Errno.EINVAL);
        assertThat(driver.attach(left, three)).as("four levels only").isEqualTo(-Errno.EINVAL);
        assertThat(four.levels()).isEqualTo(4);
        assertThat(translate(driver, right, 0x5000))
                .as("still behind its domain")
                .isEqualTo(BusPort.fault(6));
        driver.detach(left);
        assertThat(driver.attach(right, four)).isPositive();
        assertThat(four.levels()).isEqualTo(3);
    }

    @Test
    void theNarrowestUnitOfADomainSetsItsAperture() {
        VtdDriver driver =
                new VtdDriver(machine, twoUnits().with("iommu.widthBits", 48).with("iommu.unit1.widthBits", 42));
        PageTable shared = driver.newTable();
        driver.attach(device("left", 0x310), shared);
        assertThat(shared.apertureEnd()).isEqualTo((1L << 48) - 1);
        driver.attach(device("right", 0x410), shared);
        assertThat(shared.apertureEnd()).isEqualTo((1L << 42) - 1);
        driver.attach(device("left2", 0x318), shared);
        assertThat(shared.apertureEnd()).as("42 bits all the same").isEqualTo((1L << 42) - 1);
    }

    @Test
    void aUnitWithoutPassThroughAsksForDmaDomains() {
        VtdDriver driver = new VtdDriver(machine, twoUnits().with("iommu.unit1.passThrough", 0));
        assertThat(driver.preferredType(device("left", 0x310))).isNull();
        assertThat(driver.preferredType(device("right", 0x410))).isEqualTo(IommuDomainType.DMA);
    }

    @Test
    void closingTurnsEveryUnitOff() {
        VtdDriver driver = new VtdDriver(machine, twoUnits());
        Device right = device("right", 0x410);
        assertThat(translate(driver, right, 0x5000)).isEqualTo(BusPort.fault(1));
        driver.close();
        assertThat(translate(driver, right, 0x5000)).isEqualTo(0x5000);
        assertThat(driver.registers(0).read32(VtdRegisters.GSTS) >>> 31).isZero();
    }

    @Test
    void optionsOutOfRangeAreRefusedWithTheNumber() {
        assertThatThrownBy(() -> new VtdDriver(machine, BackendOptions.NONE.with("iommu.units", 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a machine has 1 to 64 VT-d units, not 0");
        assertThatThrownBy(() -> new VtdDriver(machine, BackendOptions.NONE.with("iommu.units", 65)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new VtdDriver(machine, twoUnits().with("iommu.unitOfBus7", 2)))
                .hasMessage("bus 7 meets unit 2, but there are units 0 to 1");
        assertThatThrownBy(() -> new VtdDriver(machine, twoUnits().with("iommu.unitOfBus7", -1)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    // ---- several ids of one device

    @Test
    @DisplayName("iommu:CTX-3: every id that requests of a device may carry has the same entry")
    void aliasesGetTheSameContextEntry() {
        VtdDriver driver = new VtdDriver(machine, VtdWorld.smallPool());
        PciBridge toPci = PciBridge.toConventional(0x200, 3);
        Device device = machine.addDevice(DeviceConfig.named("old")
                .withRequesterId(0x310)
                .withPciPlace(PciPlace.below(toPci).withAliases(0x311)));
        PageTable tables = driver.newTable();
        tables.mapPages(0x5000, 0x800_0000, PAGE, 1, VtdWorld.RW);
        driver.attach(device, tables);

        long low = tables.rootPhysAddr() | 1;
        assertThat(contextLow(driver, 0, 0x310)).isEqualTo(low);
        assertThat(contextLow(driver, 0, 0x311)).isEqualTo(low);
        assertThat(contextLow(driver, 0, 0x300)).isEqualTo(low);
        assertThat(translate(driver, device, 0x5000)).isEqualTo(0x800_0000);
        assertThat(translate(driver, device, 0x6000)).isEqualTo(BusPort.fault(6));
        assertThat(driver.registers().read64(VtdRegisters.FRCD + 8) & 0xffff)
                .as("the id that the request carried")
                .isEqualTo(0x300);
        driver.attachIdentity(device);
        assertThat(contextLow(driver, 0, 0x311)).isEqualTo(9);
        driver.detach(device);
        assertThat(contextLow(driver, 0, 0x300)).isZero();
        assertThat(contextLow(driver, 0, 0x311)).isZero();
    }

    @Test
    void anIdThatDevicesShareStaysUntilTheLastOneIsBlocked() {
        VtdDriver driver = new VtdDriver(machine, VtdWorld.smallPool());
        PciPlace place = PciPlace.below(PciBridge.toConventional(0x200, 3));
        Device a =
                machine.addDevice(DeviceConfig.named("a").withRequesterId(0x310).withPciPlace(place));
        Device b =
                machine.addDevice(DeviceConfig.named("b").withRequesterId(0x318).withPciPlace(place));
        PageTable tables = driver.newTable();
        tables.mapPages(0x5000, 0x800_0000, PAGE, 1, VtdWorld.RW);
        driver.attach(a, tables);
        driver.attach(b, tables);

        driver.detach(a);
        assertThat(contextLow(driver, 0, 0x310)).isZero();
        assertThat(translate(driver, b, 0x5000)).isEqualTo(0x800_0000);
        driver.detach(b);
        assertThat(translate(driver, b, 0x5000)).isEqualTo(BusPort.fault(2));
    }
}
