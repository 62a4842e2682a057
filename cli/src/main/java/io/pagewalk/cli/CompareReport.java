package io.pagewalk.cli;

import io.pagewalk.trace.BadLine;
import io.pagewalk.trace.TraceSummary;
import io.pagewalk.trace.replay.BackendResult;
import io.pagewalk.trace.replay.DeviceInfo;
import io.pagewalk.trace.replay.ReplayResult;
import io.pagewalk.trace.replay.Tally;
import io.pagewalk.trace.replay.Touch;
import io.pagewalk.trace.workload.Anomaly;
import java.io.PrintWriter;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import picocli.CommandLine.Help;

/** The comparison as text: what was read, one aligned table, and what a reader should know of it. */
final class CompareReport {
    private static final int MEANING_INDENT = 34;

    private final ReplayResult result;
    private final List<BackendResult> backends;

    CompareReport(ReplayResult result) {
        this.result = result;
        this.backends = result.backends();
    }

    /** What each row of the table means, for the help. */
    static String rowsOfTheTable() {
        Help.TextTable table = Help.TextTable.forColumns(
                Help.defaultColorScheme(Help.Ansi.OFF),
                new Help.Column(MEANING_INDENT, 2, Help.Column.Overflow.SPAN),
                new Help.Column(Pagewalk.HELP_WIDTH - MEANING_INDENT, 0, Help.Column.Overflow.WRAP));
        CompareRows.all().forEach(row -> table.addRowValues(row.label(), row.meaning()));
        return table.toString();
    }

    void print(PrintWriter out, boolean perDevice, boolean explain) {
        printTrace(out);
        if (result.content() != ReplayResult.Content.REPLAYED) {
            out.println(result.content().label());
            return;
        }
        printDevices(out);
        out.println();
        total().print(out);
        if (perDevice) {
            result.devices().forEach(device -> printDevice(out, device));
        }
        if (explain) {
            new CompareExplanation(backends).print(out);
        }
        printNotes(out);
    }

    private void printTrace(PrintWriter out) {
        printSummary(out, result.traceName(), result.summary());
        result.anomalies().forEach((anomaly, count) -> {
            if (anomaly != Anomaly.LOST_EVENTS_GAP) { // the lines on losses say it with their numbers
                out.printf("note     %s %s (%s)%n", CompareRows.count(count), anomaly.label(), anomaly.meaning());
            }
        });
    }

    /** What was read of a trace, and what could not be. */
    static void printSummary(PrintWriter out, String traceName, TraceSummary summary) {
        out.printf(
                "trace    %s: %s, %s lines, %s events%n",
                traceName,
                summary.formats().stream().map(f -> f.label()).collect(Collectors.joining(", ")),
                CompareRows.count(summary.linesRead()),
                CompareRows.count(summary.eventsRead()));
        if (summary.otherEvents() > 0) {
            out.printf("skipped  %s events of other systems%n", CompareRows.count(summary.otherEvents()));
        }
        if (summary.badLineCount() > 0) {
            List<BadLine> first = summary.firstBadLines();
            out.printf(
                    "skipped  %s lines that cannot be parsed, the first at line %d%n",
                    CompareRows.count(summary.badLineCount()), first.get(0).lineNumber());
        }
        printLosses(out, summary);
    }

    private static void printLosses(PrintWriter out, TraceSummary summary) {
        if (summary.lostGaps() > 0) {
            String unknown = summary.lostGapsOfUnknownSize() == 0
                    ? ""
                    : ", " + CompareRows.count(summary.lostGapsOfUnknownSize()) + " of them of unknown size";
            out.printf(
                    "lost     %s events in %s gaps%s%n",
                    CompareRows.count(summary.lostEvents()), CompareRows.count(summary.lostGaps()), unknown);
        }
        if (summary.overwrittenEvents() > 0) {
            out.printf(
                    "lost     %s events overwritten in the ring buffer, as the header tells%n",
                    CompareRows.count(summary.overwrittenEvents()));
        }
    }

    private void printDevices(PrintWriter out) {
        for (DeviceInfo device : result.devices()) {
            out.printf(
                    "device   %s, DMA mask 0x%x (%s)%n",
                    printable(device.name()), device.mask(), device.maskSource().label());
        }
    }

    /** A text of an input must not steer the terminal. */
    static String printable(String name) {
        return name.replaceAll("\\p{Cntrl}", "?");
    }

    private TextTable total() {
        TextTable table = table(BackendResult::total);
        table.heading("What the backend counted");
        add(table, CompareRows.metrics(backends));
        if (result.timerCostNanos() > 0) {
            table.heading("Time of a call on this host, in which two readings of the timer take "
                    + CompareRows.count(result.timerCostNanos()) + " ns");
            add(table, CompareRows.times());
        }
        return table;
    }

    private TextTable table(Function<BackendResult, Tally> of) {
        TextTable table =
                new TextTable(backends.stream().map(BackendResult::name).toList());
        table.heading("Calls");
        add(table, CompareRows.calls(CompareRows.reasons(backends, of), of));
        table.heading("Data, compared in "
                + (result.touch() == Touch.FULL ? "full" : "the first and last 64 bytes of each segment"));
        add(table, CompareRows.data(of));
        return table;
    }

    private void add(TextTable table, List<CompareRows.Row> rows) {
        for (CompareRows.Row row : rows) {
            table.row(row.label(), backends.stream().map(row.cell()).toList());
        }
    }

    private void printDevice(PrintWriter out, DeviceInfo device) {
        out.println();
        out.println("== " + printable(device.name()));
        table(b -> b.byDevice().getOrDefault(device.name(), Tally.ZERO)).print(out);
    }

    private void printNotes(PrintWriter out) {
        out.println();
        for (BackendResult backend : backends) {
            backend.firstMismatches().forEach(text -> out.println("MISMATCH " + backend.name() + ": " + text));
            backend.violations().forEach(text -> out.println("BROKEN   " + backend.name() + ": " + text));
            if (backend.kernelWarnings() > 0) {
                out.println("WARN     " + backend.name() + ": the kernel warned "
                        + CompareRows.count(backend.kernelWarnings()) + " times");
            }
        }
        out.println(
                result.ok()
                        ? "No mismatch. Rows are explained in `pagewalk compare --help`."
                        : "There are mismatches or broken invariants.");
    }
}
