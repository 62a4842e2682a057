package io.pagewalk.dma;

/** What {@link Dma#map(long, long, DmaDirection, MapPolicy)} does when the buffer cannot be mapped as it lies. */
public enum MapPolicy {
    /** Throws the {@link DmaException} with the cause. */
    FAIL,
    /**
     * Copies through coherent memory: allocated for this mapping, seen alike by CPU and device, freed with the mapping.
     * Nothing but the copies needs a sync, and no bounce pool is involved.
     */
    COPY,
    /**
     * Bounces through pages of the mapping's own, mapped for streaming use where the device reaches them, so that syncs
     * maintain caches as for any buffer. No slot of the bounce pool is taken unless even these pages need one.
     */
    BOUNCE
}
