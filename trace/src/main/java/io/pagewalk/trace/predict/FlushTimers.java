package io.pagewalk.trace.predict;

import io.pagewalk.trace.LogLines;
import io.pagewalk.trace.UnreadableTraceException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The record of the flush queues' timers that goes with a trace of a lazy IOMMU: the lines {@code timer_start} and
 * {@code timer_expire_entry} of {@code fq_flush_timeout}, in a second tracefs file on the same clock. Lines of other
 * timers and events are passed over.
 *
 * <p>Read once from front to end, in memory that does not grow. For one thread.
 */
public final class FlushTimers implements AutoCloseable {
    private static final Pattern LINE =
            Pattern.compile("^\\s*.*-\\d+\\s+\\[(\\d{1,5})\\]\\s+(?:\\S+\\s+)?(\\d{1,9})\\.(\\d{6}|\\d{9}): "
                    + "(timer_start|timer_expire_entry): timer=(\\S+) function=fq_flush_timeout\\b.*$");
    private static final String NAME = "fq_flush_timeout";
    private static final Pattern EVENT = Pattern.compile(": timer_(?:start|expire_entry):");
    private static final long NANOS = 1_000_000_000L;

    private final LogLines lines;
    private long count;
    private long latestNanos;

    private FlushTimers(LogLines lines) {
        this.lines = lines;
    }

    /**
     * Opens a record, plain or packed with gzip.
     *
     * @param file the record
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the file is missing, a directory, empty or binary
     * @throws IOException if closing such a file fails
     */
    public static FlushTimers open(Path file) throws IOException {
        return new FlushTimers(LogLines.open(file));
    }

    /**
     * Reads a record from a stream, plain or packed with gzip.
     *
     * @param stream the record; closed with the reader
     * @param name what to call it in messages
     * @return a reader in front of the first line
     * @throws UnreadableTraceException if the stream is empty or binary
     * @throws IOException if closing such a stream fails
     */
    public static FlushTimers open(InputStream stream, String name) throws IOException {
        return new FlushTimers(LogLines.open(stream, name));
    }

    /** Reads on to the next event, null at the end. */
    @Nullable TimerEvent next() throws IOException {
        for (String line = lines.next(); line != null; line = lines.next()) {
            if (line.contains(NAME) && EVENT.matcher(line).find()) {
                return parse(line);
            }
        }
        if (count == 0) {
            throw new MachineFactsException(lines.name(), "has no timer_start or timer_expire_entry line of " + NAME);
        }
        return null;
    }

    private TimerEvent parse(String line) throws MachineFactsException {
        Matcher match = LINE.matcher(line);
        if (!match.matches()) {
            throw new MachineFactsException(
                    lines.name(), "line " + lines.lineNumber() + ": no timer event as tracefs prints it");
        }
        String fraction = match.group(3);
        long nanos = Long.parseLong(fraction) * (fraction.length() == 6 ? 1000 : 1);
        long time = Long.parseLong(match.group(2)) * NANOS + nanos;
        if (time < latestNanos) {
            throw new MachineFactsException(
                    lines.name(), "line " + lines.lineNumber() + ": time goes back, so the record cannot be merged");
        }
        latestNanos = time;
        count++;
        boolean expires = match.group(4).equals("timer_expire_entry");
        return new TimerEvent(lines.lineNumber(), match.group(5), expires, Integer.parseInt(match.group(1)), time);
    }

    /**
     * Names the record.
     *
     * @return the path or the name given at {@code open}
     */
    public String name() {
        return lines.name();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
