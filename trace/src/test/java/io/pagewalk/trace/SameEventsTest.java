package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.TraceText.Dialect;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The same recording shown by another tool, or by the same tool with other options, decodes to the same events. */
class SameEventsTest {

    /** Lines that {@code trace-cmd report -R} gave of the recording behind the report of the strict boot. */
    private static final List<String> STRICT_RAW = List.of(
            "    kworker/u8:1-31    [001]     5.358730: map:                   iova=0x00000000fffff000"
                    + " paddr=0x0000000106206000 size=4096",
            "    kworker/u8:1-31    [001]     5.359034: dma_alloc:             device=0000:00:04.0"
                    + " virt_addr=0xff5486ef80071000 dma_addr=fffff000 size=512 flags=3264 dir=0 attrs=0x0",
            "    kworker/u8:1-31    [001]     5.363574: dma_map_page:          device=0000:00:04.0"
                    + " phys_addr=1011d9000 dma_addr=ffffd000 size=4096 dir=2 attrs=0x0",
            "    kworker/u8:1-31    [001]     5.370232: dma_unmap_page:        device=0000:00:04.0"
                    + " addr=ffffd000 size=4096 dir=2 attrs=0x0");

    private static final List<Integer> STRICT_REPORT_LINES = List.of(3, 4, 8, 10);

    @Test
    void rawAndPrintedLinesOfOneRecordingAreTheSameEvents() throws IOException {
        for (int i = 0; i < STRICT_RAW.size(); i++) {
            TraceEvent raw = Traces.parse(STRICT_RAW.get(i));
            TraceEvent printed = Traces.eventAt(Traces.REPORT_STRICT, STRICT_REPORT_LINES.get(i));
            assertThat(Traces.bodyOf(raw)).isEqualTo(Traces.bodyOf(printed));
            assertThat(placeOf(raw)).isEqualTo(placeOf(printed));
        }
    }

    @Test
    void latencyColumnsAreTheSameEventsWithNanosecondsAndAShortName() throws IOException {
        TraceEvent raw = Traces.eventAt(Traces.RAW_SWIOTLB, 3);
        TraceEvent latency = Traces.parse(
                "kworker/-12      1.....     4.833130430: dma_alloc:            0000:00:04.0"
                        + " dir=BIDIRECTIONAL dma_addr=100d3b000 size=512 virt_addr=0xff3afb9000d3b000 flags=GFP_KERNEL attrs=");
        assertThat(Traces.bodyOf(latency)).isEqualTo(Traces.bodyOf(raw));
        assertThat(latency.header()).isEqualTo(new TraceHeader(1, "kworker/", 12, 1, ".....", 4_833_130_430L));
        assertThat(raw.header()).isEqualTo(new TraceHeader(3, "kworker/u8:0", 12, 1, "", 4_833_130_000L));
    }

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void aRecordingWrittenInAnotherFormatReadsTheSame(Dialect dialect) throws IOException {
        List<TraceEvent> recorded = Traces.events(Traces.RAW_SWIOTLB).stream()
                .filter(event -> dialect.hasMarks() || !(event instanceof TraceEvent.Mark))
                .toList();
        String text =
                recorded.stream().map(event -> TraceText.line(event, dialect)).collect(Collectors.joining("\n"));
        try (TraceReader reader = Traces.reader(text)) {
            List<TraceEvent> read = Traces.drain(reader);
            assertThat(reader.summary().badLineCount()).isZero();
            assertThat(read)
                    .extracting(Traces::bodyOf)
                    .isEqualTo(recorded.stream().map(Traces::bodyOf).toList());
            assertThat(read)
                    .extracting(SameEventsTest::placeOf)
                    .isEqualTo(recorded.stream().map(SameEventsTest::placeOf).toList());
        }
    }

    /** What every format carries of a header. */
    private static String placeOf(TraceEvent event) {
        TraceHeader header = event.header();
        return header.pid() + " on " + header.cpu() + " at " + header.timestampNanos();
    }
}
