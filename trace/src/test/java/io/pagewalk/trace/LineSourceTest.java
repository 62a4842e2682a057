package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lines are cut the same wherever the blocks of the stream end. */
class LineSourceTest {

    @ParameterizedTest
    @ValueSource(ints = {8, 9, 10, 11, 13, 17, 64, 1000})
    void linesCrossTheEndOfAnyBuffer(int maxLineBytes) throws IOException {
        String text = "one\ntwo\n\nfour4567\nx\n12345678\nlast";
        assertThat(lines(stream(text), maxLineBytes))
                .containsExactly("one", "two", "", "four4567", "x", "12345678", "last");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7})
    void aPipeMayGiveFewBytesAtATime(int atATime) throws IOException {
        InputStream slow = new ByteArrayInputStream("one\r\ntwo\r\n\r\nlast\r".getBytes(StandardCharsets.UTF_8)) {
            @Override
            public synchronized int read(byte[] buffer, int offset, int length) {
                return super.read(buffer, offset, Math.min(length, atATime));
            }
        };
        assertThat(lines(slow, 1000)).containsExactly("one", "two", "", "last");
    }

    @Test
    void aFinalNewlineStartsNoLine() throws IOException {
        assertThat(lines(stream("one\n"), 100)).containsExactly("one");
        assertThat(lines(stream("\n\n"), 100)).containsExactly("", "");
    }

    @ParameterizedTest
    @ValueSource(ints = {5325, 6000, 65536})
    void aRecordedFileReadsTheSameThroughASmallBuffer(int maxLineBytes) throws IOException {
        TraceReader.Options options = TraceReader.Options.defaults().maxLineBytes(maxLineBytes);
        try (TraceReader reader = TraceReader.open(Traces.packed(Traces.RAW_SWIOTLB), "small", options)) {
            assertThat(Traces.drain(reader)).isEqualTo(Traces.events(Traces.RAW_SWIOTLB));
        }
    }

    private static InputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    private static List<String> lines(InputStream stream, int maxLineBytes) throws IOException {
        List<String> lines = new ArrayList<>();
        try (LineSource source = LineSource.open(stream, "text", maxLineBytes)) {
            while (source.advance()) {
                lines.add(new String(
                        source.buffer(),
                        source.lineStart(),
                        source.lineEnd() - source.lineStart(),
                        StandardCharsets.UTF_8));
                assertThat(source.lineNumber()).isEqualTo(lines.size());
            }
        }
        return lines;
    }
}
