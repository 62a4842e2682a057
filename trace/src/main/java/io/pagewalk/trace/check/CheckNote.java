package io.pagewalk.trace.check;

/** What of a trace could not be checked, or not fully. Each is counted, none is a report. */
public enum CheckNote {
    /** A free of nothing: the event is written before the kernel's check for a null pointer. */
    FREES_OF_NOTHING("frees of a null pointer, which the kernel ignores"),
    /** A buffer, a list or memory that could not be mapped. */
    FAILED_MAPS("maps and allocations that failed when recorded"),
    /** A list of more entries than the kernel prints. */
    CUT_LISTS("lists of more than the 128 entries that the kernel prints, checked in those"),
    /** An unmap of a list that was not seen mapped: its line has no DMA address to report. */
    UNKNOWN_LISTS("unmaps of lists that the trace did not see mapped: their lines have no DMA address to check"),
    /**
     * A mark of lost events stands behind the loss, so that what looks unknown before the first one may have been lost.
     */
    UNKNOWN_ADDRESSES(
            "unmaps and syncs of unknown addresses before the first gap, whose mark comes later than the loss"),
    /** Events are missing. */
    GAPS("gaps: what was live before is forgotten, and addresses that are not known are not reported after");

    private final String meaning;

    CheckNote(String meaning) {
        this.meaning = meaning;
    }

    /**
     * What is counted.
     *
     * @return one phrase, in the plural
     */
    public String meaning() {
        return meaning;
    }
}
