package io.pagewalk.conformance;

import io.pagewalk.conformance.format.Comparison;
import io.pagewalk.conformance.format.Informative;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Counts for one family while a run is under way. */
final class FamilyTally {
    private final String name;
    private final Map<String, Long> kinds = new TreeMap<>();
    private long exact;
    private long byRule;
    private long informative;
    private long passed;
    private long failed;
    private long pending;
    private long unchecked;

    FamilyTally(String name) {
        this.name = name;
    }

    /** Counts a line that was answered and is not pending; tells whether it failed. */
    boolean compared(Comparison comparison) {
        exact += comparison.exact();
        byRule += comparison.byRule();
        comparison.informative().forEach(this::note);
        if (!comparison.differences().isEmpty()) {
            failed++;
            return true;
        }
        if (comparison.exact() + comparison.byRule() == 0
                && !comparison.informative().isEmpty()) {
            unchecked++;
        } else {
            passed++;
        }
        return false;
    }

    private void note(Informative kind, int count) {
        informative += count;
        kinds.merge(kind.name().toLowerCase(Locale.ROOT), (long) count, Long::sum);
    }

    void failed() {
        failed++;
    }

    void pending() {
        pending++;
    }

    FamilyResult result() {
        return new FamilyResult(
                name,
                passed + failed + pending + unchecked,
                exact,
                byRule,
                informative,
                passed,
                failed,
                pending,
                unchecked,
                kinds);
    }
}
