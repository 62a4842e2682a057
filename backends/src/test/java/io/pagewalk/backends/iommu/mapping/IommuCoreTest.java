package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The loops of the core, and when they invalidate. */
class IommuCoreTest {
    private static final int READ_WRITE = IommuProt.READ | IommuProt.WRITE;
    private static final long PAGE = 0x1000;

    private final Machine machine = Machine.builder().ramBytes(16 << 20).build();
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_39);
    private final TreeMapPageTable table = (TreeMapPageTable) driver.newTable();
    private final IommuCore core = new IommuCore(table, driver, machine.log());

    private InvalidationGather gather(boolean queued) {
        InvalidationGather gather = new InvalidationGather();
        gather.init(queued);
        return gather;
    }

    @BeforeEach
    void attach() {
        core.attachedAs(2);
    }

    /** What the core does with each chunk that the driver unmapped (iommu:CORE-26). */
    private void addPage(InvalidationGather gather, long iova, long size) {
        if (gather.mustSyncBefore(iova, size)) {
            core.sync(gather);
            gather.initAfterSync();
        }
        gather.add(iova, size);
    }

    @Test
    @DisplayName("iommu:CORE-28: touching chunks of one size merge; another size or a gap syncs first")
    void chunksMergeOrSyncFirst() {
        InvalidationGather gather = gather(false);
        addPage(gather, 0x1000, 0x1000);
        addPage(gather, 0x2000, 0x1000);
        assertThat(driver.calls).isEmpty();
        addPage(gather, 0x3000, 0x2000);
        assertThat(driver.calls).containsExactly("range 0x1000-0x2fff leaf");
        addPage(gather, 0x5000, 0x2000);
        assertThat(gather.firstIova()).isEqualTo(0x3000);
        assertThat(gather.lastIova()).isEqualTo(0x6fff);
        addPage(gather, 0x8000, 0x2000);
        assertThat(driver.calls).hasSize(2).last().isEqualTo("range 0x3000-0x6fff leaf");
        addPage(gather, 0x0, 0x2000);
        assertThat(driver.calls).hasSize(3).last().isEqualTo("range 0x8000-0x9fff leaf");
    }

    @Test
    @DisplayName("iommu:CORE-26: a sync in between ends queueing and empties the list of table pages")
    void syncInBetweenEndsQueueing() {
        InvalidationGather gather = gather(true);
        gather.freed().add(0x1000);
        gather.initAfterSync();
        assertThat(gather.isQueued()).isFalse();
        assertThat(gather.freed().isEmpty()).isTrue();
    }

    @Test
    @DisplayName("iommu:CORE-29: a strict unmap flushes once for each chunk of another size")
    void strictUnmapFlushesEachChunk() {
        assertThat(core.map(0x1ff000, 0x3ff000, 0x402000, READ_WRITE)).isZero();
        assertThat(driver.calls).isEmpty();
        assertThat(core.unmap(0x1ff000, 0x402000)).isEqualTo(0x402000);
        assertThat(driver.calls)
                .containsExactly(
                        "range 0x1ff000-0x1fffff leaf", "range 0x200000-0x5fffff leaf", "range 0x600000-0x600fff leaf");
    }

    @Test
    @DisplayName("iommu:CORE-27: what counts as size is all that one call unmapped; what is queued is not gathered")
    void sizeIsThatOfTheWholeCall() {
        core.map(0x1000, 0x1000, 7 * PAGE, READ_WRITE);
        InvalidationGather gather = gather(false);
        core.unmapFast(0x1000, PAGE, gather);
        core.unmapFast(0x2000, 2 * PAGE, gather);
        assertThat(driver.calls).as("pages of one size").containsExactly("range 0x1000-0x1fff leaf");
        core.unmapFast(0x4000, 2 * PAGE, gather);
        assertThat(driver.calls).hasSize(1);
        assertThat(gather.firstIova()).isEqualTo(0x2000);
        assertThat(gather.lastIova()).isEqualTo(0x5fff);
        InvalidationGather queued = gather(true);
        core.unmapFast(0x6000, PAGE, queued);
        core.unmapFast(0x7000, PAGE, queued);
        assertThat(queued.firstIova()).isEqualTo(-1L);
        assertThat(driver.calls).hasSize(1);
    }

    @Test
    @DisplayName("iommu:INV-11, DALLOC-6: unlinked tables make the flush a full one, and go back after it")
    void unlinkedTablesGoBackAfterTheFlush() {
        table.freeTables();
        core.map(0x1000, 0x1000, PAGE, READ_WRITE);
        core.unmap(0x1000, PAGE);
        assertThat(driver.calls).containsExactly("range 0x1000-0x1fff", "free 1");
    }

    @Test
    @DisplayName("iommu:CORE-19: an unmap of nothing, or misaligned, still syncs with an empty gather")
    void unmapOfNothingStillSyncs() {
        assertThat(core.unmap(0x1000, 0)).isZero();
        assertThat(core.unmap(0x1001, PAGE)).isZero();
        assertThat(driver.calls)
                .containsExactly("range 0xffffffffffffffff-0x0 leaf", "range 0xffffffffffffffff-0x0 leaf");
        assertThat(machine.log().count("iommu")).isEqualTo(1);
    }

    @Test
    @DisplayName("iommu:CORE-19: an unmap may return more than was asked for")
    void unmapReturnsWhatTheDriverReports() {
        core.map(0x200000, 0x400000, 0x200000, READ_WRITE);
        assertThat(core.unmap(0x200000, PAGE)).isEqualTo(0x200000);
        assertThat(driver.calls).containsExactly("range 0x200000-0x3fffff leaf");
    }

    @Test
    @DisplayName("iommu:CORE-14: whatever is not aligned to the smallest page is refused")
    void misalignedMapIsRefused() {
        assertThat(core.map(0x1001, 0, PAGE, READ_WRITE)).isEqualTo(-Errno.EINVAL);
        assertThat(core.map(0x1000, 0x800, PAGE, READ_WRITE)).isEqualTo(-Errno.EINVAL);
        assertThat(core.map(0x1000, 0x1000, 0xfff, READ_WRITE)).isEqualTo(-Errno.EINVAL);
        assertThat(table.leaves()).isEmpty();
        assertThat(driver.calls).isEmpty();
    }

    @Test
    @DisplayName("iommu:CORE-18: size 0 succeeds without an entry")
    void sizeZeroMapsNothing() {
        assertThat(core.map(0x1000, 0x1000, 0, READ_WRITE)).isZero();
        assertThat(table.leaves()).isEmpty();
    }

    @Test
    @DisplayName("iommu:CORE-16: an error unmaps the chunks before it; entries of the failing chunk stay")
    void errorUnmapsWhatWasMapped() {
        table.failAfter(3);
        assertThat(core.map(0x1ff000, 0x3ff000, 0x403000, READ_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(table.leaves()).isEmpty();
        assertThat(driver.calls).containsExactly("range 0x1ff000-0x1fffff leaf", "range 0x200000-0x5fffff leaf");
        table.failAfter(2);
        assertThat(core.map(0x3000, 0x8000, 0x4000, READ_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(table.leaves()).containsOnlyKeys(0x3000L, 0x4000L);
    }

    @Test
    @DisplayName("iommu:CORE-21: entries that follow each other physically are mapped as one run")
    void adjacentEntriesAreOneRun() {
        SgTable sg =
                new SgTable(3).add(0x400000, 0x100000).add(0x500000, 0x100000).add(0x9000, PAGE);
        assertThat(core.mapSg(0x800000, sg, 3, READ_WRITE)).isEqualTo(0x201000);
        assertThat(table.leaves()).containsOnlyKeys(0x800000L, 0xa00000L);
    }

    @Test
    @DisplayName("iommu:CORE-21: an error of a later run unmaps the earlier ones")
    void errorOfALaterRunUnmapsTheEarlierOnes() {
        SgTable sg = new SgTable(3).add(0x1000, PAGE).add(0x5000, PAGE).add(0x9000, PAGE);
        table.failAfter(2);
        assertThat(core.mapSg(0x10000, sg, 3, READ_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(table.leaves()).isEmpty();
    }

    @Test
    @DisplayName("iommu:CORE-21: an empty last entry that follows physically leaves its run unmapped")
    void emptyLastEntryLeavesItsRunUnmapped() {
        SgTable sg = new SgTable(2).add(0x1000, PAGE).add(0x2000, 0);
        assertThat(core.mapSg(0x10000, sg, 2, READ_WRITE)).isZero();
        assertThat(table.leaves()).isEmpty();
    }
}
