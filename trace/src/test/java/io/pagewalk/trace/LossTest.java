package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every way in which a trace says that events are missing. */
class LossTest {

    @Test
    void tracePipeSaysHowManyEventsOfACpuAreLost() throws IOException {
        assertThat(Traces.eventAt(Traces.PIPE_LOST, 133))
                .isEqualTo(new TraceEvent.LostEvents(
                        new TraceHeader(133, "", TraceHeader.NO_PID, 1, "", TraceHeader.NO_TIME), 1, 105));
    }

    @Test
    void traceCmdCallsThemDropped() throws IOException {
        assertThat(Traces.eventAt(Traces.REPORT_LOST, 98))
                .isEqualTo(new TraceEvent.LostEvents(TraceHeader.ofCpu(98, 0), 0, 77));
    }

    @Test
    void perfCountsThemInALineWithTaskAndTime() throws IOException {
        assertThat(Traces.eventAt(Traces.PERF_LOST, 96))
                .isEqualTo(new TraceEvent.LostEvents(new TraceHeader(96, "dd", 183, 0, "", 4_516_996_000L), 0, 1));
    }

    @Test
    void aGapOfUnknownSizeIsCountedApart() throws IOException {
        String text = String.join(
                "\n", Traces.GOOD_LINE, "CPU:1 [LOST EVENTS]", "CPU:12 [LOST 3 EVENTS]", "CPU:0 [EVENTS DROPPED]");
        try (TraceReader reader = Traces.reader(text)) {
            assertThat(lost(reader))
                    .containsExactly(
                            new TraceEvent.LostEvents(TraceHeader.ofCpu(2, 1), 1, TraceEvent.LostEvents.UNKNOWN_COUNT),
                            new TraceEvent.LostEvents(TraceHeader.ofCpu(3, 12), 12, 3),
                            new TraceEvent.LostEvents(TraceHeader.ofCpu(4, 0), 0, TraceEvent.LostEvents.UNKNOWN_COUNT));
            TraceSummary summary = reader.summary();
            assertThat(summary.lostEvents()).isEqualTo(3);
            assertThat(summary.lostGaps()).isEqualTo(3);
            assertThat(summary.lostGapsOfUnknownSize()).isEqualTo(2);
            assertThat(summary.isIncomplete()).isTrue();
        }
    }

    @Test
    void aHeaderWithMoreWrittenThanKeptTellsOfOverwrittenEvents() throws IOException {
        String text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 935/6019   #P:2\n" + Traces.GOOD_LINE;
        try (TraceReader reader = Traces.reader(text)) {
            assertThat(lost(reader))
                    .containsExactly(new TraceEvent.LostEvents(
                            TraceHeader.ofCpu(3, TraceHeader.NO_CPU), TraceHeader.NO_CPU, 5084));
            TraceSummary summary = reader.summary();
            assertThat(summary.overwrittenEvents()).isEqualTo(5084);
            assertThat(summary.lostEvents()).isZero();
            assertThat(summary.lostGaps()).isZero();
            assertThat(summary.isIncomplete()).isTrue();
        }
    }

    @Test
    void aHeaderWithEqualNumbersTellsOfNothing() throws IOException {
        String text = "# entries-in-buffer/entries-written: 79/79   #P:2\n" + Traces.GOOD_LINE;
        try (TraceReader reader = Traces.reader(text)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().isIncomplete()).isFalse();
        }
    }

    @Test
    void theLongCommentsOfPerfAreNoLoss() throws IOException {
        String text = "# ========\n# captured on    : Sun Nov 29 10:00:00 2026\n"
                + "# event : name = dma:dma_alloc, read_format = ID|LOST, disabled = 1\n# ========\n#\n"
                + Traces.GOOD_LINE;
        try (TraceReader reader = Traces.reader(text)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().isIncomplete()).isFalse();
            assertThat(reader.summary().badLineCount()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CPU:x [LOST 3 EVENTS]",
                "CPU:1 [LOST 3 EVENTS",
                "CPU:1 [LOST 9223372036854775808 EVENTS]",
                "CPU:1 [3 EVENTS]",
                "CPU:1 LOST",
                "# entries-in-buffer/entries-written: 12/x",
                "swapper 0 [000] 4.516996: PERF_RECORD_LOST 4"
            })
    void aDamagedMarkOfLossIsABadLine(String mark) throws IOException {
        try (TraceReader reader = Traces.reader(Traces.GOOD_LINE + "\n" + mark)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().badLineCount()).isEqualTo(1);
            assertThat(reader.summary().isIncomplete()).isFalse();
        }
    }

    private static List<TraceEvent> lost(TraceReader reader) throws IOException {
        return Traces.drain(reader).stream()
                .filter(event -> event instanceof TraceEvent.LostEvents)
                .toList();
    }
}
