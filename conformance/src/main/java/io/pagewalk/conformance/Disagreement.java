package io.pagewalk.conformance;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A line that failed.
 *
 * @param file the file
 * @param line its number in there, from 1; 0 when it is not about one line
 * @param family the family, or {@link ConformanceResult#UNKNOWN}
 * @param boot the boot that the line stands in, or null
 * @param id its number in the boot, or null
 * @param input what it asks, as JSON; the line itself when it is no vector
 * @param differences what disagrees, at least one
 */
public record Disagreement(
        String file,
        int line,
        String family,
        @Nullable String boot,
        @Nullable String id,
        String input,
        List<FieldDifference> differences) {
    /**
     * Makes a disagreement.
     *
     * @param file the file
     * @param line its number in there, from 1; 0 when it is not about one line
     * @param family the family, or {@link ConformanceResult#UNKNOWN}
     * @param boot the boot that the line stands in, or null
     * @param id its number in the boot, or null
     * @param input what it asks, as JSON; the line itself when it is no vector
     * @param differences what disagrees, at least one
     */
    public Disagreement {
        differences = List.copyOf(differences);
    }
}
