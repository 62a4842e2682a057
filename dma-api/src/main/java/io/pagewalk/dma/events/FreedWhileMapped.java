package io.pagewalk.dma.events;

import io.pagewalk.dma.memory.Addresses;

/**
 * A page went back to its allocator while a device could still reach it: the next owner's data will be the device's
 * (case E14).
 *
 * @param physAddr first byte of the page
 * @param mapping what leads to it: a mapping, or a segment of a list
 * @param atNanos when it was freed
 */
public record FreedWhileMapped(long physAddr, LiveRange mapping, long atNanos) {
    /**
     * Says it in a line.
     *
     * @return such as {@code page 0x1000 is freed while nic maps it: page mapping 0x1ff0+0x20 FROM_DEVICE of rx, mapped
     *     7 ns ago}
     */
    public String describe() {
        return "page " + Addresses.hex(physAddr) + " is freed while "
                + mapping.device().name() + " maps it: " + mapping.describe() + ", mapped "
                + (atNanos - mapping.sinceNanos()) + " ns ago";
    }
}
