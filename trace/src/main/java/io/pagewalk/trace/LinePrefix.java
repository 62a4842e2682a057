package io.pagewalk.trace;

/**
 * The part of a line before its event, in all formats.
 *
 * <pre>
 *      kworker/u8:1-31      [000] d..1.     3.943521: dma_alloc: ...           tracefs
 *   kworker/u8:1-31    [001]     5.359034: dma_alloc:            ...           trace-cmd report
 *   kworker/-12      1.....     4.833130430: dma_alloc:            ...         trace-cmd report -t -l
 *    kworker/u8:1-ev    31 [000]     3.671251:                  dma:dma_alloc: perf script
 * </pre>
 */
/*
 * The name of a task may hold blanks, '-', ':', '/', '[' and digits, so nothing can be split off at the first such
 * character. The reader looks for the one shape that a name (at most 15 bytes) is too short to imitate: a CPU in
 * brackets, a word of flags or none, and a time with its colon. From the brackets it goes back over the pid; what is left
 * of that is the name. A '-' before the pid tells trace-cmd and tracefs from perf, which puts a blank there.
 *
 * trace-cmd's latency columns have no brackets. There the time is looked for, and the word before it is CPU and flags.
 */
final class LinePrefix {
    private static final int MICROSECOND_DIGITS = 6;
    private static final int NANOSECOND_DIGITS = 9;
    private static final long NANOS_PER_MICROSECOND = 1_000;
    private static final long NANOS_PER_SECOND = 1_000_000_000;
    private static final int MAX_ID_DIGITS = 9;
    private static final int MAX_SECONDS_DIGITS = 10;
    private static final int MIN_FLAGS = 4;
    private static final int MAX_FLAGS = 8;
    private static final long MAX_SECONDS = Long.MAX_VALUE / NANOS_PER_SECOND - 1;

    /** How far into a line its prefix may reach; keeps the search linear on any input. */
    private static final int MAX_PREFIX_BYTES = 256;

    private String task = "";
    private int pid;
    private int cpu;
    private String flags = "";
    private long timestampNanos;
    private TraceFormat format = TraceFormat.TRACEFS;
    private int bodyStart;

    /** Reads the prefix of the line; false, and nothing moved, when it has none. Else the cursor is behind the time. */
    boolean read(LineCursor line) {
        return readBracketed(line) || readLatency(line);
    }

    TraceHeader header(long lineNumber) {
        return new TraceHeader(lineNumber, task, pid, cpu, flags, timestampNanos);
    }

    TraceFormat format() {
        return format;
    }

    private boolean readBracketed(LineCursor line) {
        int last = line.start() + MAX_PREFIX_BYTES;
        for (int open = line.find('['); open >= 0 && open < last; open = line.find('[')) {
            if (readAround(line, open)) {
                line.moveTo(bodyStart);
                return true;
            }
            line.moveTo(open + 1);
        }
        line.moveTo(line.start());
        return false;
    }

    private boolean readAround(LineCursor line, int open) {
        int cpuEnd = digitsEnd(line, open + 1);
        if (line.byteAt(cpuEnd) != ']' || line.byteAt(cpuEnd + 1) != ' ' || !isId(open + 1, cpuEnd)) {
            return false;
        }
        int next = blanksEnd(line, cpuEnd + 1);
        flags = "";
        if (!readTime(line, next)) {
            int flagsEnd = wordEnd(line, next);
            if (!areFlags(line, next, flagsEnd) || !readTime(line, blanksEnd(line, flagsEnd))) {
                return false;
            }
            flags = line.text(next, flagsEnd);
        }
        cpu = id(line, open + 1, cpuEnd);
        return readTask(line, open);
    }

    /** Goes back from the brackets over pid (and thread group, if shown) to the name. */
    private boolean readTask(LineCursor line, int open) {
        int end = skipThreadGroup(line, blanksStart(line, open));
        int pidStart = digitsStart(line, end);
        if (!isId(pidStart, end)) {
            return false;
        }
        pid = id(line, pidStart, end);
        int separator = line.byteAt(pidStart - 1);
        int nameStart = blanksEnd(line, line.start());
        if (separator == '-' && !isSign(line, nameStart, pidStart - 1)) {
            task = line.text(Math.min(nameStart, pidStart - 1), pidStart - 1);
            format = flags.isEmpty() ? TraceFormat.TRACE_CMD_REPORT : TraceFormat.TRACEFS;
            return true;
        }
        return (separator == '-' || separator == ' ') && readPerfTask(line, nameStart, pidStart, separator);
    }

    /** perf has -1 for a task it does not know, behind a name and a blank. */
    private static boolean isSign(LineCursor line, int nameStart, int minus) {
        return minus > nameStart && line.byteAt(minus - 1) == ' ';
    }

    private boolean readPerfTask(LineCursor line, int nameStart, int pidStart, int separator) {
        int pidColumn = separator == '-' ? pidStart - 1 : pidStart;
        pid = separator == '-' ? -pid : pid;
        int nameEnd = blanksStart(line, pidColumn);
        task = line.text(Math.min(nameStart, nameEnd), nameEnd);
        format = TraceFormat.PERF_SCRIPT;
        return flags.isEmpty();
    }

    private static int skipThreadGroup(LineCursor line, int end) {
        if (line.byteAt(end - 1) != ')') {
            return end;
        }
        int open = end - 1;
        while (open > line.start() && line.byteAt(open) != '(') {
            open--;
        }
        return blanksStart(line, open);
    }

    private boolean readLatency(LineCursor line) {
        int word = blanksEnd(line, line.start());
        int last = Math.min(line.end(), line.start() + MAX_PREFIX_BYTES);
        while (word < last) {
            int end = wordEnd(line, word);
            int next = blanksEnd(line, end);
            if (readTime(line, next)) {
                return readCpuAndFlags(line, word, end);
            }
            word = next;
        }
        return false;
    }

    private boolean readCpuAndFlags(LineCursor line, int word, int end) {
        int cpuEnd = digitsEnd(line, word);
        int pidEnd = blanksStart(line, word);
        int pidStart = digitsStart(line, pidEnd);
        if (!isId(word, cpuEnd) || !areFlags(line, cpuEnd, end)) {
            return false;
        }
        if (!isId(pidStart, pidEnd) || line.byteAt(pidStart - 1) != '-') {
            return false;
        }
        cpu = id(line, word, cpuEnd);
        flags = line.text(cpuEnd, end);
        pid = id(line, pidStart, pidEnd);
        int nameStart = blanksEnd(line, line.start());
        task = line.text(Math.min(nameStart, pidStart - 1), pidStart - 1);
        format = TraceFormat.TRACE_CMD_LATENCY;
        line.moveTo(bodyStart);
        return true;
    }

    /** Reads {@code 3.943521:} or {@code 3.943521000:} at a position. */
    private boolean readTime(LineCursor line, int start) {
        int dot = digitsEnd(line, start);
        if (line.byteAt(dot) != '.' || dot == start || dot - start > MAX_SECONDS_DIGITS) {
            return false;
        }
        int end = digitsEnd(line, dot + 1);
        int digits = end - dot - 1;
        if ((digits != MICROSECOND_DIGITS && digits != NANOSECOND_DIGITS) || line.byteAt(end) != ':') {
            return false;
        }
        long seconds = decimal(line, start, dot);
        long fraction = decimal(line, dot + 1, end);
        long nanos = digits == NANOSECOND_DIGITS ? fraction : fraction * NANOS_PER_MICROSECOND;
        timestampNanos = seconds * NANOS_PER_SECOND + nanos;
        bodyStart = end + 1;
        return seconds <= MAX_SECONDS;
    }

    /** A few letters and digits, dots for what is off; kernels differ in how many. */
    private static boolean areFlags(LineCursor line, int from, int to) {
        if (to - from < MIN_FLAGS || to - from > MAX_FLAGS) {
            return false;
        }
        for (int i = from; i < to; i++) {
            int flag = line.byteAt(i);
            if (flag >= 0x80 || (!Character.isLetterOrDigit(flag) && flag != '.' && flag != '#')) {
                return false;
            }
        }
        return true;
    }

    private static boolean isId(int from, int to) {
        return to > from && to - from <= MAX_ID_DIGITS;
    }

    private static int id(LineCursor line, int from, int to) {
        return (int) decimal(line, from, to);
    }

    private static long decimal(LineCursor line, int from, int to) {
        long value = 0;
        for (int i = from; i < to; i++) {
            value = value * 10 + LineCursor.digit(line.byteAt(i));
        }
        return value;
    }

    private static int digitsEnd(LineCursor line, int from) {
        int i = from;
        while (LineCursor.digit(line.byteAt(i)) >= 0) {
            i++;
        }
        return i;
    }

    private static int digitsStart(LineCursor line, int from) {
        int i = from;
        while (LineCursor.digit(line.byteAt(i - 1)) >= 0) {
            i--;
        }
        return i;
    }

    private static int blanksEnd(LineCursor line, int from) {
        int i = from;
        while (line.byteAt(i) == ' ') {
            i++;
        }
        return i;
    }

    private static int blanksStart(LineCursor line, int from) {
        int i = from;
        while (line.byteAt(i - 1) == ' ') {
            i--;
        }
        return i;
    }

    private static int wordEnd(LineCursor line, int from) {
        int i = from;
        while (i < line.end() && line.byteAt(i) != ' ') {
            i++;
        }
        return i;
    }
}
