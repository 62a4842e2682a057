package io.pagewalk.dma.memory;

/** A zone of page frames, by what the frames' addresses are low enough for. */
public enum Zone {
    /** Below 16 MiB: what ISA devices reach. */
    DMA(0xff_ffffL),
    /** From 16 MiB and below 4 GiB: what 32-bit devices reach. */
    DMA32(0xffff_ffffL),
    /** From 4 GiB on. */
    NORMAL(-1L);

    private final long lastAddress;

    Zone(long lastAddress) {
        this.lastAddress = lastAddress;
    }

    /**
     * Finds the zone of an address.
     *
     * @param physAddr a physical address
     * @return the zone that it lies in
     */
    public static Zone of(long physAddr) {
        if (Addresses.lessOrEqual(physAddr, DMA.lastAddress)) {
            return DMA;
        }
        return Addresses.lessOrEqual(physAddr, DMA32.lastAddress) ? DMA32 : NORMAL;
    }

    /**
     * Gives the end of the zone.
     *
     * @return the last physical address in it, unsigned
     */
    public long lastAddress() {
        return lastAddress;
    }
}
