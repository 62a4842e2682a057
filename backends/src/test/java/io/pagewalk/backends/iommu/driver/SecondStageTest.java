package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Mapping and unmapping through the tables alone: the reference runs of iommu:VTD-14 to VTD-26. */
class SecondStageTest {
    private static final long KIB4 = 4096;
    private static final long MIB2 = 2L << 20;
    private static final long GIB1 = 1L << 30;

    private static VtdWorld width39() {
        return VtdWorld.create(VtdWorld.smallPool().with("iommu.widthBits", 39));
    }

    private static long unmapOnly(VtdWorld world, long iova, long sizeBytes, TablePageList freed) {
        return world.table.unmapPages(iova, sizeBytes, freed);
    }

    // ---- VTD-11, VTD-13: bytes

    @Test
    void leafBytesStandWhereTheWalkLooksForThem() {
        VtdWorld world = width39();
        world.table.mapPages(0x1000, 0x800_0000, KIB4, 1, VtdWorld.RW);
        world.table.mapPages(0x2000, 0x800_1000, KIB4, 1, IommuProt.READ);
        world.table.mapPages(0x3000, 0x800_2000, KIB4, 1, IommuProt.WRITE);
        world.table.mapPages(MIB2, 0x4000_0000, MIB2, 1, VtdWorld.RW);
        world.table.mapPages(GIB1, 0x8000_0000L, GIB1, 1, VtdWorld.RW);

        long level2 = entry(world, world.table.rootPhysAddr(), 0) & ~0xfffL;
        long level1 = entry(world, level2, 0) & ~0xfffL;
        assertThat(entry(world, level1, 1)).isEqualTo(0x800_0003L);
        assertThat(entry(world, level1, 2)).isEqualTo(0x800_1001L);
        assertThat(entry(world, level1, 3)).isEqualTo(0x800_2003L);
        assertThat(entry(world, level2, 1)).isEqualTo(0x4000_0083L);
        assertThat(entry(world, world.table.rootPhysAddr(), 1)).isEqualTo(0x8000_0083L);
        assertThat(entry(world, level2, 0)).as("table entry (VTD-10)").isEqualTo(level1 | 3);
    }

    private static long entry(VtdWorld world, long table, int index) {
        return world.machine.memory().getLong(table + 8L * index);
    }

    // ---- VTD-14, VTD-20: what is refused

    @Test
    void misalignedRangesAndUnknownSizesAreInvalid() {
        VtdWorld world = width39();

        assertThat(world.map(0x1800, 0, KIB4, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.map(0x1000, 0x800, KIB4, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.map(0x1000, 0, MIB2, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.map(0, 0, 8192, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.map(0, 0, KIB4 | MIB2, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.table.tablePages()).isEqualTo(1);
    }

    @Test
    void aMappingWithoutReadAndWriteIsInvalid() {
        VtdWorld world = width39();

        assertThat(world.table.mapPages(0, 0, KIB4, 1, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(world.table.mapPages(0, 0, KIB4, 1, IommuProt.CACHE)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void theLastPageOfTheWidthIsMappedAndTheNextIsNot() {
        VtdWorld world = VtdWorld.create();

        assertThat(world.map(0xffff_ffff_f000L, 0x1000, KIB4, 1)).isZero();
        assertThat(world.map(0x1_0000_0000_0000L, 0x1000, KIB4, 1)).isEqualTo(-Errno.EFAULT);
        assertThat(world.table.iovaToPhys(0xffff_ffff_f123L)).isEqualTo(0x1123);
    }

    @Test
    void aMappingBeyondTheWidthLogsWidthAndEnd() {
        VtdWorld world = width39();

        assertThat(world.map(0x80_0000_0000L, 0, KIB4, 1)).isEqualTo(-Errno.EFAULT);
        assertThat(world.map(0x7f_ffff_f000L, 0, KIB4, 2)).isEqualTo(-Errno.EFAULT);
        assertThat(world.machine.log().entries())
                .extracting(KernelLog.Entry::text)
                .containsOnly(
                        "intel_iommu_map: iommu width (39) is not sufficient for the mapped address (8000001000)");
    }

    @Test
    void aRangeThatEndsAtTheEndOfTheAddressSpaceIsInvalid() {
        VtdWorld world = width39();

        assertThat(world.map(-KIB4, 0, KIB4, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.table.tablePages()).isEqualTo(1);
    }

    // ---- VTD-15, VTD-16: sizes

    @Test
    void aRunOfPagesBecomesLargePagesWhereItCan() {
        VtdWorld world = width39();

        assertThat(world.map(0x1f_f000, 0x3f_f000, KIB4, 0x402)).isZero();

        assertThat(world.table.tablePages())
                .as("root, level 2, level 1 at both ends")
                .isEqualTo(4);
        assertThat(world.table.iovaToPhys(0x1f_f000)).isEqualTo(0x3f_f000);
        assertThat(world.table.iovaToPhys(0x5f_ffff)).isEqualTo(0x7f_ffff);
        assertThat(world.table.iovaToPhys(0x60_0fff)).isEqualTo(0x80_0fff);
        assertThat(world.table.iovaToPhys(0x60_1000)).isZero();
    }

    @Test
    void aUnitWithoutLargePagesGetsSmallOnes() {
        VtdWorld world = VtdWorld.create(
                BackendOptions.NONE.with("iommu.tablePoolBytes", 16 * KIB4).with("iommu.superpages", 0));

        assertThat(world.table.pageSizes()).isEqualTo(KIB4);
        assertThat(world.map(MIB2, 0x4000_0000, MIB2, 1)).isZero();
        assertThat(world.table.tablePages()).isEqualTo(4);
        assertThat(world.unmap(MIB2, KIB4)).isEqualTo(KIB4);
    }

    // ---- VTD-17: never over another leaf

    @Test
    void aLeafIsNotReplacedAndTheCallSucceeds() {
        VtdWorld world = width39();
        assertThat(world.map(0x1000, 0x800_0000, KIB4, 1)).isZero();

        assertThat(world.map(0x1000, 0x900_0000, KIB4, 1)).isZero();

        assertThat(world.table.iovaToPhys(0x1000)).isEqualTo(0x800_0000);
        KernelLog.Entry entry = world.machine.log().entries().get(0);
        assertThat(entry.kind()).isEqualTo(KernelLog.Kind.WARN);
        assertThat(entry.text()).isEqualTo("ERROR: DMA PTE for vPFN 0x1 already set (to 8000003 not 9000003)");
    }

    @Test
    void emptyEntriesOfACallThatMeetsALeafAreWritten() {
        VtdWorld world = width39();
        world.map(0x2000, 0x800_0000, KIB4, 1);

        assertThat(world.map(0x1000, 0x900_0000, KIB4, 3)).isZero();

        assertThat(world.table.iovaToPhys(0x1000)).isEqualTo(0x900_0000);
        assertThat(world.table.iovaToPhys(0x2000)).isEqualTo(0x800_0000);
        assertThat(world.table.iovaToPhys(0x3000)).isEqualTo(0x900_2000);
        assertThat(world.machine.log().count("vtd.pte-already-set")).isEqualTo(1);
    }

    // ---- VTD-18: large pages make room

    @Test
    void aLargePageReplacesATableAndFlushesItsRange() {
        VtdWorld world = width39();
        for (int i = 0; i < 512; i++) {
            world.map(0x60_0000 + i * KIB4, 0x800_0000 + 2L * i * KIB4, KIB4, 1);
        }
        long pages = world.table.tablePages();
        long flushes = world.metric(Metric.INVALIDATIONS_PAGE);

        assertThat(world.map(0x60_0000, 0x4000_0000, MIB2, 1)).isZero();

        assertThat(world.table.tablePages()).isEqualTo(pages - 1);
        assertThat(world.table.iovaToPhys(0x60_1000)).isEqualTo(0x4000_1000);
        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(flushes + 1);
        assertThat(lastIotlbDescriptor(world)).containsExactly(0xf2L | (long) world.domainId << 16, 0x60_0009L);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void aLargePageReplacesALargePageSilently() {
        VtdWorld world = width39();
        world.map(0x60_0000, 0x4000_0000, MIB2, 1);

        assertThat(world.map(0x60_0000, 0x5000_0000, MIB2, 1)).isZero();

        assertThat(world.table.iovaToPhys(0x60_0000)).isEqualTo(0x5000_0000);
        assertThat(lastIotlbDescriptor(world)).containsExactly(0xf2L | (long) world.domainId << 16, 0x60_0009L);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    void aGigabytePageReplacesTablesOfTwoLevels() {
        VtdWorld world = width39();
        world.map(GIB1, 0x800_0000, KIB4, 1);
        world.map(GIB1 + MIB2, 0x4000_0000, MIB2, 1);
        assertThat(world.table.tablePages()).isEqualTo(3);

        assertThat(world.map(GIB1, 0x8000_0000L, GIB1, 1)).isZero();

        assertThat(world.table.tablePages()).isEqualTo(1);
        assertThat(lastIotlbDescriptor(world)).containsExactly(0xf2L | (long) world.domainId << 16, GIB1 | 18);
    }

    @Test
    void eachReplacedSlotIsFlushedToTheEndOfTheRun() {
        VtdWorld world = width39();
        world.map(0, 0x4000_0000, MIB2, 4);
        long flushes = world.metric(Metric.INVALIDATIONS_PAGE);

        world.map(0, 0x5000_0000, MIB2, 4);

        assertThat(world.metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(flushes + 4);
        assertThat(lastIotlbDescriptor(world)).containsExactly(0xf2L | (long) world.domainId << 16, 3 * MIB2 | 9);
    }

    /** The two words of the latest descriptor that was not a wait, read from the queue in memory. */
    private static long[] lastIotlbDescriptor(VtdWorld world) {
        long queue = world.driver.registers().read64(0x90) & ~0xfffL;
        long tail = world.driver.registers().read64(0x88);
        long at = queue + ((tail - 32) & 0xfff);
        return new long[] {
            world.machine.memory().getLong(at), world.machine.memory().getLong(at + 8)
        };
    }

    // ---- VTD-19: a small page inside a large one

    @Test
    void aSmallPageInsideALargeOneIsReportedAndLeftOut() {
        VtdWorld world = width39();
        world.map(MIB2, 0x4000_0000, MIB2, 1);

        assertThat(world.map(MIB2 + KIB4, 0x900_0000, KIB4, 2)).isZero();

        assertThat(world.table.iovaToPhys(MIB2 + KIB4)).isEqualTo(0x4000_1000);
        assertThat(world.machine.memory().getLong(0x4000_0008))
                .as("the mapped memory")
                .isZero();
        assertThat(world.machine.log().entries())
                .extracting(KernelLog.Entry::text)
                .containsExactly(
                        "a mapping at IOVA 0x201000 walks through the 2 MiB leaf above it as though it were a table");
    }

    @Test
    void pagesBehindALargeOneInTheSameCallAreWritten() {
        VtdWorld world = width39();
        world.map(0, 0x4000_0000, GIB1, 1);

        assertThat(world.map(GIB1 - KIB4, 0x900_0000, KIB4, 2)).isZero();

        assertThat(world.table.iovaToPhys(GIB1 - KIB4)).isEqualTo(0x4000_0000L + GIB1 - KIB4);
        assertThat(world.table.iovaToPhys(GIB1)).isEqualTo(0x900_1000);
    }

    // ---- VTD-21 to VTD-25: unmapping

    @Test
    void unmappingPartOfALargePageTakesAllOfIt() {
        VtdWorld world = width39();
        world.map(0x40_0000, 0x4000_0000, MIB2, 1);

        assertThat(unmapOnly(world, 0x40_0000, KIB4, new TablePageList())).isEqualTo(MIB2);
        assertThat(world.table.iovaToPhys(0x40_0000)).isZero();
    }

    @Test
    void unmappingAHoleTakesWhatTheLevelOfTheHoleSpans() {
        VtdWorld world = width39();
        assertThat(unmapOnly(world, MIB2, 0x8000, new TablePageList()))
                .as("empty")
                .isEqualTo(GIB1);
        world.map(0x1000, 0x800_0000, KIB4, 1);

        assertThat(unmapOnly(world, 0x5000, 0x3000, new TablePageList()))
                .as("level 1")
                .isEqualTo(0x3000);
        assertThat(unmapOnly(world, 0x40_0000, 0x3000, new TablePageList()))
                .as("level 2")
                .isEqualTo(MIB2);
        assertThat(unmapOnly(world, GIB1, 0x3000, new TablePageList()))
                .as("level 3")
                .isEqualTo(GIB1);
        assertThat(world.table.iovaToPhys(0x1000)).isEqualTo(0x800_0000);
    }

    @Test
    void theEnlargedRangeOfAHoleTakesLivePagesWithIt() {
        VtdWorld world = width39();
        world.map(0xc0_0000, 0x800_0000, KIB4, 1);

        assertThat(unmapOnly(world, 0xa0_1000, KIB4, new TablePageList())).isEqualTo(MIB2);

        assertThat(world.table.iovaToPhys(0xc0_0000)).isZero();
    }

    @Test
    void anEnlargedRangeThatEndsInsideALargePageLeavesItAlone() {
        VtdWorld world = width39();
        world.map(MIB2, 0x4000_0000, MIB2, 1);
        world.machine.memory().putLong(0x4000_0000, 0x77);

        assertThat(unmapOnly(world, 0x1d_0000, KIB4, new TablePageList())).isEqualTo(MIB2);

        assertThat(world.table.iovaToPhys(MIB2)).isEqualTo(0x4000_0000);
        assertThat(world.machine.memory().getLong(0x4000_0000)).isEqualTo(0x77);
        assertThat(world.machine.log().count("vtd.superpage-walk")).isEqualTo(1);
    }

    @Test
    void aRangeThatStartsInsideALargePageLeavesItAlone() {
        VtdWorld world = width39();
        world.map(0, 0x4000_0000, MIB2, 2);

        assertThat(unmapOnly(world, KIB4, MIB2, new TablePageList())).isEqualTo(MIB2);

        assertThat(world.table.iovaToPhys(0)).isEqualTo(0x4000_0000);
        assertThat(world.table.iovaToPhys(MIB2)).isEqualTo(0x4020_0000);
        assertThat(world.machine.log().count("vtd.superpage-walk")).isEqualTo(2);
    }

    @Test
    void tablesCoveredInPartStay() {
        VtdWorld world = width39();
        world.map(0x1000, 0x800_0000, KIB4, 1);
        TablePageList freed = new TablePageList();

        assertThat(unmapOnly(world, 0x1000, KIB4, freed)).isEqualTo(KIB4);

        assertThat(freed.isEmpty()).isTrue();
        assertThat(world.table.tablePages()).isEqualTo(3);
    }

    @Test
    void tablesCoveredWhollyGoParentFirst() {
        VtdWorld world = width39();
        world.map(GIB1, 0x800_0000, KIB4, 1);
        world.map(GIB1 + 5 * MIB2, 0x800_0000, KIB4, 1);
        long level2 = entry(world, world.table.rootPhysAddr(), 1) & ~0xfffL;
        TablePageList freed = new TablePageList();

        assertThat(unmapOnly(world, GIB1, GIB1, freed)).isEqualTo(GIB1);

        assertThat(List.of(freed.get(0), freed.get(1), freed.get(2)))
                .containsExactly(level2, entry(world, level2, 0) & ~0xfffL, entry(world, level2, 5) & ~0xfffL);
        assertThat(freed.size()).isEqualTo(3);
        assertThat(world.table.tablePages()).isEqualTo(1);
        assertThat(world.violations()).as("three pages are on their way back").isEmpty();
        world.driver.freeTablePages(freed);
        assertThat(freed.isEmpty()).isTrue();
        assertThat(world.metric(Metric.TABLE_PAGES)).isEqualTo(1);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void beyondTheWidthNothingIsUnmapped() {
        VtdWorld world = width39();

        assertThat(unmapOnly(world, 0x80_0000_0000L, KIB4, new TablePageList())).isZero();
    }

    @Test
    void aRangeThatLeavesTheWidthIsClearedUpToItsEnd() {
        VtdWorld world = width39();
        world.map(0x7f_ffff_f000L, 0x800_0000, KIB4, 1);

        assertThat(unmapOnly(world, 0x7f_ffff_f000L, 2 * KIB4, new TablePageList()))
                .isEqualTo(2 * KIB4);
        assertThat(world.table.iovaToPhys(0x7f_ffff_f000L)).isZero();
    }

    @Test
    void fullTablesAreFreedWhenAllTheirPagesGoAtOnce() {
        VtdWorld world = width39();
        world.table.mapPages(0, 0x800_1000, KIB4, 512, VtdWorld.RW);
        assertThat(world.table.tablePages()).isEqualTo(3);

        assertThat(world.unmap(0, MIB2)).isEqualTo(MIB2);

        assertThat(world.table.tablePages()).isEqualTo(2);
        assertThat(world.violations()).isEmpty();
    }

    // ---- VTD-4: narrowing

    @Test
    void newTablesHaveFiveLevelsAndSmallPages() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool());

        assertThat(world.table.levels()).isEqualTo(5);
        assertThat(world.table.pageSizes()).isEqualTo(KIB4);
        assertThat(world.table.apertureEnd()).isEqualTo((1L << 57) - 1);
        assertThat(world.table.tablePages()).isEqualTo(1);
    }

    @Test
    void attachingNarrowsToTheUnitAndKeepsWhatIsMapped() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool().with("iommu.widthBits", 39));
        world.map(0x1000, 0x800_0000, KIB4, 2);
        assertThat(world.table.tablePages()).isEqualTo(5);

        assertThat(world.driver.attach(world.device, world.table)).isEqualTo(2);

        assertThat(world.table.levels()).isEqualTo(3);
        assertThat(world.table.tablePages()).isEqualTo(3);
        assertThat(world.table.apertureEnd()).isEqualTo((1L << 39) - 1);
        assertThat(world.table.pageSizes()).isEqualTo(KIB4 | MIB2 | GIB1);
        assertThat(world.table.iovaToPhys(0x2000)).isEqualTo(0x800_1000);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void attachingEmptyTablesReusesTheRootOneLevelLower() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool());
        long root = world.table.rootPhysAddr();

        assertThat(world.driver.attach(world.device, world.table)).isEqualTo(2);

        assertThat(world.table.rootPhysAddr()).isEqualTo(root);
        assertThat(world.table.levels()).isEqualTo(4);
    }

    @Test
    void tablesWithSomethingBeyondTheWidthAreRefused() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool().with("iommu.widthBits", 39));
        world.map(0x80_0000_0000L, 0x800_0000, KIB4, 1);

        assertThat(world.driver.attach(world.device, world.table)).isEqualTo(-Errno.EINVAL);

        assertThat(world.table.levels()).isEqualTo(5);
        assertThat(world.table.pageSizes()).isEqualTo(KIB4);
    }

    @Test
    void whatWasUnmappedBeyondTheWidthDoesNotCount() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool().with("iommu.widthBits", 39));
        world.map(0x80_0000_0000L, 0x800_0000, KIB4, 1);
        unmapOnly(world, 0x80_0000_0000L, KIB4, new TablePageList());

        assertThat(world.driver.attach(world.device, world.table)).isEqualTo(2);
        assertThat(world.violations())
                .as("empty tables above the width are given back")
                .isEmpty();
    }

    // ---- running out

    @Test
    void withoutATablePageMappingFailsAndWhatWasWrittenStays() {
        VtdWorld world = width39();
        world.map(MIB2 - KIB4, 0x800_0000, KIB4, 1);
        world.unmap(MIB2 - KIB4, KIB4);
        world.machine.failures().failNth("iommu.table-page", 1);

        assertThat(world.map(MIB2 - KIB4, 0x800_0000, KIB4, 2)).isEqualTo(-Errno.ENOMEM);

        assertThat(world.table.iovaToPhys(MIB2 - KIB4)).isEqualTo(0x800_0000);
        assertThat(world.violations()).isEmpty();
    }

    @Test
    void aFullPoolGoesOnWithPagesOfTheAllocator() {
        VtdWorld world = width39();
        long before = world.machine.pages().allocatedPages();
        for (int i = 0; i < 40; i++) {
            assertThat(world.map(i * MIB2, 0x800_0000, KIB4, 1)).isZero();
        }

        assertThat(world.machine.pages().allocatedPages()).isEqualTo(before + 42 - 16);
        assertThat(world.table.iovaToPhys(39 * MIB2)).isEqualTo(0x800_0000);
        assertThat(world.metric(Metric.TABLE_PAGES)).isEqualTo(42);
        assertThat(world.violations()).isEmpty();
        world.unmap(0, GIB1);
        assertThat(world.machine.pages().allocatedPages()).isEqualTo(before);
        assertThat(world.metric(Metric.TABLE_PAGES)).isEqualTo(1);
        assertThat(world.metric(Metric.TABLE_PAGES_PEAK)).isEqualTo(42);
    }

    @Test
    void aTablePageComesZeroedWhateverItHeld() {
        VtdWorld world = width39();
        for (int round = 0; round < 3; round++) {
            world.table.mapPages(0, 0x800_1000, KIB4, 512, VtdWorld.RW);
            world.unmap(0, MIB2);
            world.map(0x3000, 0x900_0000, KIB4, 1);
            assertThat(world.table.iovaToPhys(0x2000)).isZero();
            assertThat(world.table.iovaToPhys(0x3000)).isEqualTo(0x900_0000);
            world.unmap(0, MIB2);
        }
    }
}
