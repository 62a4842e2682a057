package io.pagewalk.trace;

/**
 * What stands in front of an event: who did it, where and when.
 *
 * <p>A line without that part (the loss marks that name only a CPU, the header of a trace) has {@link #NO_PID}, an
 * empty task and {@link #NO_TIME}.
 *
 * @param lineNumber number of the line in the file, from 1
 * @param task name of the task ({@code comm}) as printed: {@code <idle>} in tracefs, {@code swapper} in perf,
 *     {@code <...>} where the kernel no longer knew it; cut to 8 characters by {@code trace-cmd report -l}
 * @param pid id of the task, 0 when idle
 * @param cpu number of the CPU, {@link #NO_CPU} when the line names none
 * @param flags the column of context flags ({@code d.h1.}), empty where the format has none
 * @param timestampNanos time of the event in nanoseconds of the trace's clock
 */
public record TraceHeader(long lineNumber, String task, int pid, int cpu, String flags, long timestampNanos) {

    /** The pid of a line that names no task. */
    public static final int NO_PID = -1;

    /** The CPU of a line that names none. */
    public static final int NO_CPU = -1;

    /** The time of a line that carries none. */
    public static final long NO_TIME = -1L;

    /**
     * Makes the header of a line that names at most a CPU.
     *
     * @param lineNumber number of the line in the file, from 1
     * @param cpu number of the CPU or {@link #NO_CPU}
     * @return a header without task and time
     */
    public static TraceHeader ofCpu(long lineNumber, int cpu) {
        return new TraceHeader(lineNumber, "", NO_PID, cpu, "", NO_TIME);
    }
}
