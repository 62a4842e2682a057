package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EEXIST;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_SIZE;
import static io.pagewalk.dma.debug.DmaDebugKind.INVALID_ADDRESS;
import static io.pagewalk.dma.debug.DmaDebugKind.NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_NOT_ALLOCATED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What is recorded, how it is found again, and how much of it there may be. */
class RecordsTest {
    private static final long BUCKET = 0x2000;
    private static final DmaDebugOptions UNASKED = DmaDebugOptions.DEFAULT.withMapErrors(false);

    @Test
    @DisplayName("DBG-1: off by command line, for good")
    void nothingIsRecordedOrCheckedWhileDisabled() {
        Feed feed = new Feed(DmaDebugOptions.DEFAULT.withCommandLine("quiet dma_debug=offline"));
        feed.map(0x1000, 8, TO_DEVICE).unmap(0x9000, 8, TO_DEVICE).unbind();
        assertThat(feed.debug.isDisabled()).isTrue();
        assertThat(feed.debug.liveCount()).isZero();
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.calls()).isEqualTo(3);
        assertThat(feed.debug.files().read("disabled")).isEqualTo("Y\n");
        assertThat(new Feed(DmaDebugOptions.DEFAULT.withCommandLine("dma_debug=on dma-debug=x")).debug.isDisabled())
                .isFalse();
    }

    @Test
    @DisplayName("DBG-1, DBG-72: off once there is no memory for records")
    void runningOutOfMemoryDisables() {
        Feed feed = new Feed(UNASKED.withEntries(32));
        feed.missing = DmaDebugHost.Need.ENTRIES;
        for (int i = 0; i < 33; i++) {
            feed.map(i * 0x1000L, 8, TO_DEVICE);
        }
        assertThat(feed.debug.liveCount()).isEqualTo(32);
        assertThat(feed.debug.isDisabled()).isTrue();
        assertThat(feed.messages).containsExactly("debugging out of memory - disabling");
        feed.unmap(0x9999_0000L, 8, TO_DEVICE);
        assertThat(feed.heard).isEmpty();
    }

    @Test
    @DisplayName("DBG-22: off once there is no memory for a cacheline")
    void runningOutOfCachelinesDisables() {
        Feed feed = new Feed(UNASKED);
        feed.missing = DmaDebugHost.Need.CACHELINE;
        feed.map(0x1000, 8, TO_DEVICE);
        assertThat(feed.debug.isDisabled()).as("TO_DEVICE is not tracked").isFalse();
        feed.map(0x2000, 8, FROM_DEVICE);
        assertThat(feed.debug.isDisabled()).isTrue();
        assertThat(feed.messages).containsExactly("cacheline tracking ENOMEM, dma-debug disabled");
    }

    @Test
    @DisplayName("DBG-2: what a record holds")
    void aRecordHoldsWhatTheCallSaid() {
        Feed feed = new Feed();
        feed.now = 77;
        feed.map(0x5000, 0x20, FROM_DEVICE, 0, 0x9000);
        feed.mapSg(TO_DEVICE, 3, 1, new Segment(0x7000, 0x1000, 0xa000, 0x3000));
        assertThat(feed.debug.live())
                .containsExactly(
                        new DebugMapping(
                                Feed.NIC,
                                MappingType.SINGLE,
                                0x9000,
                                0x20,
                                FROM_DEVICE,
                                0x5000,
                                0,
                                0,
                                ErrorCheck.NOT_CHECKED,
                                null,
                                null,
                                77),
                        new DebugMapping(
                                Feed.NIC,
                                MappingType.SCATTER_GATHER,
                                0xa000,
                                0x3000,
                                TO_DEVICE,
                                0x7000,
                                3,
                                1,
                                ErrorCheck.NOT_APPLICABLE,
                                null,
                                null,
                                77));
        feed.asked(0x9000);
        assertThat(feed.debug.live().get(0).errorCheck()).isEqualTo(ErrorCheck.CHECKED);
        assertThat(List.of(MappingType.values()).stream().map(MappingType::kernelName))
                .containsExactly("single", "scatter-gather", "coherent", "resource", "noncoherent");
    }

    @Test
    @DisplayName("DBG-3")
    void bucketsAreOfTwoPages() {
        assertThat(RecordTable.bucketOf(0x12345678L)).isEqualTo(0x11a2);
        assertThat(RecordTable.bucketOf(-1L)).isEqualTo(0x3fff);
        assertThat(RecordTable.bucketOf(0x1fffL)).isZero();
        assertThat(RecordTable.bucketOf(1L << 27)).isZero();
    }

    @Test
    @DisplayName("DBG-4: same device, same address")
    void anotherDevicesMappingIsNoMatch() {
        Feed feed = new Feed(UNASKED).map(0x1000, 8, TO_DEVICE);
        feed.as(Feed.DISK).unmap(0x1000, 8, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED);
        feed.as(Feed.NIC).unmap(0x1008, 8, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED, NOT_ALLOCATED);
        feed.sync(0x1000, 8, TO_DEVICE, true).sync(0x1004, 4, TO_DEVICE, true);
        assertThat(feed.heard).as("equal ends lie inside").hasSize(2);
        feed.sync(0x1004, 5, TO_DEVICE, true).sync(0xfff, 2, TO_DEVICE, true);
        feed.as(Feed.DISK).sync(0x1000, 8, TO_DEVICE, true);
        assertThat(feed.kinds().subList(2, 5)).containsOnly(SYNC_NOT_ALLOCATED);
    }

    @Test
    @DisplayName("DBG-5: the one that agrees in everything wins")
    void thePerfectMatchIsTaken() {
        Feed feed = new Feed(UNASKED);
        feed.map(0x1000, 8, TO_DEVICE).map(0x1000, 16, TO_DEVICE).map(0x1000, 24, TO_DEVICE);
        feed.unmap(0x1000, 16, TO_DEVICE);
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.live()).extracting(DebugMapping::sizeBytes).containsExactly(8L, 24L);
    }

    @Test
    @DisplayName("DBG-5: a single one is taken as it is")
    void aSingleMatchIsTakenWithItsDifferences() {
        Feed feed = new Feed(UNASKED).map(0x1000, 8, TO_DEVICE).unmap(0x1000, 16, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_SIZE);
        assertThat(feed.debug.liveCount()).isZero();
    }

    @Test
    @DisplayName("DBG-5, DBG-41: several without a perfect one are none")
    void severalThatDifferAreNoMatch() {
        Feed feed = new Feed(UNASKED).map(0x1000, 8, TO_DEVICE).map(0x1000, 16, TO_DEVICE);
        feed.unmap(0x1000, 24, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED);
        assertThat(feed.debug.liveCount()).isEqualTo(2);
    }

    @Test
    @DisplayName("DBG-5: size, type, direction and count each score")
    void eachOfTheFourCounts() {
        Feed feed = new Feed(UNASKED);
        feed.map(0x1000, 8, TO_DEVICE).map(0x1000, 8, BIDIRECTIONAL);
        feed.mapSg(BIDIRECTIONAL, 2, 1, Feed.segment(0x1000, 8)).mapSg(BIDIRECTIONAL, 3, 1, Feed.segment(0x1000, 8));
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST, CACHELINE_EEXIST);
        feed.unmapSg(BIDIRECTIONAL, 3, Feed.segment(0x1000, 8), Feed.segment(0x3000, 8), Feed.segment(0x4000, 8));
        feed.unmap(0x1000, 8, BIDIRECTIONAL).unmap(0x1000, 8, TO_DEVICE);
        assertThat(feed.heard).hasSize(2);
        assertThat(feed.debug.live()).extracting(DebugMapping::callEnts).containsExactly(2);
    }

    @Test
    @DisplayName("DBG-6: a sync looks in lower buckets, down to address 0")
    void aSyncFindsAMappingThatBeginsInALowerBucket() {
        Feed feed = new Feed(UNASKED).map(0x1000, 100 * BUCKET, TO_DEVICE);
        feed.sync(99 * BUCKET, 64, TO_DEVICE, false);
        assertThat(feed.heard).isEmpty();
        feed.unmap(0x1000, 100 * BUCKET, TO_DEVICE).sync(99 * BUCKET, 64, TO_DEVICE, false);
        assertThat(feed.kinds()).containsExactly(SYNC_NOT_ALLOCATED);
    }

    @Test
    @DisplayName("DBG-6: bounds of the search")
    void theSearchEndsAfterAllBucketsOrAtAddressZero() {
        long all = RecordTable.BUCKETS * BUCKET;
        Feed feed = new Feed(UNASKED).map(0, 2 * all, TO_DEVICE);
        feed.sync(all - 64, 64, TO_DEVICE, false);
        assertThat(feed.heard).as("the lowest bucket is the last one looked at").isEmpty();
        feed.sync(all + BUCKET, 64, TO_DEVICE, false);
        assertThat(feed.heard).as("modulo the table").isEmpty();
        Feed wrapped = new Feed(UNASKED).map(all - BUCKET, 64, TO_DEVICE);
        wrapped.sync(0x40, 64, TO_DEVICE, false);
        assertThat(wrapped.kinds()).containsExactly(SYNC_NOT_ALLOCATED);
    }

    @Test
    @DisplayName("DBG-6, DBG-66: each bucket is judged by itself")
    void twoInOneBucketAreNoMatchAndOneBelowIs() {
        Feed feed = new Feed(UNASKED);
        feed.map(0x4000, 0x1000, TO_DEVICE).map(0x4000, 0x800, TO_DEVICE);
        feed.sync(0x4100, 64, TO_DEVICE, true);
        assertThat(feed.kinds()).as("a false report").containsExactly(SYNC_NOT_ALLOCATED);
        feed.map(0x1000, 0x8000, TO_DEVICE).sync(0x4100, 64, TO_DEVICE, true);
        assertThat(feed.heard).as("the mapping in the lower bucket").hasSize(1);
    }

    @Test
    @DisplayName("DBG-71, DBG-73: records are taken and given back")
    void thePoolIsCounted() {
        Feed feed = new Feed(UNASKED.withEntries(33));
        assertThat(feed.debug.totalEntries()).as("rounded up to pages of 32").isEqualTo(64);
        feed.map(0x1000, 8, TO_DEVICE).map(0x3000, 8, TO_DEVICE).unmap(0x1000, 8, TO_DEVICE);
        assertThat(feed.debug.freeEntries()).isEqualTo(63);
        assertThat(feed.debug.minFreeEntries()).isEqualTo(62);
        feed.unmap(0x3000, 8, TO_DEVICE);
        assertThat(feed.debug.freeEntries()).isEqualTo(64);
        assertThat(feed.debug.minFreeEntries()).isEqualTo(62);
    }

    @Test
    @DisplayName("DBG-71: dma_debug_entries=")
    void theCommandLineTellsHowMany() {
        assertThat(entries("")).isEqualTo(65536);
        assertThat(entries("dma_debug_entries=100")).isEqualTo(100);
        assertThat(entries("dma_debug_entries=0x40 -- dma_debug_entries=1")).isEqualTo(64);
        assertThat(entries("dma-debug-entries=0100")).isEqualTo(64);
        assertThat(entries("dma_debug_entries=0")).isZero();
        assertThat(entries("dma_debug_entries=12k")).isEqualTo(12);
        assertThat(entries("dma_debug_entries=many")).isEqualTo(65536);
        assertThat(entries("dma_debug_entries=")).isEqualTo(65536);
        assertThat(entries("dma_debug_entries=99999999999")).isEqualTo(65536);
        assertThat(entries("dma_debug_entries=5 dma_debug_entries=\"7\"")).isEqualTo(7);
        assertThatThrownBy(() -> DmaDebugOptions.DEFAULT.withEntries(-1)).hasMessage("-1 entries");
    }

    private static long entries(String commandLine) {
        return DmaDebugOptions.DEFAULT.withCommandLine(commandLine).entries();
    }

    @Test
    @DisplayName("DBG-72: growth by a page, told at each multiple of the first size")
    void thePoolGrowsByAPage() {
        Feed feed = new Feed(UNASKED.withEntries(64));
        for (int i = 0; i < 129; i++) {
            feed.map(i * 0x1000L, 8, TO_DEVICE);
            if (i == 64) {
                assertThat(feed.debug.totalEntries()).isEqualTo(96);
                assertThat(feed.messages).isEmpty();
            }
        }
        assertThat(feed.debug.totalEntries()).isEqualTo(160);
        assertThat(feed.debug.freeEntries()).isEqualTo(31);
        assertThat(feed.debug.minFreeEntries()).isZero();
        assertThat(feed.messages).containsExactly("pool grown to 128 (200%)");
        Feed none = new Feed(UNASKED.withEntries(0)).map(0x1000, 8, TO_DEVICE);
        assertThat(none.debug.totalEntries()).isEqualTo(32);
        assertThat(none.messages).isEmpty();
    }

    @Test
    @DisplayName("DBG-11: a failure is not recorded, but asks about an older one")
    void aFailedMapIsNotRecorded() {
        Feed feed = new Feed().map(0x1000, 8, TO_DEVICE, 0, -1L);
        assertThat(feed.debug.liveCount()).isZero();
        feed.unmap(-1L, 8, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(INVALID_ADDRESS);
        assertThat(feed.text())
                .isEqualTo("DMA-API: e1000 0000:00:08.0: device driver tries to free an invalid DMA memory address");
    }

    @Test
    @DisplayName("DBG-11, DBG-30: mapping a buffer again marks the older mapping as asked about")
    void mappingAgainAsksAboutTheOlderMapping() {
        Feed feed = new Feed().map(0x1000, 8, TO_DEVICE).map(0x1000, 8, TO_DEVICE);
        assertThat(feed.debug.live())
                .extracting(DebugMapping::errorCheck)
                .containsExactly(ErrorCheck.CHECKED, ErrorCheck.NOT_CHECKED);
    }

    @Test
    @DisplayName("DBG-13: a resource is recorded even when it could not be mapped")
    void aFailedResourceIsRecorded() {
        Feed feed = new Feed();
        feed.debug.accept(new DmaCall.MapResource(feed.caller(), 0xfe00_0000L, 16, BIDIRECTIONAL, 0, -1L));
        assertThat(feed.debug.live()).singleElement().satisfies(m -> {
            assertThat(m.type()).isEqualTo(MappingType.RESOURCE);
            assertThat(m.dmaAddr()).isEqualTo(-1L);
            assertThat(m.errorCheck()).isEqualTo(ErrorCheck.NOT_CHECKED);
        });
        feed.asked(-1L);
        feed.debug.accept(new DmaCall.UnmapResource(feed.caller(), -1L, 16, BIDIRECTIONAL));
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.liveCount()).isZero();
    }

    @Test
    @DisplayName("DBG-12: one record for each DMA segment")
    void aListHasARecordForEachSegment() {
        Feed feed = new Feed();
        feed.mapSg(
                FROM_DEVICE, 3, 2, Feed.segment(0x1000, 0x800), Feed.segment(0x3000, 0x800), Feed.segment(0x5000, 8));
        assertThat(feed.debug.live())
                .extracting(DebugMapping::dmaAddr, DebugMapping::callEnts, DebugMapping::mappedEnts)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(0x1000L, 3, 2),
                        org.assertj.core.groups.Tuple.tuple(0x3000L, 3, 2));
    }

    @Test
    @DisplayName("DBG-15: pages are noncoherent, nobody has to ask")
    void pagesAreNoncoherent() {
        Feed feed = new Feed().alloc(MappingType.NONCOHERENT, 0x8000, 100, FROM_DEVICE);
        assertThat(feed.debug.live()).singleElement().satisfies(m -> {
            assertThat(m.type()).isEqualTo(MappingType.NONCOHERENT);
            assertThat(m.sizeBytes()).isEqualTo(100);
            assertThat(m.errorCheck()).isEqualTo(ErrorCheck.NOT_APPLICABLE);
        });
        feed.free(MappingType.NONCOHERENT, 0x8000, 100, FROM_DEVICE, 0x8000);
        assertThat(feed.heard).isEmpty();
    }
}
