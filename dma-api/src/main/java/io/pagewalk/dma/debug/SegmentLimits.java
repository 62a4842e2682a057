package io.pagewalk.dma.debug;

/**
 * What a device says it can take of a list (dma-core:DBG-25).
 *
 * @param maxBytes largest segment
 * @param boundaryMask the boundary that no segment crosses, minus one
 */
public record SegmentLimits(long maxBytes, long boundaryMask) {}
