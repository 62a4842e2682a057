package io.pagewalk.trace.predict;

/** What a recorded DMA address was given out for; each is one thing to predict. */
public enum AddressKind {
    /** A page mapping: {@code dma_map_page}. */
    PAGE("pages", "page"),
    /** A segment of a list that is mapped piece by piece: {@code dma_map_sg} without an IOMMU. */
    SEGMENT("list segments", "list segment"),
    /** A list that an IOMMU maps as a whole: {@code dma_map_sg}. */
    LIST("lists", "list"),
    /** Coherent memory behind an IOMMU: {@code dma_alloc}. */
    COHERENT("coherent allocations", "coherent allocation"),
    /** A page mapping that failed. */
    FAILED_PAGE("failed pages", "failed page"),
    /** A list that could not be mapped; it left bounces but no line of its own. */
    FAILED_LIST("failed lists", "failed list");

    private final String plural;
    private final String singular;

    AddressKind(String plural, String singular) {
        this.plural = plural;
        this.singular = singular;
    }

    /**
     * Names several.
     *
     * @return the plural
     */
    public String plural() {
        return plural;
    }

    /**
     * Names one.
     *
     * @return the singular
     */
    public String singular() {
        return singular;
    }
}
