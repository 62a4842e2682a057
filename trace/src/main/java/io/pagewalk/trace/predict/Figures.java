package io.pagewalk.trace.predict;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * How many recorded addresses came out.
 *
 * @param judged addresses that could be predicted, by kind
 * @param predicted those of them that came out as recorded
 */
public record Figures(Map<AddressKind, Long> judged, Map<AddressKind, Long> predicted) {
    /**
     * Copies the maps.
     *
     * @param judged addresses by kind
     * @param predicted those that came out
     */
    public Figures {
        judged = copy(judged);
        predicted = copy(predicted);
    }

    private static Map<AddressKind, Long> copy(Map<AddressKind, Long> counts) {
        Map<AddressKind, Long> copy = new EnumMap<>(AddressKind.class);
        copy.putAll(counts);
        return Collections.unmodifiableMap(copy);
    }

    /**
     * All addresses that were judged.
     *
     * @return the sum over all kinds
     */
    public long allJudged() {
        return sum(judged);
    }

    /**
     * All addresses that came out as recorded.
     *
     * @return the sum over all kinds
     */
    public long allPredicted() {
        return sum(predicted);
    }

    /**
     * Whether every judged address came out.
     *
     * @return true when none was missed
     */
    public boolean isComplete() {
        return allJudged() == allPredicted();
    }

    private static long sum(Map<AddressKind, Long> counts) {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }
}
