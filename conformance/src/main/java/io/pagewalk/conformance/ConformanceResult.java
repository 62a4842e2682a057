package io.pagewalk.conformance;

import java.util.List;

/**
 * What a run found.
 *
 * @param families results of all families that occurred, in the order of the report
 * @param pending results of all entries of the list of pending groups that occurred
 * @param disagreements the first failing lines, as many as were to be kept
 * @param failures how many failing lines and stale entries there are
 */
public record ConformanceResult(
        List<FamilyResult> families, List<PendingResult> pending, List<Disagreement> disagreements, long failures) {
    /** The family of lines that belong to none. */
    public static final String UNKNOWN = "(unknown)";

    /**
     * Makes a result.
     *
     * @param families results of all families that occurred, in the order of the report
     * @param pending results of all entries of the list of pending groups that occurred
     * @param disagreements the first failing lines, as many as were to be kept
     * @param failures how many failing lines and stale entries there are
     */
    public ConformanceResult {
        families = List.copyOf(families);
        pending = List.copyOf(pending);
        disagreements = List.copyOf(disagreements);
    }

    /**
     * Whether nothing failed.
     *
     * @return true when no line failed and no entry of the pending list is stale
     */
    public boolean ok() {
        return failures == 0;
    }
}
