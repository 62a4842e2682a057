package io.pagewalk.backends.swiotlb;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.memory.PageAllocator;

/**
 * Memory that is decrypted already, where a transient pool comes from if its memory would have to be decrypted, which
 * nobody who maps can wait for (dma-core:SWD-4). Thread-safe.
 */
public interface DecryptedMemory {
    /**
     * Takes zeroed pages at once.
     *
     * @param device whom they are for
     * @param cpu the CPU that asks
     * @param roundedBytes whole pages
     * @param gfp bits of {@link Gfp}, of which the zones count, and {@code NOWARN}
     * @param lastAddr the highest address that they may have
     * @return the physical address, or {@link PageAllocator#NO_PAGE}
     */
    long allocBelow(Device device, int cpu, long roundedBytes, int gfp, long lastAddr);

    /**
     * Gives pages back.
     *
     * @param physAddr the first page
     * @param roundedBytes whole pages
     * @return false when they are not from here
     */
    boolean free(long physAddr, long roundedBytes);
}
