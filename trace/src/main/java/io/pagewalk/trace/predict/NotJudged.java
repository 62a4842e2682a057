package io.pagewalk.trace.predict;

/** What in a trace has no address to predict, or none that the trace lets one predict. */
public enum NotJudged {
    /** Coherent memory without an IOMMU: its address is that of its pages, which the page allocator picks. */
    ALLOC("coherent allocations (dma_alloc), whose pages the page allocator picks"),
    /** The earlier bounces of a list that could not be mapped: no line tells their addresses. */
    BOUNCE_OF_FAILED_LIST("bounces of failed lists, whose addresses no line tells"),
    /** Entries beyond the 128 that the kernel prints. */
    TRUNCATED("list entries beyond those that the kernel prints"),
    /** A list whose segments an IOMMU merged, on a machine that, as its boot log tells, has none. */
    MERGED_LIST("lists with merged segments, although the boot log tells of no IOMMU that translates"),
    /** Calls of kinds that are not replayed. */
    OTHER_CALL("calls of other kinds (resources, pages, lists of pages)"),
    /** A call that no kernel survives, so that no kernel recorded it: the line is damaged or made up. */
    CALL_IS_A_BUG("maps of direction NONE or of a length of 0, at which a kernel may stop"),
    /** A mapping of an IOMMU on a machine that, as its boot log tells, has none. */
    MAP_WITHOUT_IOMMU("IOMMU mappings, although the boot log tells of no IOMMU that translates"),
    /** An unmap of what was not seen mapped. */
    UNMAP_WITHOUT_MAP("unmaps of what was not seen mapped"),
    /** A mapping of an IOMMU for which no DMA call's line was found. */
    MAP_WITHOUT_CALL("IOMMU mappings that belong to no DMA call (the identity map at boot)"),
    /** A DMA call behind an IOMMU without the lines of its mapping. */
    CALL_WITHOUT_MAP("calls without the map lines that tell when they took their address"),
    /** Places where events are missing: nothing that follows is sure. */
    LOST_EVENTS("gaps of lost events, after which predictions are not sure");

    private final String meaning;

    NotJudged(String meaning) {
        this.meaning = meaning;
    }

    /**
     * Says what is counted.
     *
     * @return one phrase, in the plural
     */
    public String meaning() {
        return meaning;
    }
}
