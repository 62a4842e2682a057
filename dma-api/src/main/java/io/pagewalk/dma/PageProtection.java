package io.pagewalk.dma;

/** How a CPU mapping of DMA memory is cached (dma-core:FE-72). */
public enum PageProtection {
    /** Unchanged: cached like other memory. */
    CACHED,
    /** Writes are combined, reads not cached. */
    WRITE_COMBINE,
    /** Not cached: the architecture's protection for coherent memory. */
    UNCACHED;

    /**
     * {@code dma_pgprot}: how coherent memory of a device is mapped.
     *
     * @param device the device
     * @param attrs bits of {@link DmaAttrs}
     * @return {@link #CACHED} for a coherent device; else write-combined when asked for and configured, else uncached
     */
    public static PageProtection of(Device device, int attrs) {
        if (device.isCoherent()) {
            return CACHED;
        }
        boolean combined = (attrs & DmaAttrs.WRITE_COMBINE) != 0
                && device.machine().kernelConfig().writeCombine();
        return combined ? WRITE_COMBINE : UNCACHED;
    }
}
