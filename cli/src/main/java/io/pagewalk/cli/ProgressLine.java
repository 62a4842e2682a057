package io.pagewalk.cli;

import io.pagewalk.trace.replay.ReplayProgress;
import java.io.PrintWriter;
import java.util.function.Supplier;

/** A line on a terminal that says how far a run is; elsewhere nothing but what has to be said. */
final class ProgressLine implements ReplayProgress, AutoCloseable {
    /** The launcher sets it when standard error is a terminal, which Java 17 cannot tell by itself. */
    static final String TERMINAL_PROPERTY = "pagewalk.terminal";

    private static final long NANOS_BETWEEN = 200_000_000L;
    private static final int BAD_LINES_SHOWN = 10;
    private static final String CLEAR = "\r\033[K";

    private final PrintWriter err;
    private final boolean terminal;
    private long lastNanos = System.nanoTime();
    private boolean shown;
    private long said;

    private ProgressLine(PrintWriter err, boolean terminal) {
        this.err = err;
        this.terminal = terminal;
    }

    static ProgressLine on(PrintWriter err) {
        return new ProgressLine(err, Boolean.getBoolean(TERMINAL_PROPERTY));
    }

    /** Says something of the input, the first few times. */
    void say(String line) {
        said++;
        if (said <= BAD_LINES_SHOWN) {
            clear();
            err.println("pagewalk: " + line);
        } else if (said == BAD_LINES_SHOWN + 1) {
            clear();
            err.println("pagewalk: more lines like these are counted, not shown");
        }
    }

    @Override
    public void progress(long eventsDone, long bytesRead, long totalBytes) {
        show(() -> String.format(
                "%,d events replayed%s",
                eventsDone, totalBytes > 0 ? String.format(", %d %%", 100 * bytesRead / totalBytes) : ""));
    }

    /** Shows a state in place of the last one, if there is a terminal and it is time again. */
    void show(Supplier<String> state) {
        long now = System.nanoTime();
        if (!terminal || now - lastNanos < NANOS_BETWEEN) {
            return;
        }
        lastNanos = now;
        shown = true;
        err.print(CLEAR + state.get());
        err.flush();
    }

    private void clear() {
        if (shown) {
            err.print(CLEAR);
            err.flush();
            shown = false;
        }
    }

    @Override
    public void close() {
        clear();
    }
}
