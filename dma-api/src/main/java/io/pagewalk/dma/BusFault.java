package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;

/**
 * A device access that did not reach memory, as the hardware reports it.
 *
 * @param sequence counts the machine's faults from 0
 * @param timeNanos the machine's time
 * @param device who asked
 * @param dmaAddr the address on the bus
 * @param access what was tried
 * @param code the hardware's reason; for VT-d the number of the specification
 */
public record BusFault(long sequence, long timeNanos, Device device, long dmaAddr, Access access, int code) {
    /**
     * The reason in words.
     *
     * @return a short phrase
     */
    public String reason() {
        return device.bus().faultText(code);
    }

    @Override
    public String toString() {
        return "DMA " + access.name().toLowerCase(java.util.Locale.ROOT) + " by " + device.name() + " at "
                + Addresses.hex(dmaAddr) + " blocked: reason " + Addresses.hex(code) + ", " + reason();
    }
}
