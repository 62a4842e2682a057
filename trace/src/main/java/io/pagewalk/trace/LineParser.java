package io.pagewalk.trace;

import org.jspecify.annotations.Nullable;

/**
 * Decides what a line is and has it read: an event of ours, one of others (counted), a mark of loss, or one of the
 * lines that the tools put around events.
 */
final class LineParser {
    private static final String ENTRIES = "# entries-in-buffer/entries-written: ";
    private static final String FAILED = "[FAILED TO PARSE] ";
    private static final String FUNCTION_EVENTS = "(function)";
    private static final int MIN_FRAME_DIGITS = 8;
    private static final int MAX_CPUS = 8192;

    private final LineCursor line = new LineCursor();
    private final LinePrefix prefix = new LinePrefix();
    private final Tally tally;

    LineParser(Tally tally) {
        this.tally = tally;
    }

    /** Reads the line {@code buffer[start, end)}; null when it holds no event to hand out. */
    @Nullable TraceEvent parse(byte[] buffer, int start, int end, long lineNumber) throws LineFormatException {
        line.reset(buffer, start, end);
        if (prefix.read(line)) { // first: the name of a task may begin like any of the others
            return event(lineNumber);
        }
        if (line.peek() == '#') {
            return comment(lineNumber);
        }
        if (line.accept("CPU:")) {
            return lossMark(lineNumber);
        }
        if (!isFurniture()) {
            throw new LineFormatException("no task, CPU and time as tracefs, trace-cmd or perf print them");
        }
        return null;
    }

    /**
     * Only the numbers of the ring buffer matter: events that it lost by wrapping have no other trace, and the CPUs.
     * {@code # entries-in-buffer/entries-written: 20827/20827 #P:2}
     */
    private @Nullable TraceEvent comment(long lineNumber) throws LineFormatException {
        if (!line.accept(ENTRIES)) {
            return null;
        }
        long inBuffer = line.count();
        line.expect("/");
        long written = line.count();
        line.skipBlanks();
        if (line.accept("#P:")) {
            cpus();
        }
        if (inBuffer >= written) {
            return null;
        }
        tally.overwritten(written - inBuffer);
        int cpu = TraceHeader.NO_CPU;
        return new TraceEvent.LostEvents(TraceHeader.ofCpu(lineNumber, cpu), cpu, written - inBuffer);
    }

    private void cpus() {
        int count = 0;
        while (LineCursor.digit(line.peek()) >= 0 && count < MAX_CPUS) {
            count = 10 * count + LineCursor.digit(line.peek());
            line.moveTo(line.position() + 1);
        }
        tally.cpus(Math.min(count, MAX_CPUS));
    }

    /** {@code CPU:1 [LOST 105 EVENTS]}, {@code CPU:1 [LOST EVENTS]} or {@code CPU:1 [156 EVENTS DROPPED]}. */
    private TraceEvent lossMark(long lineNumber) throws LineFormatException {
        int cpu = line.smallDecimal();
        line.expect(" [");
        boolean kernel = line.accept("LOST ");
        long count = TraceEvent.LostEvents.UNKNOWN_COUNT;
        if (LineCursor.digit(line.peek()) >= 0) {
            count = line.count();
            line.expect(" ");
        }
        line.expect(kernel ? "EVENTS]" : "EVENTS DROPPED]");
        line.finish();
        return lost(TraceHeader.ofCpu(lineNumber, cpu), count);
    }

    private TraceEvent lost(TraceHeader header, long count) {
        tally.gap(count);
        return new TraceEvent.LostEvents(header, header.cpu(), count);
    }

    private @Nullable TraceEvent event(long lineNumber) throws LineFormatException {
        line.skipBlanks();
        int nameStart = line.position();
        String word = line.word();
        int nameEnd = line.position() - 1;
        if (line.byteAt(nameEnd) != ':') {
            return unnamed(word, lineNumber);
        }
        String name = line.text(nameStart, nameEnd);
        EventKind kind = EventKind.of(name);
        if (kind == null) {
            return other(name);
        }
        return body(kind, name, lineNumber);
    }

    private @Nullable TraceEvent body(EventKind kind, String name, long lineNumber) throws LineFormatException {
        skipToText(kind);
        boolean failed = !kind.isMark() && line.accept(FAILED);
        boolean named = failed || kind.isNamed(line);
        TraceEvent event = read(kind, named, name, lineNumber);
        if (event == null) {
            return other(name);
        }
        tally.format(named && !failed ? rawOf(prefix.format()) : prefix.format());
        tally.event(kind, event);
        return event;
    }

    /** A mark of tracefs may begin with blanks of its own. */
    private void skipToText(EventKind kind) {
        if (kind == EventKind.MARK) {
            line.accept(" ");
        } else {
            line.skipBlanks();
        }
    }

    private @Nullable TraceEvent read(EventKind kind, boolean named, String name, long lineNumber)
            throws LineFormatException {
        try {
            return kind.parser(named).parse(prefix.header(lineNumber), line);
        } catch (LineFormatException bad) {
            throw new LineFormatException(name + ": " + bad.reason());
        }
    }

    private static TraceFormat rawOf(TraceFormat format) {
        return format == TraceFormat.TRACE_CMD_REPORT ? TraceFormat.TRACE_CMD_RAW : format;
    }

    private @Nullable TraceEvent other(String name) {
        tally.format(prefix.format());
        tally.other(name);
        return null;
    }

    /** What perf and the function tracer put where others have an event and a colon. */
    private @Nullable TraceEvent unnamed(String word, long lineNumber) throws LineFormatException {
        if (word.equals("PERF_RECORD_LOST") || word.equals("PERF_RECORD_LOST_SAMPLES")) {
            line.expect(" lost ");
            long count = line.count();
            line.finish();
            tally.format(prefix.format());
            return lost(prefix.header(lineNumber), count);
        }
        if (word.startsWith("PERF_RECORD_")) {
            return other(word);
        }
        if (word.equals("<stack") || line.startsWith(" <-")) {
            return other(FUNCTION_EVENTS);
        }
        throw new LineFormatException("no event name after the time");
    }

    /** Blank lines, {@code cpus=2}, {@code CPU 1 is empty} and the frames of stack traces. */
    private boolean isFurniture() {
        if (isToolNote("CPU ", " is empty")) {
            return true;
        }
        if (isToolNote("cpus=", "")) {
            line.accept("cpus=");
            cpus();
            return true;
        }
        boolean indented = line.peek() == ' ' || line.peek() == '\t';
        while (line.peek() == ' ' || line.peek() == '\t') {
            line.moveTo(line.position() + 1);
        }
        return line.atEnd() || (indented && (line.startsWith("=> ") || isFrame()));
    }

    private boolean isToolNote(String before, String after) {
        line.moveTo(line.start());
        boolean begins = line.accept(before);
        int digits = 0;
        while (begins && LineCursor.digit(line.byteAt(line.position() + digits)) >= 0) {
            digits++;
        }
        line.moveTo(line.position() + digits);
        boolean note = digits > 0 && line.accept(after) && line.atEnd();
        line.moveTo(line.start());
        return note;
    }

    private boolean isFrame() {
        int at = line.position();
        int digits = 0;
        while (Character.digit(line.byteAt(at + digits), 16) >= 0) {
            digits++;
        }
        return digits >= MIN_FRAME_DIGITS && line.byteAt(at + digits) == ' ';
    }
}
