package io.pagewalk.conformance;

import java.util.Map;

/**
 * What a run found of one family. Each line passed, failed, is pending, or has nothing in it to be checked.
 *
 * @param name the family
 * @param lines its lines
 * @param exact values checked exactly
 * @param byRule values checked by rule
 * @param informative values that are for information only
 * @param passed lines of which every checked value agrees
 * @param failed lines of which one does not, or which are no vectors
 * @param pending lines that the list of pending ones covers
 * @param unchecked lines that are for information only
 * @param kinds how many of the informative values are of which kind
 */
public record FamilyResult(
        String name,
        long lines,
        long exact,
        long byRule,
        long informative,
        long passed,
        long failed,
        long pending,
        long unchecked,
        Map<String, Long> kinds) {
    /**
     * Makes a result.
     *
     * @param name the family
     * @param lines its lines
     * @param exact values checked exactly
     * @param byRule values checked by rule
     * @param informative values that are for information only
     * @param passed lines of which every checked value agrees
     * @param failed lines of which one does not, or which are no vectors
     * @param pending lines that the list of pending ones covers
     * @param unchecked lines that are for information only
     * @param kinds how many of the informative values are of which kind
     */
    public FamilyResult {
        kinds = Map.copyOf(kinds);
    }
}
