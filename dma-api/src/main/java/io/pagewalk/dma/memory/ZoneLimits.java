package io.pagewalk.dma.memory;

/**
 * Which zones a machine has, and where they end: {@code ZONE_DMA}, {@code ZONE_DMA32} and {@code zone_dma_limit}.
 * Memory of a zone that is not configured belongs to the next one above. Immutable.
 */
public final class ZoneLimits {
    /** A PC's: up to 16 MiB, up to 4 GiB, and the rest. */
    public static final ZoneLimits PC = new ZoneLimits(true, true, Zone.DMA.lastAddress());

    private static final long BLOCK_MASK = (Addresses.PAGE_SIZE << PageAllocator.MAX_ORDER) - 1;

    private final boolean dma;
    private final boolean dma32;
    private final long zoneDmaLimit;

    private ZoneLimits(boolean dma, boolean dma32, long zoneDmaLimit) {
        this.dma = dma;
        this.dma32 = dma32;
        this.zoneDmaLimit = zoneDmaLimit;
    }

    /**
     * Makes limits.
     *
     * @param dma whether {@code ZONE_DMA} is configured
     * @param dma32 whether {@code ZONE_DMA32} is configured
     * @param zoneDmaLimit the last address of {@code ZONE_DMA}, which ends a block of the highest order; compared with
     *     even when the zone is not configured
     * @return the limits
     * @throws IllegalArgumentException when a block of pages would lie in two zones
     */
    public static ZoneLimits of(boolean dma, boolean dma32, long zoneDmaLimit) {
        if ((zoneDmaLimit & BLOCK_MASK) != BLOCK_MASK) {
            throw new IllegalArgumentException("a zone cannot end at " + Addresses.hex(zoneDmaLimit)
                    + ", inside a block of " + (BLOCK_MASK + 1) + " bytes");
        }
        return new ZoneLimits(dma, dma32, zoneDmaLimit);
    }

    /**
     * Whether a zone is configured.
     *
     * @param zone the zone
     * @return always true for the last one
     */
    public boolean has(Zone zone) {
        return switch (zone) {
            case DMA -> dma;
            case DMA32 -> dma32;
            case NORMAL -> true;
        };
    }

    /**
     * {@code zone_dma_limit}.
     *
     * @return the last address of {@code ZONE_DMA}, configured or not
     */
    public long zoneDmaLimit() {
        return zoneDmaLimit;
    }

    /**
     * Where a configured zone ends.
     *
     * @param zone the zone
     * @return its last address, unsigned
     */
    public long lastAddress(Zone zone) {
        return switch (zone) {
            case DMA -> zoneDmaLimit;
            case DMA32 -> Addresses.max(zone.lastAddress(), zoneDmaLimit);
            case NORMAL -> zone.lastAddress();
        };
    }

    /**
     * The zone that stands for a zone.
     *
     * @param zone the zone that is asked for
     * @return itself, or the next configured one above
     */
    public Zone resolve(Zone zone) {
        if (zone == Zone.DMA && dma) {
            return Zone.DMA;
        }
        return zone != Zone.NORMAL && dma32 ? Zone.DMA32 : Zone.NORMAL;
    }

    /**
     * The configured zone that an address lies in.
     *
     * @param physAddr a physical address
     * @return its zone
     */
    public Zone of(long physAddr) {
        if (dma && Addresses.lessOrEqual(physAddr, zoneDmaLimit)) {
            return Zone.DMA;
        }
        return dma32 && Addresses.lessOrEqual(physAddr, lastAddress(Zone.DMA32)) ? Zone.DMA32 : Zone.NORMAL;
    }

    @Override
    public String toString() {
        return (dma ? "DMA to " + Addresses.hex(zoneDmaLimit) + ", " : "") + (dma32 ? "DMA32, " : "") + "NORMAL";
    }
}
