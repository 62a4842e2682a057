package io.pagewalk.backends.iommu.pgtable;

/** Makes the hardware forget translations that a large page has replaced (iommu:VTD-18). */
@FunctionalInterface
public interface TableFlush {
    /** For tables that no hardware walks yet. */
    TableFlush NONE = (firstIova, lastIova) -> {};

    /**
     * Invalidates a range of the tables' domain, upper levels included.
     *
     * @param firstIova first byte
     * @param lastIova last byte
     */
    void flush(long firstIova, long lastIova);
}
