package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole recorded files: every line is read, and the counts are those the capture itself noted. */
class RecordedTracesTest {

    /** Lines and unreadable-by-the-tool lists of a file, as its recorder counted them. */
    record Recorded(String file, TraceFormat format, long lines, long lists, long lost, long gaps, long truncated) {}

    static Stream<Recorded> recorded() {
        return Stream.of(
                new Recorded(Traces.REPORT_STRICT, TraceFormat.TRACE_CMD_REPORT, 3124, 196, 0, 0, 0),
                new Recorded(Traces.RAW_SWIOTLB, TraceFormat.TRACE_CMD_RAW, 2995, 184, 0, 0, 0),
                new Recorded(Traces.REPORT_DIRECT, TraceFormat.TRACE_CMD_REPORT, 1531, 128, 0, 0, 1),
                new Recorded(Traces.REPORT_LOST, TraceFormat.TRACE_CMD_REPORT, 4695, 223, 77 + 156, 2, 0),
                new Recorded(Traces.PERF_STRICT, TraceFormat.PERF_SCRIPT, 3125, 216, 0, 0, 0),
                new Recorded(Traces.PERF_DIRECT, TraceFormat.PERF_SCRIPT, 1521, 158, 0, 0, 5),
                new Recorded(Traces.PERF_LOST, TraceFormat.PERF_SCRIPT, 2163, 188, 332, 16, 0),
                new Recorded(Traces.PIPE_LOST, TraceFormat.TRACEFS, 1224, 74, 3296, 9, 0),
                new Recorded(Traces.IOMMU_ONLY, TraceFormat.TRACEFS, 1298, 0, 0, 0, 0),
                new Recorded(Traces.TRUNCATED, TraceFormat.TRACEFS, 616, 138, 0, 0, 6),
                new Recorded(Traces.FAIL, TraceFormat.TRACEFS, 18724, 346, 0, 0, 0));
    }

    @ParameterizedTest
    @MethodSource("recorded")
    void aRecordedFileIsReadWholeWithTheCountsOfItsRecorder(Recorded recorded) throws IOException {
        try (TraceReader reader = Traces.open(recorded.file())) {
            long events = Traces.drain(reader).size();
            TraceSummary summary = reader.summary();
            assertThat(summary.badLineCount()).as("%s", summary.firstBadLines()).isZero();
            assertThat(summary.otherEvents()).isZero();
            assertThat(summary.linesRead()).isEqualTo(recorded.lines());
            assertThat(summary.formats()).isEqualTo(Set.of(recorded.format()));
            assertThat(summary.lostEvents()).isEqualTo(recorded.lost());
            assertThat(summary.lostGaps()).isEqualTo(recorded.gaps());
            assertThat(summary.lostGapsOfUnknownSize()).isZero();
            assertThat(summary.isIncomplete()).isEqualTo(recorded.gaps() > 0);
            assertThat(summary.truncatedLists()).isEqualTo(recorded.truncated());
            assertThat(count(summary, "dma_map_sg") + count(summary, "dma_unmap_sg"))
                    .isEqualTo(recorded.lists());
            assertThat(events).isEqualTo(summary.eventsRead() + summary.lostGaps());
        }
    }

    @ParameterizedTest
    @MethodSource("recorded")
    void everyLineThatIsNoCommentGivesOneEventInOrder(Recorded recorded) throws IOException {
        long eventLines = Traces.lines(recorded.file()).stream()
                .filter(line -> !line.startsWith("#") && !line.startsWith("cpus="))
                .count();
        var events = Traces.events(recorded.file());
        assertThat(events).hasSize((int) eventLines);
        assertThat(events)
                .extracting(event -> event.header().lineNumber())
                .isSorted()
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                Traces.FAIL,
                Traces.TRUNCATED,
                Traces.PIPE_LOST,
                Traces.REPORT_STRICT,
                Traces.RAW_SWIOTLB,
                Traces.PERF_LOST
            })
    void timeNeverStepsBackInARecordedFile(String file) throws IOException {
        assertThat(Traces.events(file))
                .extracting(event -> event.header().timestampNanos())
                .filteredOn(time -> time != TraceHeader.NO_TIME)
                .isSorted();
    }

    @Test
    void theCountsByNameOfTheSmallPoolAreThoseOfItsText() throws IOException {
        try (TraceReader reader = Traces.open(Traces.FAIL)) {
            Traces.drain(reader);
            assertThat(reader.summary().eventCounts())
                    .isEqualTo(Map.of(
                            "dma_alloc", 13L,
                            "dma_free", 12L,
                            "dma_map_page", 5259L,
                            "dma_map_sg", 173L,
                            "dma_unmap_page", 4188L,
                            "dma_unmap_sg", 173L,
                            "swiotlb_bounced", 8886L,
                            "tracing_mark_write", 8L));
        }
    }

    @Test
    void everyMappingWithoutUnmapInTheSmallPoolIsAFailedOne() throws IOException {
        long failed = Traces.events(Traces.FAIL).stream()
                .filter(event -> event instanceof DmaEvent.MapPage page && page.dmaAddr() == -1L)
                .count();
        assertThat(failed).isEqualTo(5259 - 4188);
    }

    @Test
    void marksAreCountedUnderOneNameInAllFormats() throws IOException {
        try (TraceReader reader = Traces.open(Traces.REPORT_STRICT)) {
            Traces.drain(reader);
            assertThat(reader.summary().eventCounts())
                    .containsEntry("tracing_mark_write", 10L)
                    .doesNotContainKey("print");
        }
    }

    @Test
    void bytesReadReachTheSizeOfTheInput() throws IOException {
        long size = Traces.packed(Traces.FAIL).readAllBytes().length;
        try (TraceReader reader = Traces.open(Traces.FAIL)) {
            assertThat(reader.bytesRead()).isPositive().isLessThanOrEqualTo(size);
            Traces.drain(reader);
            assertThat(reader.bytesRead()).isEqualTo(size);
            assertThat(reader.totalBytes()).isEqualTo(-1L);
            assertThat(reader.summary().bytesRead()).isEqualTo(size);
        }
    }

    @Test
    void theBundledTraceIsTheWholeDirectBoot() throws IOException {
        try (TraceReader reader = BundledTrace.open()) {
            assertThat(Traces.drain(reader)).hasSize(20827);
            TraceSummary summary = reader.summary();
            assertThat(summary.file()).isEqualTo("trace-direct (bundled)");
            assertThat(summary.badLineCount()).isZero();
            assertThat(summary.eventCounts())
                    .containsEntry("dma_map_page", 9147L)
                    .containsEntry("dma_unmap_page", 9147L)
                    .containsEntry("swiotlb_bounced", 1582L)
                    .containsEntry("dma_sync_single_for_cpu", 91L);
        }
    }

    private static long count(TraceSummary summary, String name) {
        return summary.eventCounts().getOrDefault(name, 0L);
    }
}
