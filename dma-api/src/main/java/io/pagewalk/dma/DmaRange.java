package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;

/**
 * One entry of a device's {@code dma-ranges}: where a run of physical memory appears on its bus.
 *
 * <p>Source: dma-core:DEV-4.
 *
 * @param cpuStart first physical address
 * @param dmaStart the DMA address of that byte
 * @param sizeBytes length in bytes, unsigned, not 0 (0 ends the kernel's array)
 */
public record DmaRange(long cpuStart, long dmaStart, long sizeBytes) {
    /**
     * Refuses an empty entry.
     *
     * @param cpuStart first physical address
     * @param dmaStart its DMA address
     * @param sizeBytes length, not 0
     */
    public DmaRange {
        if (sizeBytes == 0) {
            throw new IllegalArgumentException(
                    "a dma-ranges entry of size 0 at " + Addresses.hex(cpuStart) + " ends the list (DEV-4)");
        }
    }

    /**
     * Whether the entry translates a physical address.
     *
     * @param physAddr the address
     * @return true from the entry's first byte to its last; an entry does not go on at address 0
     */
    public boolean coversPhys(long physAddr) {
        return covers(cpuStart, physAddr);
    }

    /**
     * Whether the entry translates an address on the bus.
     *
     * @param dmaAddr the address
     * @return true from the entry's first byte to its last; an entry does not go on at address 0
     */
    public boolean coversDma(long dmaAddr) {
        return covers(dmaStart, dmaAddr);
    }

    private boolean covers(long start, long address) {
        return Addresses.lessOrEqual(start, address) && Addresses.lessThan(address - start, sizeBytes);
    }
}
