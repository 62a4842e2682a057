package io.pagewalk.kit;

import io.pagewalk.dma.memory.Addresses;

/**
 * A run of device addresses.
 *
 * @param dmaAddr first byte
 * @param sizeBytes length
 */
public record DmaExtent(long dmaAddr, long sizeBytes) {
    /**
     * Whether two runs share an address.
     *
     * @param other the other one
     * @return true when they do
     */
    public boolean overlaps(DmaExtent other) {
        return Addresses.overlaps(dmaAddr, sizeBytes, other.dmaAddr, other.sizeBytes);
    }

    @Override
    public String toString() {
        return Addresses.hexRange(dmaAddr, sizeBytes);
    }
}
