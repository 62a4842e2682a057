package io.pagewalk.trace;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/** The recorded files of the tests, and short ways to read text. */
final class Traces {
    static final String FAIL = "trace-fail.txt.gz";
    static final String PIPE_LOST = "tracefs-lost-pipe.txt.gz";
    static final String TRUNCATED = "tracefs-truncated.txt.gz";
    static final String IOMMU_ONLY = "tracefs-iommuonly.txt.gz";
    static final String REPORT_DIRECT = "tc-direct.report.txt.gz";
    static final String REPORT_STRICT = "tc-strict.report.txt.gz";
    static final String REPORT_LOST = "tc-lost.report.txt.gz";
    static final String RAW_SWIOTLB = "tc-swiotlb.raw.txt.gz";
    static final String PERF_DIRECT = "perf-direct.script.txt.gz";
    static final String PERF_STRICT = "perf-strict.script.txt.gz";
    static final String PERF_LOST = "perf-lost.script-lost.txt.gz";
    static final List<String> ALL = List.of(
            FAIL,
            PIPE_LOST,
            TRUNCATED,
            IOMMU_ONLY,
            REPORT_DIRECT,
            REPORT_STRICT,
            REPORT_LOST,
            RAW_SWIOTLB,
            PERF_DIRECT,
            PERF_STRICT,
            PERF_LOST);

    /** A line that reads well, to go with lines that do not. */
    static final String GOOD_LINE =
            "             nc-7       [001] ..s1.     1.000000: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=1000"
                    + " size=8 phys_addr=2000 attrs=";

    private Traces() {}

    static InputStream packed(String file) {
        return Objects.requireNonNull(Traces.class.getResourceAsStream("/traces/" + file), file);
    }

    static TraceReader open(String file) throws IOException {
        return TraceReader.open(packed(file), file);
    }

    static List<String> lines(String file) {
        try (InputStream text = new GZIPInputStream(packed(file))) {
            return new String(text.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    static TraceReader reader(String text, TraceReader.Options options) throws IOException {
        return TraceReader.open(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)), "text", options);
    }

    static TraceReader reader(String text) throws IOException {
        return reader(text, TraceReader.Options.defaults());
    }

    static List<TraceEvent> drain(TraceReader reader) throws IOException {
        List<TraceEvent> events = new ArrayList<>();
        for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
            events.add(event);
        }
        return events;
    }

    static List<TraceEvent> events(String file) throws IOException {
        try (TraceReader reader = open(file)) {
            return drain(reader);
        }
    }

    /** The event of a line of a recorded file, by line number from 1. */
    static TraceEvent eventAt(String file, long lineNumber) throws IOException {
        return events(file).stream()
                .filter(event -> event.header().lineNumber() == lineNumber)
                .findFirst()
                .orElseThrow();
    }

    /** The one event of one line, read with a pedantic reader. */
    static TraceEvent parse(String line) throws IOException {
        try (TraceReader reader = reader(line, TraceReader.Options.defaults().pedantic(true))) {
            return Objects.requireNonNull(reader.next(), line);
        }
    }

    /** Everything about an event but its header. */
    static String bodyOf(TraceEvent event) {
        return event.toString().replace(event.header().toString(), "");
    }
}
