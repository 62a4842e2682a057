package io.pagewalk.backends.iommu.api;

/** What a domain does with the addresses of its devices (iommu:CORE-1). */
public enum IommuDomainType {
    /** Every access faults. */
    BLOCKED(0, "Blocked", "blocked"),
    /** Whoever allocated it maps what he likes. */
    UNMANAGED(1, "Unmanaged", "unmanaged"),
    /** The DMA API's, every unmap invalidated at once. */
    DMA(3, "Translated", "DMA"),
    /** Addresses pass as they are. */
    IDENTITY(4, "Passthrough", "identity"),
    /** The DMA API's, unmaps flushed together. */
    DMA_FQ(11, "Translated", "DMA-FQ");

    private static final int PAGING = 1;
    private static final int DMA_API = 2;

    private final int bits;
    private final String text;
    private final String sysfsName;

    IommuDomainType(int bits, String text, String sysfsName) {
        this.bits = bits;
        this.text = text;
        this.sysfsName = sysfsName;
    }

    /**
     * The kernel's number.
     *
     * @return its flag bits
     */
    public int bits() {
        return bits;
    }

    /**
     * The kernel's name of it in its log.
     *
     * @return such as {@code Translated}
     */
    public String text() {
        return text;
    }

    /**
     * Its name in a group's {@code type} file (iommu:CORE-9).
     *
     * @return such as {@code DMA-FQ}
     */
    public String sysfsName() {
        return sysfsName;
    }

    /**
     * Whether it has tables.
     *
     * @return true where mappings can be made
     */
    public boolean isPaging() {
        return (bits & PAGING) != 0;
    }

    /**
     * Whether the DMA API makes its mappings.
     *
     * @return true for {@link #DMA} and {@link #DMA_FQ}
     */
    public boolean isDmaApi() {
        return (bits & DMA_API) != 0;
    }
}
