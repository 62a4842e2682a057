package io.pagewalk.conformance;

/**
 * What a run found of one entry of the list of pending groups.
 *
 * @param entry the group, such as {@code edu op=fault}
 * @param reason what is missing
 * @param lines lines of the group
 * @param agreeing of these, how many agree already
 */
public record PendingResult(String entry, String reason, long lines, long agreeing) {
    /**
     * Whether the entry says something that is not so: every line of it agrees.
     *
     * @return true when it has to leave the list
     */
    public boolean isStale() {
        return lines > 0 && agreeing == lines;
    }
}
