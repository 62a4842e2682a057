package io.pagewalk.dma;

import io.pagewalk.dma.spi.CoherentPages;
import org.jspecify.annotations.Nullable;

/** Coherent memory of a device that was not freed yet. Thread-safe. */
final class CoherentAllocation {
    private final CoherentPages pages;
    private final @Nullable CoherentRegion region;
    private final boolean vmapped;
    private volatile boolean freed;

    private CoherentAllocation(CoherentPages pages, @Nullable CoherentRegion region, boolean vmapped) {
        this.pages = pages;
        this.region = region;
        this.vmapped = vmapped;
    }

    /** Memory of the device's own region. */
    static CoherentAllocation ofRegion(CoherentPages pages, CoherentRegion region) {
        return new CoherentAllocation(pages, region, false);
    }

    /** Memory that has an address in the direct map, or one that its backend chose. */
    static CoherentAllocation ofPath(CoherentPages pages) {
        return new CoherentAllocation(pages, null, false);
    }

    /** Memory whose pages lie apart and were given addresses for the time it lives. */
    static CoherentAllocation ofVmap(CoherentPages pages) {
        return new CoherentAllocation(pages, null, true);
    }

    CoherentPages pages() {
        return pages;
    }

    @Nullable CoherentRegion region() {
        return region;
    }

    boolean isVmapped() {
        return vmapped;
    }

    boolean isFreed() {
        return freed;
    }

    void markFreed() {
        freed = true;
    }
}
