package io.pagewalk.dma;

import java.util.List;

/**
 * A device's dma-ranges: the first entry in array order that holds an address wins (dma-core:DIR-1 to DIR-3).
 * Immutable.
 */
final class RangeMap {
    private static final long NONE = -1L;

    private final DmaRange[] entries;

    RangeMap(List<DmaRange> entries) {
        this.entries = entries.toArray(new DmaRange[0]);
    }

    long physToDma(long physAddr) {
        for (DmaRange range : entries) {
            if (range.coversPhys(physAddr)) {
                return range.dmaStart() + (physAddr - range.cpuStart());
            }
        }
        return NONE;
    }

    long dmaToPhys(long dmaAddr) {
        for (DmaRange range : entries) {
            if (range.coversDma(dmaAddr)) {
                return range.cpuStart() + (dmaAddr - range.dmaStart());
            }
        }
        return NONE;
    }

    List<DmaRange> list() {
        return List.of(entries);
    }
}
