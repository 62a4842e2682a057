package io.pagewalk.conformance.adapter;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The one checked-in list of groups of lines that are pending. */
public final class PendingList {
    private static final String RESOURCE = "/io/pagewalk/conformance/pending.txt";

    private PendingList() {}

    /**
     * Reads the list.
     *
     * @return its entries in order
     */
    public static List<PendingEntry> read() {
        try (InputStream stream = PendingList.class.getResourceAsStream(RESOURCE)) {
            if (stream == null) {
                throw new IllegalStateException("the list of pending vectors is not part of this build");
            }
            return parse(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /**
     * Reads entries.
     *
     * @param text one a line; empty lines and lines that start with {@code #} say nothing
     * @return its entries in order
     */
    public static List<PendingEntry> parse(String text) {
        return text.lines()
                .filter(l -> !l.isBlank() && !l.startsWith("#"))
                .map(PendingEntry::parse)
                .toList();
    }
}
