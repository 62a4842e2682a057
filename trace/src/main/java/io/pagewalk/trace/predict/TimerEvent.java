package io.pagewalk.trace.predict;

/**
 * A flush queue's timer was started or expired.
 *
 * @param lineNumber line of the record
 * @param timer the timer, as the kernel names it: a hash of its address
 * @param expires true when it expired, false when it was started
 * @param cpu the CPU
 * @param timeNanos when, on the clock of the trace
 */
record TimerEvent(long lineNumber, String timer, boolean expires, int cpu, long timeNanos) {}
