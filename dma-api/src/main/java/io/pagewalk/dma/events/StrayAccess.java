package io.pagewalk.dma.events;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;
import java.util.Locale;

/**
 * A device access that got through to bytes that its driver had not given it: beyond the end of the mapping, before its
 * start, or after the unmap.
 *
 * @param sequence counts the machine's stray accesses from 0
 * @param timeNanos the machine's time
 * @param device who accessed
 * @param dmaAddr first byte of the access
 * @param sizeBytes bytes that got through
 * @param access what was done
 * @param insideBytes how many of them, from the first on, lay in the mapping
 * @param surroundings what lies nearest to the first stray byte, and when it was unmapped, as
 *     {@link MappingLedger#describe(Device, long)} says it
 */
public record StrayAccess(
        long sequence,
        long timeNanos,
        Device device,
        long dmaAddr,
        long sizeBytes,
        Access access,
        long insideBytes,
        String surroundings) {
    /**
     * The first byte that the device had no business with.
     *
     * @return its DMA address
     */
    public long firstStrayAddr() {
        return dmaAddr + insideBytes;
    }

    /**
     * How many bytes the device had no business with.
     *
     * @return at least 1
     */
    public long strayBytes() {
        return sizeBytes - insideBytes;
    }

    @Override
    public String toString() {
        return "DMA " + access.name().toLowerCase(Locale.ROOT) + " by " + device.name() + " at "
                + Addresses.hexRange(dmaAddr, sizeBytes) + " strays from " + Addresses.hex(firstStrayAddr()) + " on, "
                + strayBytes() + " bytes" + surroundings;
    }
}
