package io.pagewalk.conformance;

import io.pagewalk.conformance.adapter.Families;
import io.pagewalk.conformance.adapter.Family;
import io.pagewalk.conformance.adapter.PendingEntry;
import io.pagewalk.conformance.adapter.PendingList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Replays files of vectors and counts what agrees. Good for one run, by one thread. */
public final class ConformanceRun {
    private final Families families = Families.all();
    private final Map<String, FamilyTally> tallies = new LinkedHashMap<>();
    private final List<PendingTally> pending;
    private final List<Disagreement> disagreements = new ArrayList<>();
    private final int kept;
    private long failures;
    private long lines;

    private ConformanceRun(int kept, List<PendingEntry> pendingEntries) {
        this.kept = kept;
        this.pending = pendingEntries.stream().map(PendingTally::new).toList();
    }

    /**
     * Replays files.
     *
     * @param files the files, in this order
     * @param kept how many failing lines to describe at most
     * @param progress is told of each line
     * @return what agreed
     * @throws UnusableVectorsException when a file cannot be read, or holds no vectors
     */
    public static ConformanceResult of(List<VectorFile> files, int kept, ConformanceProgress progress)
            throws UnusableVectorsException {
        return of(files, kept, progress, PendingList.read());
    }

    static ConformanceResult of(
            List<VectorFile> files, int kept, ConformanceProgress progress, List<PendingEntry> pendingEntries)
            throws UnusableVectorsException {
        ConformanceRun run = new ConformanceRun(kept, pendingEntries);
        for (VectorFile file : files) {
            run.replay(file, progress);
        }
        return run.result();
    }

    private void replay(VectorFile file, ConformanceProgress progress) throws UnusableVectorsException {
        try (VectorText text = file.open();
                FileReplay replay = new FileReplay(file.name(), this)) {
            for (String line = text.next(); line != null; line = text.next()) {
                replay.line(text.lineNumber(), line);
                progress.progress(file.name(), ++lines);
            }
            replay.requireVectors();
        }
    }

    @Nullable Family family(String name) {
        return families.find(name);
    }

    FamilyTally tally(String family) {
        return tallies.computeIfAbsent(family, FamilyTally::new);
    }

    List<PendingTally> pending() {
        return pending;
    }

    /** Counts a failure and describes it if there is room for it. */
    void fail(Supplier<Disagreement> disagreement) {
        failures++;
        if (disagreements.size() < kept) {
            disagreements.add(disagreement.get());
        }
    }

    private ConformanceResult result() {
        List<PendingResult> entries = pending.stream()
                .map(PendingTally::result)
                .filter(p -> p.lines() > 0)
                .toList();
        entries.stream().filter(PendingResult::isStale).forEach(this::failStale);
        return new ConformanceResult(
                tallies.values().stream().map(FamilyTally::result).toList(), entries, disagreements, failures);
    }

    private void failStale(PendingResult stale) {
        String family = stale.entry().split(" ", 2)[0];
        fail(() -> new Disagreement(
                "pending.txt",
                0,
                family,
                null,
                null,
                stale.entry(),
                List.of(new FieldDifference(
                        "", "listed as pending", "all " + stale.lines() + " lines agree", "take it off the list"))));
    }
}
