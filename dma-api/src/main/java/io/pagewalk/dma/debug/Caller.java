package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/**
 * Who made a call of the DMA API, where and when.
 *
 * @param device the device, or null for a call without one
 * @param cpu the CPU, from 0; -1 when unknown
 * @param timeNanos the time: the machine's, or that of the trace
 * @param owner who the memory is for, such as a task or a tag; or null
 * @param site where the call stands: a line of the trace, or code when call sites were asked for; or null
 */
public record Caller(
        @Nullable DebugDevice device,
        int cpu,
        long timeNanos,
        @Nullable String owner,
        @Nullable String site) {}
