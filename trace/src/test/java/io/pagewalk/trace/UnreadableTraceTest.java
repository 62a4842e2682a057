package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.CRC32;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Inputs that are no trace: one clear line each, and the events before the damage are not lost. */
class UnreadableTraceTest {

    @Test
    void aMissingFileIsNamed(@TempDir Path dir) {
        Path missing = dir.resolve("none.txt");
        assertThatThrownBy(() -> TraceReader.open(missing))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage(missing + ": no such file");
    }

    @Test
    void aDirectoryIsNoTrace(@TempDir Path dir) {
        assertThatThrownBy(() -> TraceReader.open(dir))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage(dir + ": is a directory");
    }

    @Test
    void anEmptyFileIsNoTrace(@TempDir Path dir) throws IOException {
        Path empty = Files.createFile(dir.resolve("empty"));
        assertThatThrownBy(() -> TraceReader.open(empty))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage(empty + ": is empty");
        assertThatThrownBy(() -> open(gzip(new byte[0])))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("input: is empty");
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void theNullDeviceIsEmpty() {
        assertThatThrownBy(() -> TraceReader.open(Path.of("/dev/null"))).hasMessage("/dev/null: is empty");
    }

    @Test
    void aPictureIsBinary() {
        assertThatThrownBy(() -> open(png()))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("input: is binary, not the text of a trace (NUL byte at offset 8)");
    }

    @Test
    void aPackedPictureIsBinaryToo() {
        assertThatThrownBy(() -> open(gzip(png())))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessageContaining("is binary");
    }

    @Test
    void controlCharactersAreBinaryEvenWithoutNul() {
        byte[] controls = new byte[100];
        Arrays.fill(controls, (byte) 3);
        assertThatThrownBy(() -> open(controls))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("input: is binary, not the text of a trace");
    }

    @Test
    void recordingsOfOtherToolsAreRefusedWithTheCommandThatPrintsThem() {
        assertThatThrownBy(() -> open("PERFILE2 and more".getBytes(StandardCharsets.ISO_8859_1)))
                .hasMessage("input: is a perf.data file: give the output of 'perf script' instead");
        assertThatThrownBy(() -> open("\u0017\u0008Dtracing6".getBytes(StandardCharsets.ISO_8859_1)))
                .hasMessage("input: is a trace.dat file: give the output of 'trace-cmd report' instead");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\u00fd7zXZ\0\0", "BZh91AY", "(\u00b5/\u00fd\4"})
    void otherPackersAreNamedAsSuch(String magic) {
        assertThatThrownBy(() -> open((magic + "0123456789").getBytes(StandardCharsets.ISO_8859_1)))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("input: is packed with xz, bzip2 or zstd: only gzip is read");
    }

    @Test
    void aCutGzipFileGivesTheEventsBeforeTheCut() throws IOException {
        byte[] whole = Traces.packed(Traces.FAIL).readAllBytes();
        byte[] cut = Arrays.copyOf(whole, whole.length / 2);
        try (TraceReader reader = open(cut)) {
            long events = 0;
            UnreadableTraceException thrown = null;
            while (thrown == null) {
                try {
                    assertThat(reader.next()).isNotNull();
                    events++;
                } catch (UnreadableTraceException expected) {
                    thrown = expected;
                }
            }
            TraceSummary summary = reader.summary();
            assertThat(events).isGreaterThan(5000).isEqualTo(summary.eventsRead());
            assertThat(summary.linesRead()).isEqualTo(events + 12);
            assertThat(summary.badLineCount()).isZero();
            assertThat(thrown).hasMessage("input: gzip stream ends early after line " + summary.linesRead());
            assertThatThrownBy(reader::next).isSameAs(thrown);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 5, 9, 12, 60})
    void aGzipFileMayBeCutInItsFirstBytes(int length) throws IOException {
        byte[] cut = Arrays.copyOf(Traces.packed(Traces.FAIL).readAllBytes(), length);
        assertThatThrownBy(() -> open(cut).next())
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("input: gzip stream ends early after line 0");
    }

    @Test
    void damageInsideAGzipFileIsTold() throws IOException {
        byte[] damaged = Traces.packed(Traces.FAIL).readAllBytes();
        Arrays.fill(damaged, damaged.length / 2, damaged.length / 2 + 64, (byte) 0xff);
        try (TraceReader reader = open(damaged)) {
            assertThatThrownBy(() -> Traces.drain(reader))
                    .isInstanceOf(UnreadableTraceException.class)
                    .hasMessageMatching("input: gzip stream is damaged after line \\d+: .*");
            assertThat(reader.summary().eventsRead()).isPositive();
        }
    }

    @Test
    void aTextWithoutEventsIsNoTrace() throws IOException {
        try (TraceReader reader = Traces.reader("Dear all,\n\nplease find attached\n")) {
            assertThatThrownBy(reader::next)
                    .isInstanceOf(UnreadableTraceException.class)
                    .hasMessage("text: no dma, iommu or swiotlb event in 3 lines"
                            + " (0 events of other systems, 2 unreadable lines)");
        }
    }

    @Test
    void aTraceOfOtherSystemsOnlyIsToldFromNoTrace() throws IOException {
        String line =
                "        modprobe-163     [000] d.h2.     3.185050: timer_start: timer=000000004e53fbc0 function=f";
        try (TraceReader reader = Traces.reader(line + "\n" + line)) {
            assertThatThrownBy(reader::next)
                    .hasMessage("text: no dma, iommu or swiotlb event in 2 lines"
                            + " (2 events of other systems, 0 unreadable lines)");
        }
    }

    @Test
    void aLineBeyondTheLimitEndsTheReading() throws IOException {
        String text = Traces.GOOD_LINE + "\n" + "x".repeat(1000) + "\n" + Traces.GOOD_LINE;
        TraceReader.Options options = TraceReader.Options.defaults().maxLineBytes(999);
        try (TraceReader reader = Traces.reader(text, options)) {
            assertThat(reader.next()).isNotNull();
            assertThatThrownBy(reader::next)
                    .isInstanceOf(UnreadableTraceException.class)
                    .hasMessage("text: line 2 is longer than 999 bytes");
            assertThatThrownBy(reader::next).hasMessage("text: line 2 is longer than 999 bytes");
        }
    }

    @Test
    void aLineAtTheLimitIsRead() throws IOException {
        int limit = Traces.GOOD_LINE.length();
        String text = Traces.GOOD_LINE + "\n" + Traces.GOOD_LINE + "\n" + Traces.GOOD_LINE;
        try (TraceReader reader =
                Traces.reader(text, TraceReader.Options.defaults().maxLineBytes(limit))) {
            assertThat(Traces.drain(reader)).hasSize(3);
        }
    }

    @Test
    void aFileKnowsItsSizeAndReadsLikeItsStream(@TempDir Path dir) throws IOException {
        byte[] packed = Traces.packed(Traces.TRUNCATED).readAllBytes();
        Path file = Files.write(dir.resolve("packed"), packed);
        try (TraceReader reader = TraceReader.open(file)) {
            assertThat(reader.totalBytes()).isEqualTo(packed.length);
            assertThat(reader.name()).isEqualTo(file.toString());
            assertThat(Traces.drain(reader)).isEqualTo(Traces.events(Traces.TRUNCATED));
            assertThat(reader.bytesRead()).isEqualTo(packed.length);
        }
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void aPipeReadsLikeAFileOfUnknownSize(@TempDir Path dir) throws Exception {
        Path pipe = dir.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        byte[] packed = Traces.packed(Traces.FAIL).readAllBytes();
        CompletableFuture<Path> written = CompletableFuture.supplyAsync(() -> write(pipe, packed));
        try (TraceReader reader = TraceReader.open(pipe)) {
            assertThat(Traces.drain(reader)).hasSize(18712);
            assertThat(reader.totalBytes()).isEqualTo(-1L);
        }
        assertThat(written.get(10, TimeUnit.SECONDS)).isEqualTo(pipe);
    }

    private static Path write(Path file, byte[] bytes) {
        try (OutputStream out = Files.newOutputStream(file)) {
            out.write(bytes);
            return file;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    @Test
    void optionsRefuseALimitThatNoLineMeets() {
        assertThatThrownBy(() -> TraceReader.Options.defaults().maxLineBytes(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxLineBytes=0 is not between 1 and 1073741824");
    }

    @Test
    void aFailingStreamIsTold() throws IOException {
        InputStream failing = InputStream.nullInputStream();
        failing.close();
        assertThatThrownBy(() -> TraceReader.open(failing, "pipe"))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage("pipe: cannot be read: Stream closed");
    }

    @Test
    void aRefusedStreamIsClosed() {
        AtomicBoolean closed = new AtomicBoolean();
        InputStream stream = new FilterInputStream(new ByteArrayInputStream(new byte[0])) {
            @Override
            public void close() {
                closed.set(true);
            }
        };
        assertThatThrownBy(() -> TraceReader.open(stream, "nothing")).hasMessage("nothing: is empty");
        assertThat(closed).isTrue();
    }

    private static TraceReader open(byte[] bytes) throws IOException {
        return TraceReader.open(new ByteArrayInputStream(bytes), "input");
    }

    private static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(bytes);
        }
        return packed.toByteArray();
    }

    /** Signature and header chunk of a picture of one pixel. */
    private static byte[] png() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] header = {'I', 'H', 'D', 'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0};
        CRC32 crc = new CRC32();
        crc.update(header);
        out.writeBytes(new byte[] {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13});
        out.writeBytes(header);
        for (int shift = 24; shift >= 0; shift -= 8) {
            out.write((int) (crc.getValue() >>> shift));
        }
        return out.toByteArray();
    }
}
