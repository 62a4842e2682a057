package io.pagewalk.backends.iommu.api;

import java.util.List;

/**
 * Which pages hardware reads to translate for a device: root table, context table and paging structures. Their bytes
 * stand in the machine's memory.
 *
 * @param requesterId the id that requests of the device carry: bus, device and function
 * @param rootPhysAddr the root table
 * @param widthBits address bits; everything above is blocked
 * @param pages addresses of all pages, ascending
 */
public record TableImage(int requesterId, long rootPhysAddr, int widthBits, List<Long> pages) {
    /**
     * Copies the list.
     *
     * @param requesterId the id
     * @param rootPhysAddr the root table
     * @param widthBits address bits
     * @param pages addresses of all pages
     */
    public TableImage {
        pages = List.copyOf(pages);
    }
}
