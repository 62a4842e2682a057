package io.pagewalk.trace.workload;

/** What in a trace does not fit together or cannot be replayed. Each is counted, none stops a replay. */
public enum Anomaly {
    /** A gap: events are missing from here on. */
    LOST_EVENTS_GAP("gaps of lost events", "places where events are missing from the trace"),
    /** A list mapped through an IOMMU without the {@code map} lines that tell its segments' lengths. */
    NOT_REPLAYABLE_LIST(
            "lists not replayable", "lists merged by an IOMMU whose lengths no map lines tell (not recorded, or lost)"),
    /** A list of more entries than the kernel prints. */
    TRUNCATED_LIST("lists truncated", "lists of more than the 128 entries that the kernel prints, left out"),
    /** A list that could not be mapped on the recording machine: only its bounces show, not its lengths. */
    FAILED_LIST_LENGTHS_UNKNOWN(
            "failed lists, lengths unknown",
            "lists that failed when recorded: they left bounces (or an error line) but no lengths, left out"),
    /** An unmap of an address or a list that nothing live has. */
    UNMAP_WITHOUT_MAP("unmaps without a map", "unmaps of what was not seen mapped, left out"),
    /** An unmap with another size or direction than its map. */
    UNMAP_DIFFERS_FROM_MAP("unmaps that differ", "unmaps with another size or direction than the map at that address"),
    /** A sync of an address that nothing live has. */
    SYNC_WITHOUT_MAP("syncs without a map", "syncs of what was not seen mapped, left out"),
    /** A free of an address that no live allocation has. */
    FREE_WITHOUT_ALLOC("frees without an alloc", "frees of what was not seen allocated, left out"),
    /** A mapping or allocation whose end was lost, as a later one at its address shows. */
    IMPLIED_UNMAP("unmaps implied", "mappings and allocations ended because their address was handed out again"),
    /** An event of the DMA API that has no counterpart in a replay. */
    NOT_REPLAYED_CALL(
            "calls not replayed", "calls of kinds that are not replayed: resources, page and list allocations"),
    /** A map that no kernel survives: without a direction, or of no bytes (dma-core:TYP-6, SWM-12). */
    CALL_IS_A_BUG(
            "calls that are bugs", "maps of direction NONE or of a length of 0, at which a kernel may stop, left out"),
    /** An event on a CPU that the replaying machine lacks. */
    CPU_BEYOND_MACHINE("events on other CPUs", "events of a CPU that the machine lacks, replayed on CPU modulo CPUs");

    private final String label;
    private final String meaning;

    Anomaly(String label, String meaning) {
        this.label = label;
        this.meaning = meaning;
    }

    /**
     * A short name for a list of counts.
     *
     * @return the label, in the plural
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
