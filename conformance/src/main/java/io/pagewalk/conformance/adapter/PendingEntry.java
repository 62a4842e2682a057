package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.VectorLine;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * A group of lines that cannot be expected to agree yet.
 *
 * @param text how it is listed: a family, and labels that the lines carry, such as {@code edu op=fault}
 * @param family the family
 * @param labels what the lines carry, by the names {@code boot}, {@code op}, {@code fn}, {@code group}; empty for all
 * @param reason what is missing
 */
public record PendingEntry(String text, String family, Map<String, String> labels, String reason) {
    private static final Set<String> NAMES = Set.of("boot", "op", "fn", "group");

    /**
     * Reads an entry.
     *
     * @param line {@code family [name=value ...] : reason}
     * @return the entry
     * @throws IllegalArgumentException when it is not of that form
     */
    static PendingEntry parse(String line) {
        int colon = line.indexOf(" : ");
        if (colon < 0 || line.substring(colon + 3).isBlank()) {
            throw new IllegalArgumentException("pending entry without a reason: " + line);
        }
        String text = line.substring(0, colon).strip();
        String[] words = text.split(" +", -1);
        Map<String, String> labels = new LinkedHashMap<>();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            if (equals < 0 || !NAMES.contains(words[i].substring(0, equals))) {
                throw new IllegalArgumentException("pending entry with an unknown label: " + line);
            }
            labels.put(words[i].substring(0, equals), words[i].substring(equals + 1));
        }
        return new PendingEntry(
                text, words[0], Map.copyOf(labels), line.substring(colon + 3).strip());
    }

    /**
     * Whether a line belongs to the group.
     *
     * @param lineFamily its family
     * @param boot the boot that it stands in, empty for none
     * @param line the line
     * @return true when all labels fit
     */
    public boolean covers(String lineFamily, String boot, VectorLine line) {
        return family.equals(lineFamily)
                && labels.entrySet().stream()
                        .allMatch(l -> l.getValue().equals(l.getKey().equals("boot") ? boot : line.label(l.getKey())));
    }
}
