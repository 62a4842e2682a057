package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_CPU_ADDRESS;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_DIRECTION;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_ENTRY_COUNT;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_SIZE;
import static io.pagewalk.dma.debug.DmaDebugKind.LEAK;
import static io.pagewalk.dma.debug.DmaDebugKind.MAP_ERROR_NOT_CHECKED;
import static io.pagewalk.dma.debug.DmaDebugKind.NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SEGMENT_ACROSS_BOUNDARY;
import static io.pagewalk.dma.debug.DmaDebugKind.SEGMENT_TOO_LONG;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_DIFFERENT_DIRECTION;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_DIFFERENT_ENTRY_COUNT;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_READ_ONLY;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_WRITE_ONLY;
import static io.pagewalk.dma.debug.DmaDebugKind.WRONG_FUNCTION;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DmaDirection;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of each wrong call, in the kernel's words and order. */
class ChecksTest {
    private static final String NIC = "DMA-API: e1000 0000:00:08.0: ";
    private static final DmaDebugOptions UNASKED = DmaDebugOptions.DEFAULT.withMapErrors(false);

    @Test
    @DisplayName("DBG-30: the first that nobody asked about, and only one")
    void oneAskingMarksOneMapping() {
        Feed feed = new Feed().map(0x1000, 8, TO_DEVICE);
        feed.debug.accept(new DmaCall.MapResource(feed.caller(), 0x1000, 8, TO_DEVICE, 0, 0x1000));
        feed.as(Feed.DISK).asked(0x1000).as(Feed.NIC).asked(0x1001);
        assertThat(feed.debug.live()).extracting(DebugMapping::errorCheck).containsOnly(ErrorCheck.NOT_CHECKED);
        feed.asked(0x1000);
        assertThat(feed.debug.live())
                .extracting(DebugMapping::errorCheck)
                .containsExactly(ErrorCheck.CHECKED, ErrorCheck.NOT_CHECKED);
        feed.asked(0x1000).asked(0x1000);
        assertThat(feed.debug.live()).extracting(DebugMapping::errorCheck).containsOnly(ErrorCheck.CHECKED);
    }

    @Test
    @DisplayName("DBG-31, DBG-47, F4: unmapped without asking")
    void anUnaskedMappingIsReportedAtItsEnd() {
        Feed feed = new Feed().map(0x1000, 8, TO_DEVICE).unmap(0x1000, 8, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(MAP_ERROR_NOT_CHECKED);
        assertThat(feed.text())
                .isEqualTo(
                        NIC
                                + "device driver failed to check map error[device address=0x0000000000001000] [size=8 bytes] [mapped as single]");
        feed.debug.accept(new DmaCall.MapResource(feed.caller(), 0x1000, 8, TO_DEVICE, 0, 0x1000));
        feed.debug.accept(new DmaCall.UnmapResource(feed.caller(), 0x1000, 8, TO_DEVICE));
        assertThat(feed.text()).endsWith("[size=8 bytes] [mapped as resource]");
        feed.good(0x1000, 8, TO_DEVICE).unmap(0x1000, 8, TO_DEVICE);
        feed.mapSg(TO_DEVICE, 1, 1, Feed.segment(0x1000, 8)).unmapSg(TO_DEVICE, 1, Feed.segment(0x1000, 8));
        assertThat(feed.heard).hasSize(2);
    }

    @Test
    @DisplayName("DBG-41, F2: never mapped")
    void unmapOfWhatWasNeverMapped() {
        Feed feed = new Feed().good(0x443d_7000L, 2048, TO_DEVICE).unmap(0x443d_7040L, 2048, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED);
        assertThat(feed.text())
                .isEqualTo(
                        NIC
                                + "device driver tries to free DMA memory it has not allocated [device address=0x00000000443d7040] [size=2048 bytes]");
        DmaDebugReport report = feed.heard.get(0);
        assertThat(report.ref())
                .isEqualTo(new DebugRef(
                        Feed.NIC, MappingType.SINGLE, 0x443d_7040L, 2048, TO_DEVICE, DmaCall.UNKNOWN_PHYS_ADDR, 0));
        assertThat(report.mapping()).isNull();
        assertThat(report.lastUnmap()).isNull();
        assertThat(report.near()).isNotNull();
        assertThat(report.line())
                .endsWith("[size=2048 bytes]; 64 bytes inside single mapping 0x443d7000+0x800 TO_DEVICE");
    }

    @Test
    @DisplayName("DBG-41: unmapped twice")
    void unmappedTwiceNamesTheFirstUnmap() {
        Feed feed = new Feed().good(0x1000, 0x100, TO_DEVICE);
        feed.now = 500;
        feed.unmap(0x1000, 0x100, TO_DEVICE);
        feed.now = 620;
        feed.unmap(0x1000, 0x100, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED);
        assertThat(feed.heard.get(0).line())
                .endsWith("[size=256 bytes]; last there: single mapping 0x1000+0x100 TO_DEVICE, unmapped 120 ns ago");
    }

    @Test
    @DisplayName("DBG-42, F1")
    void aDifferentSizeIsReported() {
        Feed feed = new Feed().good(0x81f7_f8c2L, 1536, TO_DEVICE).unmap(0x81f7_f8c2L, 42, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_SIZE);
        assertThat(feed.text())
                .isEqualTo(
                        NIC
                                + "device driver frees DMA memory with different size [device address=0x0000000081f7f8c2] [map size=1536 bytes] [unmap size=42 bytes]");
        assertThat(feed.heard.get(0).fields())
                .extracting(ReportField::number)
                .containsExactly(0x81f7_f8c2L, 1536L, 42L);
    }

    @Test
    @DisplayName("DBG-43, F13")
    void theWrongFunctionIsReported() {
        Feed feed = new Feed().mapSg(TO_DEVICE, 1, 1, Feed.segment(0x1000, 8)).unmap(0x1000, 8, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(WRONG_FUNCTION);
        assertThat(feed.text())
                .isEqualTo(
                        NIC
                                + "device driver frees DMA memory with wrong function [device address=0x0000000000001000] [size=8 bytes] [mapped as scatter-gather] [unmapped as single]");
        feed.alloc(MappingType.COHERENT, 0x1000, 8, BIDIRECTIONAL);
        feed.free(MappingType.NONCOHERENT, 0x2000, 8, BIDIRECTIONAL, 0x1000);
        assertThat(feed.kinds())
                .as("the address is compared for equal types only")
                .hasSize(2);
        assertThat(feed.text()).endsWith("[mapped as coherent] [unmapped as noncoherent]");
    }

    @Test
    @DisplayName("DBG-44")
    void aDifferentCpuAddressIsReported() {
        Feed feed = new Feed().alloc(MappingType.COHERENT, 0x1000, 8, BIDIRECTIONAL);
        feed.free(MappingType.COHERENT, 0x3000, 8, BIDIRECTIONAL, 0x1000);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_CPU_ADDRESS);
        assertThat(feed.text())
                .isEqualTo(NIC
                        + "device driver frees DMA memory with different CPU address [device address=0x0000000000001000] [size=8 bytes]"
                        + " [cpu alloc address=0x0x0000000000001000] [cpu free address=0x0x0000000000003000]");
        feed.alloc(MappingType.NONCOHERENT, 0x1000, 8, FROM_DEVICE);
        feed.free(MappingType.NONCOHERENT, 0x3000, 8, FROM_DEVICE, 0x1000);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_CPU_ADDRESS, DIFFERENT_CPU_ADDRESS);
        feed.alloc(MappingType.COHERENT, 0x1000, 8, BIDIRECTIONAL);
        feed.free(MappingType.COHERENT, DmaCall.UNKNOWN_PHYS_ADDR, 8, BIDIRECTIONAL, 0x1000);
        feed.debug.accept(new DmaCall.Alloc(
                feed.caller(), MappingType.COHERENT, DmaCall.UNKNOWN_PHYS_ADDR, 8, BIDIRECTIONAL, 0, 0x1000));
        feed.free(MappingType.COHERENT, 0x3000, 8, BIDIRECTIONAL, 0x1000);
        assertThat(feed.heard).as("one side is not known").hasSize(2);
    }

    @Test
    @DisplayName("DBG-45, C1")
    void aDifferentCountIsReported() {
        Segment first = Feed.segment(0x1000, 0x3000);
        Feed feed = new Feed().mapSg(TO_DEVICE, 3, 1, first).unmapSg(TO_DEVICE, 1, first);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_ENTRY_COUNT);
        assertThat(feed.text())
                .isEqualTo(NIC
                        + "device driver frees DMA sg list with different entry count [map count=3] [unmap count=1]");
        feed.good(0x1000, 8, TO_DEVICE).unmapSg(TO_DEVICE, 2, Feed.segment(0x1000, 8), Feed.segment(0x3000, 8));
        assertThat(feed.kinds().subList(1, feed.heard.size()))
                .containsExactly(WRONG_FUNCTION, DIFFERENT_ENTRY_COUNT, NOT_ALLOCATED);
    }

    @Test
    @DisplayName("DBG-46, F13")
    void aDifferentDirectionIsReported() {
        Feed feed = new Feed().good(0x1000, 8, TO_DEVICE).unmap(0x1000, 8, FROM_DEVICE);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_DIRECTION);
        assertThat(feed.text())
                .isEqualTo(
                        NIC
                                + "device driver frees DMA memory with different direction [device address=0x0000000000001000] [size=8 bytes] [mapped with DMA_TO_DEVICE] [unmapped with DMA_FROM_DEVICE]");
    }

    @Test
    @DisplayName("DBG-42 to DBG-48: all that differs, in order, and the record goes")
    void severalDifferencesAreReportedInOrder() {
        Feed feed = new Feed().map(0x1000, 8, FROM_DEVICE);
        feed.unmapSg(TO_DEVICE, 1, Feed.segment(0x1000, 16));
        assertThat(feed.kinds())
                .containsExactly(
                        DIFFERENT_SIZE,
                        WRONG_FUNCTION,
                        DIFFERENT_ENTRY_COUNT,
                        DIFFERENT_DIRECTION,
                        MAP_ERROR_NOT_CHECKED);
        assertThat(feed.debug.liveCount()).isZero();
        assertThat(feed.debug.overlapOf(0x1000))
                .as("removed in the record's direction")
                .isEqualTo(-1);
    }

    @Test
    @DisplayName("DBG-40: an unmap of the error value is an invalid address, by every function, and ends nothing")
    void anUnmapOfTheErrorValueIsAnInvalidAddress() {
        Feed feed = new Feed().good(0x1000, 8, TO_DEVICE);
        feed.unmap(-1L, 8, TO_DEVICE);
        feed.unmapSg(TO_DEVICE, 1, Feed.segment(-1L, 8));
        feed.free(MappingType.COHERENT, 0x1000, 8, BIDIRECTIONAL, -1L);
        assertThat(feed.heard).hasSize(3).allSatisfy(report -> {
            assertThat(report.kind()).isEqualTo(DmaDebugKind.INVALID_ADDRESS);
            assertThat(report.fields()).isEmpty();
        });
        assertThat(feed.debug.liveCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("DBG-48: an unmap that finds nothing asks about the error")
    void anUnmapWithoutAMatchMarksAMapping() {
        Feed feed = new Feed().map(0x1000, 8, TO_DEVICE).asked(0x1000).map(0x1000, 16, TO_DEVICE);
        feed.unmap(0x1000, 24, TO_DEVICE);
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED);
        assertThat(feed.debug.live()).extracting(DebugMapping::errorCheck).containsOnly(ErrorCheck.CHECKED);
    }

    @Test
    @DisplayName("DBG-49: an unmapped list of n is n reports")
    void unmappingAnUnmappedListReportsEachEntry() {
        Feed feed = new Feed();
        feed.unmapSg(TO_DEVICE, 3, Feed.segment(0x1000, 8), Feed.segment(0x3000, 8), Feed.segment(-1L, 0));
        assertThat(feed.kinds()).containsExactly(NOT_ALLOCATED, NOT_ALLOCATED, DmaDebugKind.INVALID_ADDRESS);
    }

    @Test
    @DisplayName("DBG-49: of a mapped list only the DMA segments are looked at")
    void theFirstRecordTellsHowManySegmentsThereAre() {
        Segment[] list = {Feed.segment(0x1000, 8), Feed.segment(0x3000, 8), Feed.segment(-1L, 0)};
        Feed feed = new Feed().mapSg(TO_DEVICE, 3, 2, list).unmapSg(TO_DEVICE, 3, list);
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.liveCount()).isZero();
        feed.mapSg(TO_DEVICE, 3, 2, list).unmapSg(TO_DEVICE, 1, list[0]);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_ENTRY_COUNT);
        assertThat(feed.debug.liveCount()).as("the second segment is left").isEqualTo(1);
    }

    @ParameterizedTest(name = "{0} {1}({2}): {3}")
    @DisplayName("DBG-61 to DBG-64: the matrix")
    @CsvSource({
        "TO_DEVICE, cpu, TO_DEVICE, 0",
        "TO_DEVICE, cpu, FROM_DEVICE, 2",
        "TO_DEVICE, cpu, BIDIRECTIONAL, 2",
        "TO_DEVICE, device, TO_DEVICE, 0",
        "TO_DEVICE, device, FROM_DEVICE, 1",
        "TO_DEVICE, device, BIDIRECTIONAL, 1",
        "FROM_DEVICE, cpu, FROM_DEVICE, 0",
        "FROM_DEVICE, cpu, TO_DEVICE, 1",
        "FROM_DEVICE, cpu, BIDIRECTIONAL, 1",
        "FROM_DEVICE, device, FROM_DEVICE, 0",
        "FROM_DEVICE, device, TO_DEVICE, 2",
        "FROM_DEVICE, device, BIDIRECTIONAL, 2",
        "BIDIRECTIONAL, cpu, TO_DEVICE, 0",
        "BIDIRECTIONAL, cpu, FROM_DEVICE, 0",
        "BIDIRECTIONAL, cpu, BIDIRECTIONAL, 0",
        "BIDIRECTIONAL, device, TO_DEVICE, 0",
        "BIDIRECTIONAL, device, FROM_DEVICE, 0",
        "BIDIRECTIONAL, device, BIDIRECTIONAL, 0"
    })
    void aSyncGoesWithItsMapping(DmaDirection mapped, String side, DmaDirection synced, int reports) {
        boolean forCpu = side.equals("cpu");
        Feed feed = new Feed().good(0x1000, 0x100, mapped).sync(0x1010, 16, synced, forCpu);
        DmaDebugKind second = forCpu ? SYNC_READ_ONLY : SYNC_WRITE_ONLY;
        assertThat(feed.kinds())
                .isEqualTo(List.of(SYNC_DIFFERENT_DIRECTION, second).subList(0, reports));
    }

    @Test
    @DisplayName("DBG-60: past the end")
    void aSyncPastTheEndFindsNoMapping() {
        Feed feed = new Feed().good(0x1000, 0x100, TO_DEVICE).sync(0x10f0, 0x20, TO_DEVICE, true);
        assertThat(feed.kinds()).containsExactly(SYNC_NOT_ALLOCATED);
        assertThat(feed.heard.get(0).line())
                .isEqualTo(NIC
                        + "device driver tries to sync DMA memory it has not allocated [device address=0x00000000000010f0] [size=32 bytes]"
                        + "; 240 bytes inside single mapping 0x1000+0x100 TO_DEVICE");
    }

    @Test
    @DisplayName("DBG-62 to DBG-64: texts, with the size of the mapping")
    void syncsAreReportedWithTheMappingsSize() {
        Feed feed = new Feed().good(0x1000, 0x100, TO_DEVICE).sync(0x1010, 16, FROM_DEVICE, true);
        String fields =
                " [device address=0x0000000000001010] [size=256 bytes] [mapped with DMA_TO_DEVICE] [synced with DMA_FROM_DEVICE]";
        assertThat(feed.heard.get(0).kernelText())
                .isEqualTo(NIC + "device driver syncs DMA memory with different direction" + fields);
        assertThat(feed.heard.get(1).kernelText())
                .isEqualTo(NIC + "device driver syncs device read-only DMA memory for cpu" + fields);
        Feed other = new Feed().good(0x1000, 0x100, FROM_DEVICE).sync(0x1010, 16, TO_DEVICE, false);
        assertThat(other.heard.get(1).kernelText())
                .isEqualTo(
                        NIC + "device driver syncs device write-only DMA memory to device"
                                + " [device address=0x0000000000001010] [size=256 bytes] [mapped with DMA_FROM_DEVICE] [synced with DMA_TO_DEVICE]");
    }

    @Test
    @DisplayName("DBG-65")
    void aSyncOfAnotherCountIsReported() {
        Segment[] list = {Feed.segment(0x1000, 8), Feed.segment(0x3000, 8)};
        Feed feed = new Feed().mapSg(TO_DEVICE, 3, 2, list).syncSg(TO_DEVICE, 2, false, list);
        assertThat(feed.kinds()).containsExactly(SYNC_DIFFERENT_ENTRY_COUNT, SYNC_DIFFERENT_ENTRY_COUNT);
        assertThat(feed.text())
                .isEqualTo(NIC
                        + "device driver syncs DMA sg list with different entry count [map count=3] [sync count=2]");
        feed.sync(0x1000, 8, TO_DEVICE, false);
        assertThat(feed.heard).as("a single sync has no count (DBG-66)").hasSize(2);
        Feed both = new Feed().mapSg(BIDIRECTIONAL, 3, 2, list).syncSg(TO_DEVICE, 2, false, list);
        assertThat(both.heard).as("DBG-61").isEmpty();
    }

    @Test
    @DisplayName("DBG-67")
    void syncingAListThatWasNeverMappedIsSilent() {
        Feed feed = new Feed().syncSg(TO_DEVICE, 2, true, Feed.segment(0x1000, 8), Feed.segment(0x3000, 8));
        assertThat(feed.heard).isEmpty();
        Segment[] list = {Feed.segment(0x1000, 8), Feed.segment(0x3000, 8), Feed.segment(0x5000, 8)};
        feed.mapSg(FROM_DEVICE, 3, 2, list).syncSg(FROM_DEVICE, 3, true, list);
        assertThat(feed.heard).as("the third entry is beyond the DMA segments").isEmpty();
        feed.syncSg(TO_DEVICE, 3, true, list);
        assertThat(feed.kinds()).containsExactly(SYNC_DIFFERENT_DIRECTION, SYNC_DIFFERENT_DIRECTION);
    }

    @Test
    @DisplayName("DBG-25, C3")
    void segmentsAreComparedWithWhatTheDeviceTakes() {
        SegmentLimits limits = new SegmentLimits(65536, 0xffff_ffffL);
        Feed feed = new Feed().mapSg(TO_DEVICE, 1, 1, limits, Feed.segment(0x10_0000, 540672));
        assertThat(feed.kinds()).containsExactly(SEGMENT_TOO_LONG);
        assertThat(feed.text())
                .isEqualTo(NIC + "mapping sg segment longer than device claims to support [len=540672] [max=65536]");
        feed.mapSg(TO_DEVICE, 1, 1, limits, Feed.segment(0x40_0000, 65536));
        assertThat(feed.heard).hasSize(1);
        feed.mapSg(TO_DEVICE, 1, 1, limits, new Segment(0x50_0000, 0x2000, 0xffff_f000L, 0x2000));
        assertThat(feed.kinds()).containsExactly(SEGMENT_TOO_LONG, SEGMENT_ACROSS_BOUNDARY);
        assertThat(feed.text())
                .isEqualTo(
                        NIC + "mapping sg segment across boundary [start=0x00000000fffff000] [end=0x0000000100000fff]"
                                + " [boundary=0x00000000ffffffff]");
        feed.mapSg(TO_DEVICE, 1, 1, limits, new Segment(0x60_0000, 0x1000, 0xffff_f000L, 0x1000));
        feed.mapSg(TO_DEVICE, 1, 1, Feed.segment(0x70_0000, 1 << 30));
        assertThat(feed.heard).as("up to the boundary; limits unknown").hasSize(2);
        Feed off = new Feed(UNASKED.withSegments(false)).mapSg(TO_DEVICE, 1, 1, limits, Feed.segment(0, 1 << 30));
        assertThat(off.heard).as("without DMA_API_DEBUG_SG").isEmpty();
    }

    @Test
    @DisplayName("DBG-70, F11")
    void leaksAreReportedOnceWithTheLastInBucketOrder() {
        Feed feed = new Feed(UNASKED).unbind();
        assertThat(feed.heard).isEmpty();
        feed.map(0x8000, 64, FROM_DEVICE).map(0x2000, 32, TO_DEVICE);
        feed.as(Feed.DISK).map(0x1_0000, 64, FROM_DEVICE).as(Feed.NIC).unbind();
        assertThat(feed.kinds()).containsExactly(LEAK);
        assertThat(feed.text())
                .isEqualTo(
                        NIC + "device driver has pending DMA allocations while released from device [count=2]"
                                + " One of leaked entries details: [device address=0x0000000000008000] [size=64 bytes] [mapped with DMA_FROM_DEVICE] [mapped as single]");
        assertThat(feed.debug.liveCount()).as("records stay").isEqualTo(3);
        assertThat(feed.heard.get(0).mapping()).isNotNull();
    }

    @Test
    void aNegativeCountIsRefusedBeforeAnythingIsLookedAt() {
        Feed feed = new Feed().good(0x1000, 8, TO_DEVICE);
        Segment there = Feed.segment(0x1000, 8);
        List<Runnable> calls = List.of(
                () -> feed.mapSg(TO_DEVICE, -1, 1, there),
                () -> feed.unmapSg(TO_DEVICE, -1, there),
                () -> feed.syncSg(TO_DEVICE, -1, true, there));
        for (Runnable call : calls) {
            assertThatThrownBy(call::run)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a list has 0 entries or more, not -1");
        }
        assertThatThrownBy(() -> feed.mapSg(TO_DEVICE, 1, Integer.MIN_VALUE, there))
                .hasMessage("a list has 0 mapped entries or more, not -2147483648");
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.liveCount()).isEqualTo(1);
    }

    @Test
    void afterAGapNothingIsKnownAndNothingMissingIsReported() {
        Feed feed = new Feed(UNASKED).map(0x1000, 8, FROM_DEVICE);
        feed.debug.accept(new DmaCall.Gap(new Caller(null, 0, 0, null, null)));
        assertThat(feed.debug.liveCount()).isZero();
        assertThat(feed.debug.overlapOf(0x1000)).isEqualTo(-1);
        assertThat(feed.debug.freeEntries()).isEqualTo(65536);
        feed.unmap(0x1000, 8, FROM_DEVICE).sync(0x1000, 8, FROM_DEVICE, true);
        assertThat(feed.heard).isEmpty();
        feed.map(0x1000, 8, FROM_DEVICE).unmap(0x1000, 9, FROM_DEVICE).unmap(-1L, 8, FROM_DEVICE);
        assertThat(feed.kinds()).containsExactly(DIFFERENT_SIZE, DmaDebugKind.INVALID_ADDRESS);
    }
}
