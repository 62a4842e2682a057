package io.pagewalk.backends.swiotlb;

import io.pagewalk.dma.memory.Addresses;

/** The fixed sizes of bounce pools (dma-core:TYP-9). */
public final class SwiotlbLayout {
    /** Binary logarithm of {@link #SLOT_BYTES}. */
    public static final int SLOT_SHIFT = 11;
    /** Bytes of a slot. */
    public static final long SLOT_BYTES = 1L << SLOT_SHIFT;
    /** The bits of an address inside a slot. */
    public static final long SLOT_MASK = SLOT_BYTES - 1;
    /** Slots of a set; no mapping crosses the end of one. */
    public static final int SET_SLOTS = 128;
    /** The largest mapping that a set holds, in bytes. */
    public static final long SET_BYTES = SET_SLOTS * SLOT_BYTES;
    /** Slots of the default pool: 64 MiB. */
    public static final long DEFAULT_SLOTS = 0x8000;
    /** Slots below which a boot does not shrink a pool: 1 MiB. */
    public static final long MIN_SLOTS = 512;
    /** The largest alignment, minus one, that a bounce may ask for without a WARN (dma-core:SWM-2). */
    public static final long LARGEST_ALLOC_ALIGN_MASK = Addresses.PAGE_SIZE - 1;
    /** What stands for no physical address: {@code INVALID_PHYS_ADDR}. */
    public static final long INVALID_PHYS_ADDR = -1L;

    private SwiotlbLayout() {}

    /**
     * How many slots hold so many bytes: {@code nr_slots}.
     *
     * @param sizeBytes bytes, unsigned
     * @return slots, rounded up
     */
    public static long slots(long sizeBytes) {
        return (sizeBytes >>> SLOT_SHIFT) + ((sizeBytes & SLOT_MASK) == 0 ? 0 : 1);
    }

    /**
     * The largest mapping of a device with a minimum alignment (dma-core:SWM-15).
     *
     * @param minAlignMask the device's mask, unsigned 32-bit
     * @return bytes
     */
    public static long maxMappingBytes(long minAlignMask) {
        return SET_BYTES - Addresses.alignUp(minAlignMask, SLOT_BYTES);
    }
}
