package io.pagewalk.dma.spi;

/** What backends count, each with a word of meaning. A backend reports those that make sense for it. */
public enum Metric {
    /** Bytes copied through bounce buffers. */
    BYTES_BOUNCED("bytes bounced", "bytes copied between buffers and bounce slots, both ways"),
    /** Slots of the bounce pool. */
    POOL_SLOTS("pool slots", "size of the bounce pool in slots of 2 KiB"),
    /** Most slots in use at once. */
    POOL_PEAK_SLOTS("pool peak slots", "most slots of the pool in use at once"),
    /** Slots in use now. */
    POOL_USED_SLOTS("pool used slots", "slots of the pool in use at the end"),
    /** Slots of transient bounce pools now. */
    POOL_TRANSIENT_SLOTS("transient slots", "slots of pools that serve one mapping each, at the end"),
    /** Most bytes of device addresses allocated at once. */
    IOVA_PEAK_BYTES("IOVA peak", "most bytes of device addresses held by mappings at once"),
    /** Bytes of device addresses held now. */
    IOVA_HELD_BYTES("IOVA held", "bytes of device addresses held by mappings at the end"),
    /** Page-table pages in use. */
    TABLE_PAGES("table pages", "page-table pages in use at the end"),
    /** Most page-table pages in use at once. */
    TABLE_PAGES_PEAK("table pages peak", "most page-table pages in use at once"),
    /** Translations asked of the IOTLB. */
    IOTLB_LOOKUPS("IOTLB lookups", "translations asked of the IOTLB, one per page that a device access touches"),
    /** Translations answered by the IOTLB. */
    IOTLB_HITS("IOTLB hits", "translations the IOTLB answered without walking the tables"),
    /** Page-selective invalidations. */
    INVALIDATIONS_PAGE("invalidations, page", "invalidations of a range of pages of one domain"),
    /** Domain-selective invalidations. */
    INVALIDATIONS_DOMAIN("invalidations, domain", "invalidations of everything of one domain"),
    /** Global invalidations. */
    INVALIDATIONS_GLOBAL("invalidations, global", "invalidations of everything"),
    /** Context-cache invalidations. */
    INVALIDATIONS_CONTEXT("invalidations, context", "invalidations of the context cache"),
    /** Flush-queue flushes. */
    FLUSHES("flushes", "domain flushes by a full flush queue or its timer"),
    /** Translations that failed. */
    TRANSLATION_FAULTS("translation faults", "device accesses that the IOMMU blocked");

    private final String label;
    private final String meaning;

    Metric(String label, String meaning) {
        this.label = label;
        this.meaning = meaning;
    }

    /**
     * A short name for a table's row.
     *
     * @return the label
     */
    public String label() {
        return label;
    }

    /**
     * What is counted.
     *
     * @return one phrase
     */
    public String meaning() {
        return meaning;
    }
}
