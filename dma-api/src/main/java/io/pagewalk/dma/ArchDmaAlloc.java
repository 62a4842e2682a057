package io.pagewalk.dma;

import io.pagewalk.dma.spi.CoherentPages;
import org.jspecify.annotations.Nullable;

/**
 * An architecture's own allocator of coherent memory for devices that are not coherent: the hooks
 * {@code arch_dma_alloc} and {@code arch_dma_free}. Source: dma-core:ALC-3, ALC-13.
 */
public interface ArchDmaAlloc {
    /**
     * Allocates.
     *
     * @param device the device
     * @param sizeBytes length, rounded up to pages (ALC-1)
     * @param gfp bits of {@link Gfp}
     * @param attrs bits of {@link DmaAttrs}
     * @return the pages, or null
     */
    @Nullable CoherentPages alloc(Device device, long sizeBytes, int gfp, int attrs);

    /**
     * Frees.
     *
     * @param device the device
     * @param pages what {@link #alloc} gave
     * @param attrs bits of {@link DmaAttrs}
     */
    void free(Device device, CoherentPages pages, int attrs);
}
