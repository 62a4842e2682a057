package io.pagewalk.cli;

import io.pagewalk.dma.FailureReason;
import io.pagewalk.trace.replay.BackendResult;
import io.pagewalk.trace.replay.FailureGroup;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Why maps failed, as text: a table for each backend and reason, with the reason's numbers at those moments. */
final class CompareExplanation {
    /** Sizes shown of each reason. */
    private static final int MOST_ROWS = 12;

    private final List<BackendResult> backends;

    CompareExplanation(List<BackendResult> backends) {
        this.backends = backends;
    }

    void print(PrintWriter out) {
        out.println();
        out.println("Why maps failed");
        boolean none = true;
        for (BackendResult backend : backends) {
            for (List<FailureGroup> groups : byReason(backend).values()) {
                print(out, backend.name(), groups);
                none = false;
            }
        }
        if (none) {
            out.println("  none did");
            printWhatWasRecorded(out);
        }
    }

    /** The machine that recorded was another one, most often with a smaller pool, which the trace does not tell. */
    private void printWhatWasRecorded(PrintWriter out) {
        long recorded = backends.stream()
                .mapToLong(b -> b.total().recordedFailuresTried())
                .max()
                .orElse(0);
        if (recorded > 0) {
            out.println("  but " + CompareRows.count(recorded)
                    + " had failed when recorded: --machine tells of that machine, such as"
                    + " {\"swiotlb\": {\"slots\": 512}}");
        }
    }

    private static Map<FailureReason, List<FailureGroup>> byReason(BackendResult backend) {
        Map<FailureReason, List<FailureGroup>> groups = new EnumMap<>(FailureReason.class);
        backend.failures()
                .forEach(group -> groups.computeIfAbsent(group.reason(), reason -> new ArrayList<>())
                        .add(group));
        return groups;
    }

    private static void print(PrintWriter out, String backend, List<FailureGroup> groups) {
        FailureReason reason = groups.get(0).reason();
        long count = groups.stream().mapToLong(FailureGroup::count).sum();
        out.println();
        out.println(backend + ": " + CompareRows.count(count) + " maps failed with " + reason + "; what helps: "
                + reason.knob());
        table(reason, groups).print(out);
        printFirst(out, groups);
    }

    private static TextTable table(FailureReason reason, List<FailureGroup> groups) {
        List<String> heads = new ArrayList<>();
        heads.add("maps");
        heads.addAll(reason.labels());
        TextTable table = new TextTable(heads);
        for (FailureGroup group : groups.subList(0, Math.min(groups.size(), MOST_ROWS))) {
            table.row(size(group), cells(group));
        }
        if (groups.size() > MOST_ROWS) {
            List<String> rest = new ArrayList<>(heads);
            rest.replaceAll(head -> "");
            rest.set(
                    0,
                    CompareRows.count(groups.stream()
                            .skip(MOST_ROWS)
                            .mapToLong(FailureGroup::count)
                            .sum()));
            table.row("other sizes", rest);
        }
        return table;
    }

    private static String size(FailureGroup group) {
        return group.sizeBytes() < 0 ? "yet other sizes" : CompareRows.count(group.sizeBytes()) + " bytes";
    }

    private static List<String> cells(FailureGroup group) {
        List<String> cells = new ArrayList<>();
        cells.add(CompareRows.count(group.count()));
        for (int i = 0; i < group.numbers().size(); i++) {
            FailureGroup.Range range = group.numbers().get(i);
            String lowest = group.reason().numberText(i, range.lowest());
            String highest = group.reason().numberText(i, range.highest());
            cells.add(lowest.equals(highest) ? lowest : lowest + " to " + highest);
        }
        return cells;
    }

    private static void printFirst(PrintWriter out, List<FailureGroup> groups) {
        FailureGroup earliest = groups.get(0);
        for (FailureGroup group : groups) {
            if (group.firstLine() < earliest.firstLine()) {
                earliest = group;
            }
        }
        out.println("  the first at line " + CompareRows.count(earliest.firstLine()) + ", "
                + CompareReport.printable(earliest.firstDevice()) + ": " + earliest.first());
    }
}
