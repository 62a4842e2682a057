package io.pagewalk.trace.replay;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** The first few things that went wrong, in words; the rest is only counted elsewhere. */
final class Findings {
    private static final int KEPT = 10;

    private final List<String> kept = new ArrayList<>();

    void add(Supplier<String> finding) {
        if (kept.size() < KEPT) {
            kept.add(finding.get());
        }
    }

    List<String> kept() {
        return kept;
    }
}
