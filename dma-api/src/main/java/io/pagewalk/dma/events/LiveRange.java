package io.pagewalk.dma.events;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;

/**
 * A range of DMA addresses that a driver holds: a mapping, a segment of a list, or an allocation.
 *
 * @param device whose it is
 * @param dmaAddr first byte
 * @param sizeBytes length
 * @param direction its direction
 * @param kind which family of calls made it
 * @param physAddr physical address behind the first byte, or {@link #UNKNOWN_PHYS_ADDR}
 * @param owner who it is for; empty when nobody said
 * @param call which call made it, counted from 1; the segments of a list share one
 * @param sinceNanos when it was made
 */
public record LiveRange(
        Device device,
        long dmaAddr,
        long sizeBytes,
        DmaDirection direction,
        Kind kind,
        long physAddr,
        String owner,
        long call,
        long sinceNanos) {
    /** Stands for a physical address that the listener is not told: coherent memory may lie apart. */
    public static final long UNKNOWN_PHYS_ADDR = -1L;

    /** Families of calls. */
    public enum Kind {
        /** {@code dma_map_page}, {@code dma_map_single}, {@code dma_map_resource}. */
        PAGE("page mapping", false),
        /** {@code dma_map_sg} and {@code dma_alloc_noncontiguous}: one segment. */
        SG("sg mapping", false),
        /** {@code dma_alloc_attrs}, {@code dma_alloc_coherent}. */
        COHERENT("coherent memory", true),
        /** {@code dma_alloc_pages}, {@code dma_alloc_noncoherent}. */
        PAGES("pages", true);

        private final String label;
        private final boolean allocation;

        Kind(String label, boolean allocation) {
            this.label = label;
            this.allocation = allocation;
        }

        /**
         * The family in words.
         *
         * @return a short phrase
         */
        public String label() {
            return label;
        }

        /**
         * Whether the memory itself is held, not only a mapping of it.
         *
         * @return true for allocations
         */
        public boolean isAllocation() {
            return allocation;
        }
    }

    LiveRange of(String newOwner) {
        return new LiveRange(device, dmaAddr, sizeBytes, direction, kind, physAddr, newOwner, call, sinceNanos);
    }

    /**
     * How many bytes from an address on lie inside.
     *
     * @param address the address
     * @return 0 when it lies outside
     */
    public long bytesFrom(long address) {
        long offset = address - dmaAddr;
        return Addresses.lessThan(offset, sizeBytes) ? sizeBytes - offset : 0;
    }

    /**
     * Says it in a phrase.
     *
     * @return such as {@code page mapping 0x1000+0x20 TO_DEVICE of rx ring}
     */
    public String describe() {
        return kind.label() + " " + Addresses.hexRange(dmaAddr, sizeBytes) + " " + direction
                + (owner.isEmpty() ? "" : " of " + owner);
    }
}
