package io.pagewalk.trace;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Cuts a stream of text into lines, in place: a line is a range of the buffer that holds until the next
 * {@link #advance}. The buffer grows to the longest line and no further than the limit.
 */
final class LineSource implements AutoCloseable {
    private static final int FIRST_BUFFER_BYTES = 1 << 16;
    private static final int MAX_CONTROL_SHARE = 10;

    private final InputStream stream;
    private final String name;
    private final int maxLineBytes;
    private byte[] buffer;
    private int filled;
    private int lineStart;
    private int lineEnd;
    private int nextStart;
    private long lineNumber;
    private boolean atEndOfStream;
    private @Nullable UnreadableTraceException failure;

    private LineSource(InputStream stream, String name, int maxLineBytes) {
        this.stream = stream;
        this.name = name;
        this.maxLineBytes = maxLineBytes;
        this.buffer = new byte[Math.min(FIRST_BUFFER_BYTES, maxLineBytes + 2)];
    }

    /** Reads the first block and refuses an input that is empty or no text. */
    static LineSource open(InputStream stream, String name, int maxLineBytes) throws UnreadableTraceException {
        LineSource source = new LineSource(stream, name, maxLineBytes);
        source.fill();
        if (source.filled == 0) {
            throw new UnreadableTraceException(name, "is empty");
        }
        source.refuseBinary();
        return source;
    }

    private void refuseBinary() throws UnreadableTraceException {
        int controls = 0;
        for (int i = 0; i < filled; i++) {
            if (buffer[i] == 0) {
                throw new UnreadableTraceException(
                        name, "is binary, not the text of a trace (NUL byte at offset " + i + ")");
            }
            if (buffer[i] > 0 && buffer[i] < '\t') {
                controls++;
            }
        }
        if (controls > filled / MAX_CONTROL_SHARE) {
            throw new UnreadableTraceException(name, "is binary, not the text of a trace");
        }
    }

    /** Goes to the next line; false at the end of the input. */
    boolean advance() throws UnreadableTraceException {
        if (failure != null) {
            throw failure;
        }
        int scanned = nextStart;
        lineStart = nextStart;
        while (true) {
            int newline = newlineFrom(scanned);
            refuseBeyondLimit(newline < 0 ? filled : newline);
            if (newline >= 0) {
                return take(newline, newline + 1);
            }
            if (atEndOfStream) {
                return filled > lineStart && take(filled, filled);
            }
            int searched = filled - lineStart;
            fill();
            scanned = lineStart + searched;
        }
    }

    private void refuseBeyondLimit(int end) throws UnreadableTraceException {
        if (end - lineStart > maxLineBytes) {
            throw fail("line " + (lineNumber + 1) + " is longer than " + maxLineBytes + " bytes", null);
        }
    }

    private int newlineFrom(int from) {
        byte[] bytes = buffer;
        for (int i = from; i < filled; i++) {
            if (bytes[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    private boolean take(int end, int next) {
        boolean carriageReturn = end > lineStart && buffer[end - 1] == '\r';
        lineEnd = carriageReturn ? end - 1 : end;
        nextStart = next;
        lineNumber++;
        return true;
    }

    /** Moves the unfinished line to the front, makes room behind it and reads once. */
    private void fill() throws UnreadableTraceException {
        int pending = filled - lineStart;
        if (pending == buffer.length) {
            buffer = Arrays.copyOf(buffer, Math.min(2 * buffer.length, maxLineBytes + 2));
        } else {
            System.arraycopy(buffer, lineStart, buffer, 0, pending);
        }
        lineStart = 0;
        nextStart = 0;
        filled = pending;
        int read = readInto(pending);
        atEndOfStream = read < 0;
        filled += Math.max(read, 0);
    }

    private int readInto(int offset) throws UnreadableTraceException {
        try {
            return stream.read(buffer, offset, buffer.length - offset);
        } catch (EOFException cut) {
            throw fail("gzip stream ends early after line " + lineNumber, cut);
        } catch (ZipException damaged) {
            throw fail("gzip stream is damaged after line " + lineNumber + ": " + damaged.getMessage(), damaged);
        } catch (IOException failed) {
            throw fail("cannot be read on after line " + lineNumber + ": " + failed.getMessage(), failed);
        }
    }

    /** Once broken off, an input stays so: every later call throws the same. */
    private UnreadableTraceException fail(String cause, @Nullable IOException origin) {
        UnreadableTraceException broken = new UnreadableTraceException(name, cause, origin);
        failure = broken;
        return broken;
    }

    byte[] buffer() {
        return buffer;
    }

    int lineStart() {
        return lineStart;
    }

    int lineEnd() {
        return lineEnd;
    }

    long lineNumber() {
        return lineNumber;
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
