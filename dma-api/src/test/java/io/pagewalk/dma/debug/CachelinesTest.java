package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EEXIST;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EXCEEDED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DmaAttrs;
import java.util.Collections;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Mappings that share a cacheline. */
class CachelinesTest {
    private static final long LINE = 0x4000;
    private static final DmaDebugOptions UNASKED = DmaDebugOptions.DEFAULT.withMapErrors(false);

    @Test
    @DisplayName("DBG-20: the first line of what a device may write, and no other")
    void onlyTheFirstLineCountsAndNotForTheDevice() {
        Feed feed = new Feed(UNASKED).map(LINE, 256, FROM_DEVICE);
        feed.map(LINE + 64, 64, FROM_DEVICE).map(LINE + 128, 8, BIDIRECTIONAL);
        feed.map(LINE, 8, TO_DEVICE, 0, 0x10_0000);
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.overlapOf(LINE + 63)).isZero();
        assertThat(feed.debug.overlapOf(LINE + 192)).isEqualTo(-1);
        feed.map(LINE + 63, 1, BIDIRECTIONAL);
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST);
    }

    @Test
    @DisplayName("DBG-20: length of a line")
    void aLineHasTheArchitecturesLength() {
        Feed feed = new Feed(UNASKED.withCachelineShift(7))
                .map(LINE, 64, FROM_DEVICE)
                .map(LINE + 64, 64, FROM_DEVICE);
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST);
        assertThatThrownBy(() -> UNASKED.withCachelineShift(13)).hasMessage("a cacheline of 2^13 bytes");
        assertThatThrownBy(() -> UNASKED.withCachelineShift(-1)).hasMessage("a cacheline of 2^-1 bytes");
    }

    @Test
    @DisplayName("DBG-21, DBG-22, F7: nine mappings")
    void theSecondToNinthAreReportedAndTheNinthExceeds() {
        Feed feed = new Feed(UNASKED);
        for (int i = 0; i < 8; i++) {
            feed.map(LINE + i, 1, FROM_DEVICE);
            assertThat(feed.debug.overlapOf(LINE)).isEqualTo(i);
        }
        assertThat(feed.kinds()).isEqualTo(Collections.nCopies(7, CACHELINE_EEXIST));
        assertThat(feed.text())
                .isEqualTo(
                        "DMA-API: e1000 0000:00:08.0: cacheline tracking EEXIST, overlapping mappings aren't supported");
        feed.map(LINE + 8, 1, FROM_DEVICE);
        assertThat(feed.kinds().subList(7, 9)).containsExactly(CACHELINE_EXCEEDED, CACHELINE_EEXIST);
        assertThat(feed.heard.get(7).kernelText())
                .isEqualTo(
                        "DMA-API: e1000 0000:00:08.0: exceeded 7 overlapping mappings of cacheline 0x0000000000000100");
        assertThat(feed.heard.get(7).shown()).isTrue();
        assertThat(feed.debug.errorCount()).as("WARN-once counts nowhere").isEqualTo(8);
        assertThat(feed.debug.overlapOf(LINE)).isEqualTo(7);
        feed.map(LINE + 9, 1, FROM_DEVICE);
        assertThat(feed.debug.count(CACHELINE_EXCEEDED)).as("once").isEqualTo(1);
        assertThat(feed.debug.count(CACHELINE_EEXIST)).isEqualTo(9);
    }

    @Test
    @DisplayName("DBG-23: after nine maps the eighth unmap frees the line")
    void theEighthUnmapFreesTheLineOfNine() {
        Feed feed = new Feed(UNASKED);
        for (int i = 0; i < 9; i++) {
            feed.map(LINE + i, 1, FROM_DEVICE);
        }
        for (int i = 0; i < 7; i++) {
            feed.unmap(LINE + i, 1, FROM_DEVICE);
            assertThat(feed.debug.overlapOf(LINE)).isEqualTo(6 - i);
        }
        feed.unmap(LINE + 7, 1, FROM_DEVICE);
        assertThat(feed.debug.overlapOf(LINE)).isEqualTo(-1);
        int before = feed.heard.size();
        feed.map(LINE + 16, 1, FROM_DEVICE);
        assertThat(feed.heard).as("the ninth is still mapped, unnoticed").hasSize(before);
        feed.unmap(LINE + 8, 1, FROM_DEVICE).unmap(LINE + 16, 1, FROM_DEVICE);
        assertThat(feed.heard).as("harmless").hasSize(before);
        assertThat(feed.debug.overlapOf(LINE)).isEqualTo(-1);
    }

    @Test
    @DisplayName("DBG-22: who may share")
    void skippedSyncsAndBouncedBuffersMayShare() {
        Feed feed = new Feed(UNASKED).map(LINE, 8, FROM_DEVICE);
        feed.map(LINE, 8, FROM_DEVICE, DmaAttrs.SKIP_CPU_SYNC, 0x10_0000);
        assertThat(feed.heard).isEmpty();
        feed.bounces = true;
        feed.map(LINE, 8, FROM_DEVICE, 0, 0x11_0000);
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.overlapOf(LINE)).as("counted all the same").isEqualTo(2);
        feed.bounces = false;
        feed.map(LINE, 8, FROM_DEVICE, DmaAttrs.NO_WARN, 0x12_0000);
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST);
    }

    @Test
    @DisplayName("DBG-22: of every kind of mapping")
    void allKindsOfMappingsAreTracked() {
        Feed feed = new Feed(UNASKED).alloc(MappingType.COHERENT, LINE, 64, BIDIRECTIONAL);
        feed.alloc(MappingType.NONCOHERENT, LINE, 64, FROM_DEVICE);
        feed.mapSg(FROM_DEVICE, 1, 1, new Segment(LINE, 8, 0x20_0000, 8));
        feed.debug.accept(new DmaCall.MapResource(feed.caller(), LINE, 8, FROM_DEVICE, 0, 0x30_0000));
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST, CACHELINE_EEXIST, CACHELINE_EEXIST);
        feed.alloc(MappingType.COHERENT, DmaCall.UNKNOWN_PHYS_ADDR, 64, BIDIRECTIONAL);
        feed.alloc(MappingType.COHERENT, DmaCall.UNKNOWN_PHYS_ADDR, 64, BIDIRECTIONAL);
        assertThat(feed.heard).as("no line that is known").hasSize(3);
    }

    @Test
    @DisplayName("DBG-24: over all devices")
    void anotherDevicesMappingCountsToo() {
        Feed feed = new Feed(UNASKED).map(LINE, 8, FROM_DEVICE);
        feed.as(Feed.DISK).map(LINE + 8, 8, FROM_DEVICE);
        assertThat(feed.kinds()).containsExactly(CACHELINE_EEXIST);
        DmaDebugReport report = feed.heard.get(0);
        assertThat(report.caller().device()).isEqualTo(Feed.DISK);
        assertThat(report.near()).isEqualTo(new NearMapping(feed.debug.live().get(0), NearMapping.Position.INSIDE, 8));
        assertThat(report.line())
                .isEqualTo(
                        "DMA-API: nvme 0000:00:04.0: cacheline tracking EEXIST, overlapping mappings aren't supported"
                                + "; it is single mapping 0x4008+0x8 FROM_DEVICE"
                                + "; 8 bytes inside single mapping 0x4000+0x8 FROM_DEVICE");
    }

    @Test
    @DisplayName("F7: the newer rule")
    void onACoherentPlatformLinesMayBeShared() {
        Feed feed = new Feed(UNASKED.withProfile(DmaDebugProfile.COHERENT_PLATFORM));
        for (int i = 0; i < 10; i++) {
            feed.map(LINE, 1, FROM_DEVICE, 0, 0x10_0000 + i);
        }
        assertThat(feed.heard).isEmpty();
        assertThat(feed.debug.overlapOf(LINE)).isEqualTo(7);
    }
}
