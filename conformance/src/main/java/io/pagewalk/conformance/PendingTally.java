package io.pagewalk.conformance;

import io.pagewalk.conformance.adapter.PendingEntry;

/** Counts for one entry of the pending list while a run is under way. */
final class PendingTally {
    private final PendingEntry entry;
    private long lines;
    private long agreeing;

    PendingTally(PendingEntry entry) {
        this.entry = entry;
    }

    PendingEntry entry() {
        return entry;
    }

    void line(boolean agrees) {
        lines++;
        agreeing += agrees ? 1 : 0;
    }

    PendingResult result() {
        return new PendingResult(entry.text(), entry.reason(), lines, agreeing);
    }
}
