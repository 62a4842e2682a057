package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.memory.Addresses;

/**
 * Device addresses that a device's driver may not use as it likes (iommu:CORE-30).
 *
 * @param start first address
 * @param sizeBytes length
 * @param prot bits of {@link IommuProt} with which it is mapped, if it is
 * @param type why it is reserved
 */
public record ReservedRegion(long start, long sizeBytes, int prot, Type type) {

    /** Why a region is reserved; the order is the kernel's. */
    public enum Type {
        /** Firmware keeps it for the device: it must always be mapped to itself. */
        DIRECT("direct"),
        /** As {@link #DIRECT}, but the device can do without under a driver. */
        DIRECT_RELAXABLE("direct-relaxable"),
        /** Not for mappings. */
        RESERVED("reserved"),
        /** Interrupt messages; no mapping is looked at there. */
        MSI("msi"),
        /** Interrupt messages that software maps. */
        SW_MSI("msi");

        private final String text;

        Type(String text) {
            this.text = text;
        }

        /**
         * Its name in a group's {@code reserved_regions} file.
         *
         * @return such as {@code direct-relaxable}
         */
        public String text() {
            return text;
        }
    }

    /**
     * The last address.
     *
     * @return inclusive
     */
    public long last() {
        return Addresses.last(start, sizeBytes);
    }

    /**
     * Says the region as a line of the {@code reserved_regions} file.
     *
     * @return such as {@code 0x00000000fee00000 0x00000000feefffff msi}
     */
    public String line() {
        return String.format("0x%016x 0x%016x %s", start, last(), type.text());
    }
}
