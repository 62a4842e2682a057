package io.pagewalk.trace;

/** A text format that a line of a trace can have; told apart line by line. */
public enum TraceFormat {
    /** The kernel's own text: the files {@code trace} and {@code trace_pipe} of tracefs. */
    TRACEFS("tracefs"),
    /** {@code trace-cmd report}. */
    TRACE_CMD_REPORT("trace-cmd report"),
    /** {@code trace-cmd report -R}: fields as {@code name=value}. */
    TRACE_CMD_RAW("trace-cmd report -R"),
    /** {@code trace-cmd report -l}: latency columns, CPU and flags in one word. */
    TRACE_CMD_LATENCY("trace-cmd report -l"),
    /** {@code perf script}. */
    PERF_SCRIPT("perf script");

    private final String label;

    TraceFormat(String label) {
        this.label = label;
    }

    /**
     * Names the format as a person would.
     *
     * @return the command or file system that writes it
     */
    public String label() {
        return label;
    }
}
