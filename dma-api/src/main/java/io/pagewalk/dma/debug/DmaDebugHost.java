package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/** What dma-debug needs of its surroundings: a machine, or a trace that was recorded elsewhere. */
public interface DmaDebugHost {
    /** What memory is wanted for. */
    enum Need {
        /** A page of records (dma-core:DBG-72). */
        ENTRIES,
        /** A tracked cacheline (dma-core:DBG-22). */
        CACHELINE
    }

    /**
     * Whether there is no memory for something.
     *
     * @param need what for
     * @return true when dma-debug must disable itself
     */
    default boolean hasNoMemory(Need need) {
        return false;
    }

    /**
     * Takes a message of dma-debug about itself.
     *
     * @param text what it says
     */
    default void message(String text) {}

    /**
     * Takes a report.
     *
     * @param report the report; {@link DmaDebugReport#shown()} tells whether the kernel would have printed it
     */
    default void report(DmaDebugReport report) {}

    /**
     * What the kernel's virtual addresses mean.
     *
     * @return the areas, or null when that is not known and the checks that need them are off
     */
    default @Nullable KernelAreas areas() {
        return null;
    }

    /**
     * Whether overlapping mappings of a device are no error, since small ones are bounced (dma-core:DBG-22).
     *
     * @param device the device
     * @return true with {@code DMA_BOUNCE_UNALIGNED_KMALLOC} and a bounce pool in use
     */
    default boolean bouncesSharedLines(@Nullable DebugDevice device) {
        return false;
    }
}
