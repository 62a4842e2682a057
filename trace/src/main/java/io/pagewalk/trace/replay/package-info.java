/** The replay engine: a trace's workload through every backend, side by side, on machines that a file can describe. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.trace.replay;
