package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import org.junit.jupiter.api.Test;

/** The driver and its unit together: attaching, caching, invalidating. */
class VtdDriverTest {
    private static final long PAGE = VtdWorld.PAGE;
    private static final long MIB2 = 2L << 20;

    // ---- the way of an access

    @Test
    void aMappedPageIsReachedAndAnUnmappedOneIsNot() {
        VtdWorld world = VtdWorld.create();

        assertThat(world.map(0x5000, 0x800_0000, PAGE, 2)).isZero();

        assertThat(world.translate(0x5123, Access.READ)).isEqualTo(0x800_0123);
        assertThat(world.translate(0x6fff, Access.WRITE)).isEqualTo(0x800_1fff);
        assertThat(world.translate(0x7000, Access.READ)).isEqualTo(BusPort.fault(6));
        assertThat(world.unmap(0x5000, 2 * PAGE)).isEqualTo(2 * PAGE);
        assertThat(world.translate(0x5123, Access.WRITE)).isEqualTo(BusPort.fault(5));
        assertThat(world.metric(Metric.TRANSLATION_FAULTS)).isEqualTo(2);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void largePagesAreReachedAtEveryOffset() {
        VtdWorld world = VtdWorld.create();
        world.map(MIB2, 0x4000_0000, MIB2, 1);
        world.map(1L << 30, 0x8000_0000L, 1L << 30, 1);

        for (int pass = 0; pass < 2; pass++) {
            assertThat(world.translate(MIB2 + 0x12_3456, Access.READ)).isEqualTo(0x4012_3456);
            assertThat(world.translate(0x7fff_ffffL, Access.WRITE)).isEqualTo(0xbfff_ffffL);
        }
        assertThat(world.metric(Metric.IOTLB_LOOKUPS)).isEqualTo(4);
        assertThat(world.metric(Metric.IOTLB_HITS)).isEqualTo(2);
    }

    @Test
    void threeFourAndFiveLevelsAreWalked() {
        for (int width : new int[] {39, 48, 57}) {
            VtdWorld world = VtdWorld.create(VtdWorld.smallPool().with("iommu.widthBits", width));
            long top = (1L << width) - PAGE;

            assertThat(world.map(top, 0x800_0000, PAGE, 1)).isZero();

            assertThat(world.table.levels()).isEqualTo((width - 12) / 9);
            assertThat(world.translate(top + 5, Access.READ)).isEqualTo(0x800_0005);
            assertThat(world.translate(top + PAGE, Access.READ)).isEqualTo(BusPort.fault(4));
        }
    }

    @Test
    void aWidthBetweenTheLevelsIsTheAperture() {
        VtdWorld world = VtdWorld.create(VtdWorld.smallPool().with("iommu.widthBits", 42));

        assertThat(world.table.levels()).isEqualTo(4);
        assertThat(world.table.apertureEnd()).isEqualTo((1L << 42) - 1);
        assertThat(world.map((1L << 42) - PAGE, 0, PAGE, 1)).isZero();
        assertThat(world.map(1L << 42, 0, PAGE, 1)).isEqualTo(-Errno.EFAULT);
        assertThat(world.translate(1L << 42, Access.READ)).isEqualTo(BusPort.fault(4));
    }

    // ---- stale translations

    @Test
    void aTranslationStaysUsableUntilItIsInvalidated() {
        VtdWorld world = VtdWorld.create();
        world.map(0x5000, 0x800_0000, PAGE, 1);
        world.translate(0x5000, Access.READ);

        world.table.unmapPages(0x5000, PAGE, new TablePageList());

        assertThat(world.translate(0x5010, Access.READ)).as("stale").isEqualTo(0x800_0010);
        world.driver.invalidateRange(world.domainId, 0x5000, 0x5fff, true);
        assertThat(world.translate(0x5010, Access.READ)).isEqualTo(BusPort.fault(6));
    }

    @Test
    void aStaleTranslationHidesTheNewTargetUntilTheDomainIsInvalidated() {
        VtdWorld world = VtdWorld.create();
        world.map(0x5000, 0x800_0000, PAGE, 1);
        world.translate(0x5000, Access.READ);
        world.table.unmapPages(0x5000, PAGE, new TablePageList());
        world.map(0x5000, 0x900_0000, PAGE, 1);

        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        world.driver.invalidateDomain(world.domainId);
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x900_0000);
    }

    @Test
    void invalidatingOnePageLeavesItsNeighboursCached() {
        VtdWorld world = VtdWorld.create();
        world.map(0x4000, 0x800_0000, PAGE, 3);
        for (long iova = 0x4000; iova < 0x7000; iova += PAGE) {
            world.translate(iova, Access.READ);
        }
        long hits = world.metric(Metric.IOTLB_HITS);

        world.driver.invalidateRange(world.domainId, 0x5000, 0x5fff, true);
        for (long iova = 0x4000; iova < 0x7000; iova += PAGE) {
            world.translate(iova, Access.READ);
        }

        assertThat(world.metric(Metric.IOTLB_HITS)).isEqualTo(hits + 2);
    }

    @Test
    void invalidatingAPageDropsTheLargePageAroundIt() {
        VtdWorld world = VtdWorld.create();
        world.map(MIB2, 0x4000_0000, MIB2, 1);
        world.translate(MIB2, Access.READ);
        world.table.unmapPages(MIB2, PAGE, new TablePageList());

        world.driver.invalidateRange(world.domainId, MIB2 + 0x10_0000, MIB2 + 0x10_0fff, true);

        assertThat(world.translate(MIB2, Access.READ)).isEqualTo(BusPort.fault(6));
    }

    @Test
    void moreIsAllowedAtOnceWithoutInvalidation() {
        VtdWorld world = VtdWorld.create();
        world.table.mapPages(0x5000, 0x800_0000, PAGE, 1, 1);
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        assertThat(world.translate(0x5000, Access.WRITE)).isEqualTo(BusPort.fault(5));
        world.table.unmapPages(0x5000, PAGE, new TablePageList());
        world.map(0x5000, 0x800_0000, PAGE, 1);

        assertThat(world.translate(0x5000, Access.WRITE)).isEqualTo(0x800_0000);
    }

    // ---- which invalidation is sent

    @Test
    void aRangeBeyondTheAddressMaskInvalidatesTheDomain() {
        VtdWorld world = VtdWorld.create(VtdWorld.smallPool().with("iommu.maxAddressMask", 3));
        long pages = world.metric(Metric.INVALIDATIONS_PAGE);
        long domains = world.metric(Metric.INVALIDATIONS_DOMAIN);

        world.driver.invalidateRange(world.domainId, 0x3000, 0x5fff, true);
        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(pages + 1);
        world.driver.invalidateRange(world.domainId, 0x7000, 0x8fff, true);
        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(pages + 1);
        assertThat(world.metric(Metric.INVALIDATIONS_DOMAIN)).isEqualTo(domains + 1);
    }

    /** iommu:INV-11. */
    @Test
    void anEmptyGatherInvalidatesTheDomain() {
        VtdWorld world = VtdWorld.create();
        long domains = world.metric(Metric.INVALIDATIONS_DOMAIN);

        world.driver.invalidateRange(world.domainId, -1L, 0, true);

        assertThat(world.metric(Metric.INVALIDATIONS_DOMAIN)).isEqualTo(domains + 1);
    }

    @Test
    void theQueueGoesRoundAndRound() {
        VtdWorld world = VtdWorld.create();

        for (int i = 0; i < 1000; i++) {
            world.driver.invalidateRange(world.domainId, i * PAGE, i * PAGE + 1, true);
        }

        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(1000);
        assertThat(world.violations()).isEmpty();
    }

    /** iommu:CTX-7: one of each when the root pointer is set. */
    @Test
    void startingUpInvalidatesEverythingOnce() {
        VtdWorld world = VtdWorld.create();

        assertThat(world.metric(Metric.INVALIDATIONS_GLOBAL)).isEqualTo(1);
        assertThat(world.metric(Metric.INVALIDATIONS_CONTEXT)).isEqualTo(1);
        assertThat(world.driver.registers().read32(VtdRegisters.GSTS))
                .isEqualTo(VtdRegisters.GCMD_TE | VtdRegisters.GCMD_SRTP | VtdRegisters.GCMD_QIE);
    }

    // ---- domains and devices

    @Test
    void aDeviceThatIsNotAttachedIsBlocked() {
        VtdWorld world = VtdWorld.create();
        Device sameBus = world.machine.addDevice(DeviceConfig.named("b").withRequesterId(0x318));
        Device otherBus = world.machine.addDevice(DeviceConfig.named("c").withRequesterId(0x410));

        assertThat(world.driver.port(sameBus).translate(0, Access.READ)).isEqualTo(BusPort.fault(2));
        assertThat(world.driver.port(otherBus).translate(0, Access.READ)).isEqualTo(BusPort.fault(1));
    }

    @Test
    void devicesOfOneDomainShareItsIdAndItsMappings() {
        VtdWorld world = VtdWorld.create();
        Device second = world.machine.addDevice(DeviceConfig.named("b").withRequesterId(0x418));
        world.map(0x5000, 0x800_0000, PAGE, 1);

        assertThat(world.driver.attach(second, world.table)).isEqualTo(world.domainId);

        assertThat(world.driver.port(second).translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        assertThat(world.driver.port(second)).isSameAs(world.driver.port(second));
    }

    @Test
    void domainsDoNotSeeEachOther() {
        VtdWorld world = VtdWorld.create();
        Device second = world.machine.addDevice(DeviceConfig.named("b").withRequesterId(0x318));
        PageTable other = world.driver.newTable();

        assertThat(world.domainId).isEqualTo(2);
        assertThat(world.driver.attach(second, other)).isEqualTo(3);
        world.map(0x5000, 0x800_0000, PAGE, 1);
        other.mapPages(0x5000, 0x900_0000, PAGE, 1, VtdWorld.RW);
        for (int pass = 0; pass < 2; pass++) {
            assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
            assertThat(world.driver.port(second).translate(0x5000, Access.READ)).isEqualTo(0x900_0000);
        }
        long hits = world.metric(Metric.IOTLB_HITS);
        world.driver.invalidateDomain(3);
        world.translate(0x5000, Access.READ);
        assertThat(world.metric(Metric.IOTLB_HITS)).as("only the other domain was dropped").isEqualTo(hits + 1);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void aDestroyedDomainGivesBackItsPagesAndItsId() {
        VtdWorld world = VtdWorld.create();
        PageTable other = world.driver.newTable();
        Device second = world.machine.addDevice(DeviceConfig.named("b"));
        assertThat(world.driver.attach(second, other)).isEqualTo(3);
        other.mapPages(0x5000, 0x900_0000, PAGE, 1, VtdWorld.RW);
        world.driver.detach(second);

        world.driver.destroy(other);

        assertThat(world.metric(Metric.TABLE_PAGES)).isEqualTo(1);
        assertThat(world.driver.attach(second, world.driver.newTable())).isEqualTo(3);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void aDetachedDeviceIsBlockedAtOnce() {
        VtdWorld world = VtdWorld.create();
        world.map(0x5000, 0x800_0000, PAGE, 1);
        world.translate(0x5000, Access.READ);

        world.driver.detach(world.device);
        world.driver.detach(world.device);

        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(2));
    }

    @Test
    void aDeviceMovesToTheDomainItIsAttachedToLast() {
        VtdWorld world = VtdWorld.create();
        world.map(0x5000, 0x800_0000, PAGE, 1);
        world.translate(0x5000, Access.READ);
        PageTable other = world.driver.newTable();
        other.mapPages(0x5000, 0x900_0000, PAGE, 1, VtdWorld.RW);

        world.driver.attach(world.device, other);

        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x900_0000);
    }

    @Test
    void tablesOfAnotherDriverAreRefused() {
        VtdWorld world = VtdWorld.create();
        VtdWorld other = VtdWorld.create();

        assertThatThrownBy(() -> world.driver.attach(world.device, other.table))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("are not of this driver");
    }

    // ---- memory

    @Test
    void theContextEntryHasRootWidthAndDomain() {
        VtdWorld world = VtdWorld.create();
        PhysicalMemory memory = world.machine.memory();
        long root = world.driver.registers().read64(VtdRegisters.RTADDR);
        long rootEntry = memory.getLong(root + 3 * 16);

        assertThat(rootEntry & 0xfff).isEqualTo(1);
        assertThat(memory.getLong((rootEntry & ~0xfffL) + 0x10 * 16)).isEqualTo(world.table.rootPhysAddr() | 1);
        assertThat(memory.getLong((rootEntry & ~0xfffL) + 0x10 * 16 + 8)).isEqualTo(0x202);
    }

    @Test
    void closingGivesEverythingBackAndLetsAddressesPass() {
        VtdWorld world = VtdWorld.create();
        long before = VtdWorld.newMachine().pages().allocatedPages();
        for (int i = 0; i < 40; i++) {
            world.map(i * MIB2, 0x800_0000, PAGE, 1);
        }

        world.driver.close();
        world.driver.close();

        assertThat(world.machine.pages().allocatedPages()).isEqualTo(before);
        assertThat(world.metric(Metric.TABLE_PAGES)).isZero();
        assertThat(world.translate(0x1234, Access.WRITE)).isEqualTo(0x1234);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void withoutARootPageThereIsNoDomain() {
        VtdWorld world = VtdWorld.create();
        world.machine.failures().failNth("iommu.table-page", 1);

        assertThatThrownBy(world.driver::newTable)
                .isInstanceOfSatisfying(DmaException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOMEM));
    }

    @Test
    void thePoolLiesWhereItIsTold() {
        VtdWorld world = VtdWorld.create(
                BackendOptions.NONE.with("iommu.tablePoolBase", 0x1_8000_0000L).with("iommu.tablePoolBytes", 0x2_0000));

        assertThat(world.table.rootPhysAddr()).isEqualTo(0x1_8000_0000L);
        world.map(0, 0x800_0000, PAGE, 1);
        assertThat(world.translate(0, Access.READ)).isEqualTo(0x800_0000);
    }

    @Test
    void aPoolOutsideTheRamIsRefused() {
        Machine machine = VtdWorld.newMachine();
        VtdDriver driver = new VtdDriver(machine, BackendOptions.NONE.with("iommu.tablePoolBase", 0xc000_0000L));

        assertThatThrownBy(driver::newTable)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is not RAM");
    }

    @Test
    void withoutAPoolTablesLieAnywhere() {
        VtdWorld world = VtdWorld.create(BackendOptions.NONE.with("iommu.tablePoolBytes", 0));
        world.map(0x5000, 0x800_0000, PAGE, 1);

        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        world.unmap(0x5000, PAGE);
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(6));
        assertThat(world.violations()).isEmpty();
    }

    // ---- the check itself

    @Test
    void aTableLinkedTwiceIsAViolation() {
        VtdWorld world = VtdWorld.create();
        world.map(0, 0x800_0000, PAGE, 1);
        long root = world.table.rootPhysAddr();
        world.machine.memory().putLong(root + 8, world.machine.memory().getLong(root));

        assertThat(world.violations()).hasSize(1).first().asString().endsWith("is linked more than once");
    }

    @Test
    void aLostTableIsAViolation() {
        VtdWorld world = VtdWorld.create();
        world.map(0, 0x800_0000, PAGE, 1);
        world.machine.memory().putLong(world.table.rootPhysAddr(), 0);

        assertThat(world.violations())
                .containsExactly(
                        "the domain with root 0x" + Long.toHexString(world.table.rootPhysAddr())
                                + " links 1 table pages but counts 4",
                        "4 table pages are in use, but 1 are linked and 0 on their way back");
    }

    @Test
    void anAccessThatNeverEndsIsAViolation() {
        VtdWorld world = VtdWorld.create();
        long token = world.port.beginAccess();

        assertThat(world.violations()).containsExactly("1 accesses have begun and not ended");
        world.port.endAccess(token);
        assertThat(world.violations()).isEmpty();
    }
}
