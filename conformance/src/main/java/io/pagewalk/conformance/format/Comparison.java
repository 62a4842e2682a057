package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What the comparison of one line found: how many values were checked how, and where they differ. */
public final class Comparison {
    private final List<Difference> differences = new ArrayList<>();
    private final Map<Informative, Integer> informative = new EnumMap<>(Informative.class);
    private int exact;
    private int byRule;

    /** Starts with nothing compared. */
    Comparison() {}

    /**
     * Counts values checked exactly.
     *
     * @param count how many
     */
    void exact(int count) {
        exact += count;
    }

    /**
     * Counts values checked by rule.
     *
     * @param count how many
     */
    void byRule(int count) {
        byRule += count;
    }

    /**
     * Counts values that are for information only.
     *
     * @param kind why
     * @param count how many
     */
    void informative(Informative kind, int count) {
        informative.merge(kind, count, Integer::sum);
    }

    /**
     * Notes a disagreement.
     *
     * @param path where
     * @param expected what was recorded
     * @param got what the library says
     * @param why the rule, empty for plain equality
     */
    void differ(String path, JsonNode expected, JsonNode got, String why) {
        differences.add(new Difference(path, Json.text(expected), Json.text(got), why));
    }

    /**
     * Values checked exactly.
     *
     * @return the count
     */
    public int exact() {
        return exact;
    }

    /**
     * Values checked by rule.
     *
     * @return the count
     */
    public int byRule() {
        return byRule;
    }

    /**
     * Values for information only.
     *
     * @return counts by kind
     */
    public Map<Informative, Integer> informative() {
        return informative;
    }

    /**
     * Where recording and library disagree.
     *
     * @return in the order of the line's fields
     */
    public List<Difference> differences() {
        return differences;
    }
}
