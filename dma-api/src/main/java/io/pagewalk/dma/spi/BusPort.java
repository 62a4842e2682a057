package io.pagewalk.dma.spi;

import io.pagewalk.dma.Access;

/**
 * The bus side of a backend for one device: what the wires and the hardware behind them make of a DMA address.
 *
 * <p>It shares emulated memory and registers with the driver side, nothing else. Calls may come from several threads.
 * Each {@link #translate} stands between {@link #beginAccess} and {@link #endAccess} together with the access it is
 * for, so that an invalidation can wait for accesses in flight.
 */
public interface BusPort {
    /** The bit that tells a fault from a physical address; no RAM lies up there. */
    long FAULT_BIT = Long.MIN_VALUE;

    /**
     * Opens the window in which a translation stays usable.
     *
     * @return a token for {@link #endAccess}
     */
    default long beginAccess() {
        return 0;
    }

    /**
     * Translates the first byte of an access.
     *
     * @param dmaAddr the address on the bus
     * @param access what the device does there
     * @return the physical address, or {@link #fault} of a code
     */
    long translate(long dmaAddr, Access access);

    /**
     * Closes the window.
     *
     * @param token what {@link #beginAccess} returned
     */
    default void endAccess(long token) {}

    /** Called after the window of an access that was blocked, here or further on: when hardware sends its interrupt. */
    default void afterBlocked() {}

    /**
     * How far one translation holds.
     *
     * @param dmaAddr an address
     * @return bytes from there on that follow each other physically when the first is translated, at least 1
     */
    default long spanBytes(long dmaAddr) {
        return 4096 - (dmaAddr & 4095);
    }

    /**
     * Whether addresses travel over real wires, whose width then limits them.
     *
     * @return false where they never leave software
     */
    default boolean onWires() {
        return true;
    }

    /**
     * Says a fault code in words.
     *
     * @param code a code that {@link #translate} returned
     * @return a short phrase
     */
    String faultText(int code);

    /**
     * Makes the result of a translation that failed.
     *
     * @param code the hardware's reason, 0 to 0xffff; 0x100 to 0x1ff are those that {@link io.pagewalk.dma.DeviceBus}
     *     names, and it puts them in words itself
     * @return the result
     */
    static long fault(int code) {
        return FAULT_BIT | code;
    }

    /**
     * Tells whether a translation failed.
     *
     * @param result what {@link #translate} returned
     * @return true for a fault
     */
    static boolean isFault(long result) {
        return result < 0;
    }

    /**
     * The reason of a translation that failed.
     *
     * @param result what {@link #translate} returned
     * @return the code
     */
    static int faultCode(long result) {
        return (int) result & 0xffff;
    }
}
