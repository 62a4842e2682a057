package io.pagewalk.trace.workload;

import io.pagewalk.trace.TraceHeader;

/**
 * Where an operation comes from.
 *
 * @param lineNumber line of the trace, from 1
 * @param cpu the CPU as recorded
 * @param timeNanos the trace's time in nanoseconds
 */
public record Origin(long lineNumber, int cpu, long timeNanos) {
    static Origin of(TraceHeader header) {
        return new Origin(header.lineNumber(), header.cpu(), header.timestampNanos());
    }
}
