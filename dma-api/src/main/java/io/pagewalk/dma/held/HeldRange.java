package io.pagewalk.dma.held;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.events.LiveRange;

/**
 * A mapping, a segment of a list or an allocation that is held.
 *
 * @param device name of the device
 * @param kind which family of calls made it
 * @param dmaAddr first byte
 * @param sizeBytes length
 * @param direction its direction
 * @param physAddr physical address behind the first byte, or {@link LiveRange#UNKNOWN_PHYS_ADDR}
 * @param owner who it is for; empty when nobody said
 * @param sinceNanos when it was made
 */
public record HeldRange(
        String device,
        LiveRange.Kind kind,
        long dmaAddr,
        long sizeBytes,
        DmaDirection direction,
        long physAddr,
        String owner,
        long sinceNanos) {
    static HeldRange of(LiveRange range) {
        return new HeldRange(
                range.device().name(),
                range.kind(),
                range.dmaAddr(),
                range.sizeBytes(),
                range.direction(),
                range.physAddr(),
                range.owner(),
                range.sinceNanos());
    }
}
