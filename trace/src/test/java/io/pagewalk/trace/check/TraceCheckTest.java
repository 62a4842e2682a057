package io.pagewalk.trace.check;

import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EEXIST;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_DIRECTION;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_ENTRY_COUNT;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_SIZE;
import static io.pagewalk.dma.debug.DmaDebugKind.INVALID_ADDRESS;
import static io.pagewalk.dma.debug.DmaDebugKind.LEAK;
import static io.pagewalk.dma.debug.DmaDebugKind.NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SEGMENT_ACROSS_BOUNDARY;
import static io.pagewalk.dma.debug.DmaDebugKind.SEGMENT_TOO_LONG;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_DIFFERENT_DIRECTION;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_READ_ONLY;
import static io.pagewalk.dma.debug.DmaDebugKind.WRONG_FUNCTION;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.MachineSpec;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Traces of a few lines with one thing wrong in each, and whole ones with nothing wrong. */
class TraceCheckTest {
    private static final String MAP = "dma_map_page: nic dir=%s dma_addr=%x size=%d phys_addr=%x attrs=%s";
    private static final String UNMAP = "dma_unmap_page: nic dir=%s dma_addr=%x size=%d attrs=";
    private static final CheckOptions DEFAULT = CheckOptions.DEFAULT;

    private final StringBuilder text = new StringBuilder();
    private int lines;

    private TraceCheckTest add(String event) {
        lines++;
        text.append("             fio-326     [001] .....     1.%06d: %s%n".formatted(lines, event));
        return this;
    }

    private TraceCheckTest map(String direction, long addr, int size) {
        return add(MAP.formatted(direction, addr, size, addr, ""));
    }

    private TraceCheckTest unmap(String direction, long addr, int size) {
        return add(UNMAP.formatted(direction, addr, size));
    }

    private CheckResult check(CheckOptions options) throws IOException {
        InputStream bytes = new ByteArrayInputStream(text.toString().getBytes(StandardCharsets.UTF_8));
        try (TraceReader reader = TraceReader.open(bytes, "text")) {
            return TraceCheck.run("text", reader, options, (events, read, total) -> {});
        }
    }

    private CheckResult check() throws IOException {
        return check(DEFAULT);
    }

    private static List<DmaDebugKind> kinds(CheckResult result) {
        return result.reports().stream().map(DmaDebugReport::kind).toList();
    }

    @Test
    void aRightTraceHasNoReport() throws IOException {
        CheckResult result =
                map("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x1000, 64).check();
        assertThat(result.ok()).isTrue();
        assertThat(result.calls()).isEqualTo(2);
        assertThat(result.live()).isEmpty();
        assertThat(result.totalEntries()).isEqualTo(65536);
        assertThat(result.minFreeEntries()).isEqualTo(65535);
        assertThat(result.summary().linesRead()).isEqualTo(2);
    }

    @Test
    void aReportNamesTaskAndLine() throws IOException {
        CheckResult result =
                map("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x1000, 32).check();
        assertThat(kinds(result)).containsExactly(DIFFERENT_SIZE);
        assertThat(result.reports().get(0).line())
                .isEqualTo(
                        "DMA-API: nic: device driver frees DMA memory with different size [device address=0x0000000000001000] [map size=64 bytes] [unmap size=32 bytes]"
                                + "; it is single mapping 0x1000+0x40 TO_DEVICE of fio-326 (line 1); called by fio-326 at line 2");
        assertThat(result.counts()).isEqualTo(Map.of(DIFFERENT_SIZE, 1L));
        assertThat(result.reportCount()).isEqualTo(1);
    }

    @Test
    void anUnmapTwiceNamesTheFirstOne() throws IOException {
        map("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x1000, 64);
        assertThat(check().reports().get(0).line())
                .endsWith(
                        "; last there: single mapping 0x1000+0x40 TO_DEVICE of fio-326 (line 1), unmapped 1000 ns ago by fio-326 (line 2)"
                                + "; called by fio-326 at line 3");
    }

    @Test
    void directionsAreCompared() throws IOException {
        map("TO_DEVICE", 0x1000, 64).unmap("FROM_DEVICE", 0x1000, 64);
        assertThat(kinds(check())).containsExactly(DIFFERENT_DIRECTION);
    }

    @Test
    void syncsAreChecked() throws IOException {
        map("TO_DEVICE", 0x1000, 64);
        add("dma_sync_single_for_cpu: nic dir=FROM_DEVICE dma_addr=1000 size=32");
        add("dma_sync_single_for_device: nic dir=TO_DEVICE dma_addr=1020 size=33");
        add("dma_sync_single_for_device: nic dir=TO_DEVICE dma_addr=1020 size=32");
        assertThat(kinds(check())).containsExactly(SYNC_DIFFERENT_DIRECTION, SYNC_READ_ONLY, SYNC_NOT_ALLOCATED);
    }

    @Test
    void sharedCachelinesAreReportedUnlessThePlatformIsCoherent() throws IOException {
        map("FROM_DEVICE", 0x1000, 8).map("FROM_DEVICE", 0x1008, 8);
        add(MAP.formatted("FROM_DEVICE", 0x1010, 8, 0x1010, "SKIP_CPU_SYNC"));
        assertThat(kinds(check())).containsExactly(CACHELINE_EEXIST);
        CheckOptions coherent =
                new CheckOptions(DmaDebugProfile.COHERENT_PLATFORM, false, false, MachineSpec.DEFAULT, 10);
        assertThat(check(coherent).ok()).isTrue();
    }

    @Test
    void failedMapsAndFreesOfNothingAreNotes() throws IOException {
        add(MAP.formatted("TO_DEVICE", -1L, 64, 0x1000, ""));
        add("dma_free: nic dir=BIDIRECTIONAL dma_addr=0 size=0 virt_addr=0000000000000000 attrs=");
        add("dma_alloc: nic dir=BIDIRECTIONAL dma_addr=0 size=64 virt_addr=0000000000000000 flags=GFP_KERNEL attrs=");
        CheckResult result = check();
        assertThat(result.ok()).isTrue();
        assertThat(result.notes()).isEqualTo(Map.of(CheckNote.FREES_OF_NOTHING, 1L, CheckNote.FAILED_MAPS, 2L));
        unmap("TO_DEVICE", -1L, 64);
        assertThat(kinds(check())).containsExactly(INVALID_ADDRESS);
    }

    @Test
    void coherentMemoryIsChecked() throws IOException {
        String memory = "nic dir=BIDIRECTIONAL dma_addr=%s size=%d virt_addr=000000006a508419";
        add("dma_alloc: " + memory.formatted("5000", 512) + " flags=GFP_KERNEL attrs=");
        add("dma_free: " + memory.formatted("5000", 256) + " attrs=");
        add("dma_alloc: " + memory.formatted("7000", 512) + " flags=GFP_KERNEL attrs=");
        unmap("BIDIRECTIONAL", 0x7000, 512);
        add("dma_alloc_pages: " + memory.formatted("9000", 512) + " flags=GFP_KERNEL attrs=");
        add("dma_free_pages: " + memory.formatted("9000", 512) + " attrs=");
        assertThat(kinds(check())).containsExactly(DIFFERENT_SIZE, WRONG_FUNCTION);
    }

    @Test
    void resourcesAreTheirOwnKind() throws IOException {
        add(MAP.formatted("TO_DEVICE", 0x1000, 8, 0x1000, "").replace("map_page", "map_resource"));
        add(UNMAP.formatted("TO_DEVICE", 0x1000, 8).replace("unmap_page", "unmap_resource"));
        add(MAP.formatted("TO_DEVICE", 0x1000, 8, 0x1000, "").replace("map_page", "map_resource"));
        unmap("TO_DEVICE", 0x1000, 8);
        assertThat(kinds(check())).containsExactly(WRONG_FUNCTION);
    }

    private TraceCheckTest mapList(String direction, String nents, String ents, String dma, String sizes, String phys) {
        return add("dma_map_sg: nic dir=%s nents=%s ents=%s dma_addrs={%s} sizes={%s} phys_addrs={%s} attrs="
                .formatted(direction, nents, ents, dma, sizes, phys));
    }

    private TraceCheckTest unmapList(String direction, String phys) {
        return add("dma_unmap_sg: nic dir=%s phys_addrs={%s} attrs=".formatted(direction, phys));
    }

    @Test
    void listsAreFoundByTheirPhysicalAddresses() throws IOException {
        mapList("TO_DEVICE", "2/2", "1/1", "0xff000", "0x2000", "0x1000,0x5000");
        mapList("FROM_DEVICE", "2/2", "2/2", "0xaa000,0xab000", "0x1000,0x1000", "0x1000,0x6000");
        unmapList("TO_DEVICE", "0x1000,0x5000").unmapList("FROM_DEVICE", "0x1000,0x6000");
        CheckResult result = check();
        assertThat(result.ok()).isTrue();
        assertThat(result.live()).isEmpty();
    }

    @Test
    void aListUnmappedByAnotherCountOrDirectionIsReported() throws IOException {
        mapList("TO_DEVICE", "3/3", "1/1", "0xff000", "0x3000", "0x1000,0x5000,0x7000");
        unmapList("TO_DEVICE", "0x1000");
        mapList("TO_DEVICE", "1/1", "1/1", "0xff000", "0x1000", "0x1000");
        unmapList("FROM_DEVICE", "0x1000");
        assertThat(kinds(check())).containsExactly(DIFFERENT_ENTRY_COUNT, DIFFERENT_DIRECTION);
    }

    @Test
    void aListUnmappedTwiceIsReportedEntryByEntry() throws IOException {
        mapList("TO_DEVICE", "2/2", "2/2", "0xaa000,0xab000", "0x1000,0x1000", "0x1000,0x6000");
        unmapList("TO_DEVICE", "0x1000,0x6000").unmapList("TO_DEVICE", "0x1000,0x6000");
        assertThat(kinds(check())).containsExactly(NOT_ALLOCATED, NOT_ALLOCATED);
    }

    @Test
    void aListThatWasNeverMappedHasNoAddressToReport() throws IOException {
        map("TO_DEVICE", 0x100, 8).unmap("TO_DEVICE", 0x100, 8).unmapList("TO_DEVICE", "0x1000,0x6000");
        CheckResult result = check();
        assertThat(result.ok()).isTrue();
        assertThat(result.notes()).isEqualTo(Map.of(CheckNote.UNKNOWN_LISTS, 1L));
    }

    @Test
    void aMappedListUnmappedAsABufferIsReported() throws IOException {
        mapList("TO_DEVICE", "1/1", "1/1", "0xff000", "0x1000", "0x1000");
        unmap("TO_DEVICE", 0xff000, 0x1000);
        assertThat(kinds(check())).containsExactly(WRONG_FUNCTION);
    }

    @Test
    void listsAreSynced() throws IOException {
        mapList("TO_DEVICE", "2/2", "2/2", "0xaa000,0xab000", "0x1000,0x1000", "0x1000,0x6000");
        add("dma_sync_sg_for_device: nic dir=TO_DEVICE dma_addrs={0xaa000,0xab000} sizes={0x1000,0x1000}");
        add("dma_sync_sg_for_cpu: nic dir=BIDIRECTIONAL dma_addrs={0xaa000,0xab000} sizes={0x1000,0x1000}");
        assertThat(check().counts()).isEqualTo(Map.of(SYNC_DIFFERENT_DIRECTION, 2L, SYNC_READ_ONLY, 2L));
    }

    @Test
    void noncontiguousMemoryIsAList() throws IOException {
        add(
                "dma_alloc_sgt: nic dir=TO_DEVICE dma_addr=ff000 size=8192 phys_addrs={0x1000,0x6000} flags=GFP_KERNEL attrs=");
        add("dma_free_sgt: nic dir=TO_DEVICE dma_addr=ff000 size=4096 phys_addrs={0x1000,0x6000}");
        assertThat(kinds(check())).containsExactly(DIFFERENT_SIZE);
    }

    @Test
    void limitsOfSegmentsComeFromTheMachine() throws Exception {
        MachineSpec spec = MachineSpec.parse(
                "box.json",
                "{\"devices\": {\"nic\": {\"maxSegmentBytes\": \"0x1000\", \"segmentBoundaryMask\": \"0xffff\"}}}");
        mapList("TO_DEVICE", "2/2", "2/2", "0x1f000,0xff000", "0x1001,0x1000", "0x1000,0x6000");
        assertThat(kinds(check(new CheckOptions(DEFAULT.profile(), false, false, spec, 10))))
                .containsExactly(SEGMENT_TOO_LONG, SEGMENT_ACROSS_BOUNDARY);
        MachineSpec only = MachineSpec.parse("box.json", "{\"devices\": {\"nic\": {\"segmentBoundaryMask\": 4095}}}");
        assertThat(kinds(check(new CheckOptions(DEFAULT.profile(), false, false, only, 10))))
                .as("the default length")
                .containsExactly(SEGMENT_ACROSS_BOUNDARY);
        assertThat(check().ok()).isTrue();
    }

    @Test
    void whatIsOlderThanAPartialTraceIsNoMisuse() throws IOException {
        unmap("TO_DEVICE", 0x9000, 64).map("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x1000, 32);
        assertThat(kinds(check())).containsExactly(NOT_ALLOCATED, DIFFERENT_SIZE);
        CheckOptions partial = new CheckOptions(DEFAULT.profile(), true, false, MachineSpec.DEFAULT, 10);
        assertThat(kinds(check(partial))).containsExactly(DIFFERENT_SIZE);
    }

    @Test
    void whatIsLeftAtTheEndIsALeakWhenAskedFor() throws IOException {
        map("TO_DEVICE", 0x1000, 64).map("FROM_DEVICE", 0x3000, 64);
        assertThat(check().ok()).isTrue();
        assertThat(check().live()).hasSize(2);
        CheckOptions leaks = new CheckOptions(DEFAULT.profile(), false, true, MachineSpec.DEFAULT, 10);
        CheckResult result = check(leaks);
        assertThat(kinds(result)).containsExactly(LEAK);
        assertThat(result.reports().get(0).line())
                .contains("[count=2] One of leaked entries details: [device address=0x0000000000003000]")
                .endsWith(
                        "; it is single mapping 0x3000+0x40 FROM_DEVICE of fio-326 (line 2); called at the end of the trace");
    }

    @Test
    void theFirstReportsAreKeptAndAllAreCounted() throws IOException {
        for (int i = 0; i < 4; i++) {
            unmap("TO_DEVICE", 0x1000L * i, 8)
                    .map("TO_DEVICE", 0x10_0000L + i, 8)
                    .unmap("TO_DEVICE", 0x10_0000L + i, 9);
        }
        CheckResult result = check(new CheckOptions(DEFAULT.profile(), false, false, MachineSpec.DEFAULT, 3));
        assertThat(kinds(result)).containsExactly(NOT_ALLOCATED, DIFFERENT_SIZE, NOT_ALLOCATED);
        assertThat(result.counts()).isEqualTo(Map.of(NOT_ALLOCATED, 4L, DIFFERENT_SIZE, 4L));
        assertThatThrownBy(() -> new CheckOptions(DEFAULT.profile(), false, false, MachineSpec.DEFAULT, -1))
                .hasMessage("-1 reports");
    }

    /** The mark of a CPU's loss comes with its next event, after those of others. */
    @Test
    void whereEventsAreMissingAnUnknownAddressIsANote() throws IOException {
        map("TO_DEVICE", 0x1000, 64).unmap("TO_DEVICE", 0x9000, 64);
        text.append("CPU:0 [LOST 77 EVENTS]%n".formatted());
        unmap("TO_DEVICE", 0x1000, 64).map("TO_DEVICE", 0x3000, 64).unmap("FROM_DEVICE", 0x3000, 64);
        CheckResult result = check();
        assertThat(kinds(result)).containsExactly(DIFFERENT_DIRECTION);
        assertThat(result.notes()).isEqualTo(Map.of(CheckNote.GAPS, 1L, CheckNote.UNKNOWN_ADDRESSES, 1L));
    }

    @Test
    void theBundledTraceHasNothingWrong() throws IOException {
        try (TraceReader reader = BundledTrace.open()) {
            CheckResult result = TraceCheck.run("bundled", reader, DEFAULT, (events, read, total) -> {});
            assertThat(result.ok()).isTrue();
            assertThat(result.live()).isEmpty();
            assertThat(result.notes()).isEqualTo(Map.of(CheckNote.FREES_OF_NOTHING, 1L));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "perf-direct.script.txt.gz",
                "perf-lost.script-lost.txt.gz",
                "perf-strict.script.txt.gz",
                "tc-direct.report.txt.gz",
                "tc-lost.report.txt.gz",
                "tc-strict.report.txt.gz",
                "tc-swiotlb.raw.txt.gz",
                "trace-fail.txt.gz",
                "tracefs-lost-pipe.txt.gz",
                "tracefs-truncated.txt.gz"
            })
    void recordedTracesHaveNothingWrong(String file) throws IOException {
        InputStream packed = Objects.requireNonNull(getClass().getResourceAsStream("/traces/" + file));
        try (TraceReader reader = TraceReader.open(packed, file)) {
            CheckResult result = TraceCheck.run(file, reader, DEFAULT, (events, read, total) -> {});
            assertThat(result.reports()).isEmpty();
            assertThat(result.counts()).isEmpty();
            assertThat(result.calls()).isGreaterThan(500);
        }
    }
}
