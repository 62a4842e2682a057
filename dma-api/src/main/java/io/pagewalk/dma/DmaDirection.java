package io.pagewalk.dma;

/**
 * Who moves the bytes of a mapping, as {@code enum dma_data_direction} has it.
 *
 * <p>Source: dma-core:TYP-5. The ordinal of each constant is the kernel's number for it.
 */
public enum DmaDirection {
    /** The device reads and writes. */
    BIDIRECTIONAL,
    /** The device reads what the CPU wrote. */
    TO_DEVICE,
    /** The device writes what the CPU will read. */
    FROM_DEVICE,
    /** No direction: never valid in a call, which then is a BUG (dma-core:TYP-6). */
    NONE;

    /**
     * Says whether the device may read memory mapped in this direction.
     *
     * @return true for {@link #BIDIRECTIONAL} and {@link #TO_DEVICE}
     */
    public boolean deviceReads() {
        return this == BIDIRECTIONAL || this == TO_DEVICE;
    }

    /**
     * Says whether the device may write memory mapped in this direction.
     *
     * @return true for {@link #BIDIRECTIONAL} and {@link #FROM_DEVICE}
     */
    public boolean deviceWrites() {
        return this == BIDIRECTIONAL || this == FROM_DEVICE;
    }
}
