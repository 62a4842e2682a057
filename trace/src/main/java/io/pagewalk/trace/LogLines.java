package io.pagewalk.trace;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Reads a text that goes with a trace (a boot log, a record of timers) line by line, plain or packed with gzip, in
 * memory that does not grow with it. What {@link TraceReader} says of unreadable input holds here too.
 *
 * <p>Not safe for use by several threads.
 */
public final class LogLines implements AutoCloseable {
    private static final int MAX_LINE_BYTES = 1 << 20;

    private final String name;
    private final LineSource lines;

    private LogLines(InputStream stream, String name) throws IOException {
        this.name = name;
        this.lines = LineSource.open(TraceInput.text(new TraceInput.Counted(stream), name), name, MAX_LINE_BYTES);
    }

    /**
     * Opens a file.
     *
     * @param path the text
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the file is missing, a directory, empty or binary
     * @throws IOException if closing such a file fails
     */
    public static LogLines open(Path path) throws IOException {
        return open(TraceInput.openFile(path), path.toString());
    }

    /**
     * Reads a stream.
     *
     * @param stream the text; closed with the reader, or before an exception from here
     * @param name what to call it in messages
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the stream is empty or binary
     * @throws IOException if closing such a stream fails
     */
    public static LogLines open(InputStream stream, String name) throws IOException {
        try {
            return new LogLines(stream, name);
        } catch (IOException refused) {
            stream.close();
            throw refused;
        }
    }

    /**
     * Reads on to the next line.
     *
     * @return the line without its end, or null at the end of the text
     * @throws UnreadableTraceException if the input breaks off or has a line of more than a megabyte
     */
    public @Nullable String next() throws UnreadableTraceException {
        if (!lines.advance()) {
            return null;
        }
        int length = lines.lineEnd() - lines.lineStart();
        return new String(lines.buffer(), lines.lineStart(), length, StandardCharsets.UTF_8);
    }

    /**
     * Where the reader is.
     *
     * @return number of the line that {@link #next} returned last, from 1
     */
    public long lineNumber() {
        return lines.lineNumber();
    }

    /**
     * Names the text.
     *
     * @return the path or the name given at {@code open}
     */
    public String name() {
        return name;
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
