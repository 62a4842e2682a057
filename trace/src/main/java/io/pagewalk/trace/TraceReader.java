package io.pagewalk.trace;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Reads a trace as a stream of events, once from front to end, in memory that does not grow with the trace.
 *
 * <p>The input is the text of tracefs ({@code trace}, {@code trace_pipe}), {@code trace-cmd report} (also {@code -R},
 * {@code -t -l}) or {@code perf script}, plain or packed with gzip; both are found out from the bytes, the format line
 * by line. Events of other systems are counted and left out. A line that cannot be read is counted, told to the
 * {@link BadLineListener} and left out; a pedantic reader throws {@link TraceFormatException} instead. Gaps are events
 * too ({@link TraceEvent.LostEvents}).
 *
 * <p>An input that is no trace, or ends inside a gzip block, is an {@link UnreadableTraceException}: at {@code open}
 * when it is missing, a directory, empty or binary; from {@link #next} after the events before the damage; and from the
 * last {@link #next} when the whole text had no DMA, IOMMU or swiotlb event.
 *
 * <p>Not safe for use by several threads.
 */
public final class TraceReader implements AutoCloseable {
    private final String name;
    private final long totalBytes;
    private final Options options;
    private final TraceInput.Counted input;
    private final LineSource lines;
    private final Tally tally = new Tally();
    private final LineParser parser = new LineParser(tally);

    private TraceReader(InputStream stream, String name, long totalBytes, Options options) throws IOException {
        this.name = name;
        this.totalBytes = totalBytes;
        this.options = options;
        this.input = new TraceInput.Counted(stream);
        this.lines = LineSource.open(TraceInput.text(input, name), name, options.maxLineBytes());
    }

    /**
     * Opens a file with the default options.
     *
     * @param path the trace
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the file is missing, a directory, empty or binary
     * @throws IOException if closing such a file fails
     */
    public static TraceReader open(Path path) throws IOException {
        return open(path, Options.defaults());
    }

    /**
     * Opens a file.
     *
     * @param path the trace
     * @param options how to read it
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the file is missing, a directory, empty or binary
     * @throws IOException if closing such a file fails
     */
    public static TraceReader open(Path path, Options options) throws IOException {
        return open(TraceInput.openFile(path), path.toString(), TraceInput.sizeOf(path), options);
    }

    /**
     * Reads a stream, such as standard input, with the default options.
     *
     * @param stream the trace; closed with the reader, or before an exception from here
     * @param name what to call it in messages
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the stream is empty or binary
     * @throws IOException if closing such a stream fails
     */
    public static TraceReader open(InputStream stream, String name) throws IOException {
        return open(stream, name, Options.defaults());
    }

    /**
     * Reads a stream, such as standard input.
     *
     * @param stream the trace; closed with the reader, or before an exception from here
     * @param name what to call it in messages
     * @param options how to read it
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the stream is empty or binary
     * @throws IOException if closing such a stream fails
     */
    public static TraceReader open(InputStream stream, String name, Options options) throws IOException {
        return open(stream, name, -1L, options);
    }

    private static TraceReader open(InputStream stream, String name, long totalBytes, Options options)
            throws IOException {
        try {
            return new TraceReader(stream, name, totalBytes, options);
        } catch (IOException refused) {
            stream.close();
            throw refused;
        }
    }

    /**
     * Reads on to the next event.
     *
     * @return the event, or null at the end of the trace
     * @throws TraceFormatException in a pedantic reader, at a line that cannot be read; the next call goes on behind it
     * @throws UnreadableTraceException if the input breaks off, has a line beyond the limit, or ends without any event
     * @throws IOException never for another reason
     */
    public @Nullable TraceEvent next() throws IOException {
        while (lines.advance()) {
            TraceEvent event = readLine();
            if (event != null) {
                return event;
            }
        }
        if (!tally.hasEvents()) {
            throw new UnreadableTraceException(name, "no dma, iommu or swiotlb event in " + whatWasRead());
        }
        return null;
    }

    private @Nullable TraceEvent readLine() throws TraceFormatException {
        try {
            return parser.parse(lines.buffer(), lines.lineStart(), lines.lineEnd(), lines.lineNumber());
        } catch (LineFormatException bad) {
            reject(new BadLine(name, lines.lineNumber(), clippedLine(), bad.reason()));
            return null;
        }
    }

    private void reject(BadLine line) throws TraceFormatException {
        tally.bad(line);
        if (options.pedantic()) {
            throw new TraceFormatException(line);
        }
        options.listener().badLine(line);
    }

    private String clippedLine() {
        int length = Math.min(lines.lineEnd() - lines.lineStart(), BadLine.MAX_TEXT_BYTES);
        return new String(lines.buffer(), lines.lineStart(), length, StandardCharsets.UTF_8);
    }

    private String whatWasRead() {
        TraceSummary summary = summary();
        return summary.linesRead() + " lines (" + summary.otherEvents() + " events of other systems, "
                + summary.badLineCount() + " unreadable lines)";
    }

    /**
     * Returns what was seen so far.
     *
     * @return a snapshot
     */
    public TraceSummary summary() {
        return tally.summary(name, lines.lineNumber(), bytesRead(), totalBytes);
    }

    /**
     * Tells how many CPUs the recording machine had, as far as the lines read so far say so: tracefs and trace-cmd have
     * it in their header, perf has none.
     *
     * @return the number of CPUs, 0 when unknown
     */
    public int recordedCpus() {
        return tally.cpus();
    }

    /**
     * Names the trace.
     *
     * @return the path or the name given at {@code open}
     */
    public String name() {
        return name;
    }

    /**
     * Tells how far the reader is in the input; with {@link #totalBytes} this gives the progress.
     *
     * @return bytes read of the input, packed as it is; a block ahead of the events
     */
    public long bytesRead() {
        return input.count();
    }

    /**
     * Tells the size of the input.
     *
     * @return bytes, packed as it is, or -1 when unknown
     */
    public long totalBytes() {
        return totalBytes;
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }

    /**
     * How to read a trace.
     *
     * @param pedantic true to stop at the first line that cannot be read
     * @param listener hears of the lines left out; not called by a pedantic reader, which throws
     * @param maxLineBytes longest line that is still taken for one
     */
    public record Options(boolean pedantic, BadLineListener listener, int maxLineBytes) {
        private static final int DEFAULT_MAX_LINE_BYTES = 16 << 20;
        private static final int LARGEST_MAX_LINE_BYTES = 1 << 30;

        /**
         * Checks the limit.
         *
         * @param pedantic true to stop at the first line that cannot be read
         * @param listener hears of the lines left out
         * @param maxLineBytes longest line that is still taken for one
         * @throws IllegalArgumentException if {@code maxLineBytes} is not between 1 and 2^30
         */
        public Options {
            if (maxLineBytes < 1 || maxLineBytes > LARGEST_MAX_LINE_BYTES) {
                throw new IllegalArgumentException(
                        "maxLineBytes=" + maxLineBytes + " is not between 1 and " + LARGEST_MAX_LINE_BYTES);
            }
        }

        /**
         * Returns the usual options: bad lines are left out silently, a line has at most 16 MiB.
         *
         * @return the options
         */
        public static Options defaults() {
            return new Options(false, line -> {}, DEFAULT_MAX_LINE_BYTES);
        }

        /**
         * Chooses what happens at a line that cannot be read.
         *
         * @param stop true to throw {@link TraceFormatException}
         * @return options with that choice
         */
        public Options pedantic(boolean stop) {
            return new Options(stop, listener, maxLineBytes);
        }

        /**
         * Chooses who hears of the lines left out.
         *
         * @param badLineListener the listener
         * @return options with that listener
         */
        public Options listener(BadLineListener badLineListener) {
            return new Options(pedantic, badLineListener, maxLineBytes);
        }

        /**
         * Chooses the limit of a line.
         *
         * @param bytes longest line that is still taken for one
         * @return options with that limit
         */
        public Options maxLineBytes(int bytes) {
            return new Options(pedantic, listener, bytes);
        }
    }
}
