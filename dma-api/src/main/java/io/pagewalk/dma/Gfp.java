package io.pagewalk.dma;

import io.pagewalk.dma.memory.Zone;

/**
 * The allocation flags that the DMA API looks at. Bits of the kernel's own that it does not look at are not modelled.
 *
 * <p>Source: dma-core:ATTR-11, FE-50 to FE-54, ALC-1 to ALC-9, ATM-3, POOL-4.
 */
public final class Gfp {
    /** Pages of the zone below 16 MiB. */
    public static final int DMA = 1;
    /** Pages that need not be in the direct map. */
    public static final int HIGHMEM = 1 << 1;
    /** Pages below 4 GiB. */
    public static final int DMA32 = 1 << 2;
    /** Zeroed memory. */
    public static final int ZERO = 1 << 3;
    /** No message when there is no memory. */
    public static final int NOWARN = 1 << 4;
    /** A compound page, which DMA allocations refuse (dma-core:FE-50, FE-54, FE-64). */
    public static final int COMP = 1 << 5;
    /** The caller may sleep until memory is reclaimed. */
    public static final int DIRECT_RECLAIM = 1 << 6;

    /** {@code GFP_KERNEL}: may sleep. */
    public static final int KERNEL = DIRECT_RECLAIM;
    /** {@code GFP_ATOMIC}: must not sleep. */
    public static final int ATOMIC = 0;

    private static final int ZONES = DMA | DMA32 | HIGHMEM;

    private Gfp() {}

    /**
     * Tells whether a set of flags has a flag.
     *
     * @param gfp the set
     * @param flag the flag
     * @return true when all its bits are set
     */
    public static boolean has(int gfp, int flag) {
        return (gfp & flag) == flag;
    }

    /**
     * Strips the zone flags (dma-core:FE-52).
     *
     * @param gfp the set
     * @return the set without DMA, DMA32 and HIGHMEM
     */
    public static int withoutZones(int gfp) {
        return gfp & ~ZONES;
    }

    /**
     * Tells whether a caller chose a zone (dma-core:FE-54).
     *
     * @param gfp the set
     * @return true for any of DMA, DMA32 and HIGHMEM
     */
    public static boolean choosesZone(int gfp) {
        return (gfp & ZONES) != 0;
    }

    /**
     * Gives the highest zone that a caller may have memory of.
     *
     * @param gfp the set
     * @return DMA before DMA32, NORMAL when neither was asked for
     */
    public static Zone zone(int gfp) {
        if (has(gfp, DMA)) {
            return Zone.DMA;
        }
        return has(gfp, DMA32) ? Zone.DMA32 : Zone.NORMAL;
    }
}
