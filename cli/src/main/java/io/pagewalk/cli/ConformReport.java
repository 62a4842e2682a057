package io.pagewalk.cli;

import io.pagewalk.conformance.ConformanceResult;
import io.pagewalk.conformance.Disagreement;
import io.pagewalk.conformance.FamilyResult;
import io.pagewalk.conformance.FieldDifference;
import io.pagewalk.conformance.PendingResult;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** What a conformance run found, as text: a table of families, what is pending, the first failing lines. */
final class ConformReport {
    private static final int SHOWN_CHARS = 400;
    private static final List<String> HEADS =
            List.of("lines", "exact", "by rule", "informative", "passed", "failed", "pending");

    private final ConformanceResult result;

    ConformReport(ConformanceResult result) {
        this.result = result;
    }

    void print(PrintWriter out) {
        table().print(out);
        printKinds(out);
        printPending(out);
        result.disagreements().forEach(d -> print(out, d));
        out.println();
        out.println(verdict());
    }

    private TextTable table() {
        TextTable table = new TextTable(HEADS);
        result.families().forEach(f -> table.row(CompareReport.printable(f.name()), cells(List.of(f))));
        table.row("total", cells(result.families()));
        return table;
    }

    private static List<String> cells(List<FamilyResult> families) {
        return List.of(
                sum(families, FamilyResult::lines),
                sum(families, FamilyResult::exact),
                sum(families, FamilyResult::byRule),
                sum(families, FamilyResult::informative),
                sum(families, FamilyResult::passed),
                sum(families, FamilyResult::failed),
                sum(families, FamilyResult::pending));
    }

    private static String sum(List<FamilyResult> families, ToLongFunction<FamilyResult> number) {
        return CompareRows.count(families.stream().mapToLong(number).sum());
    }

    private void printKinds(PrintWriter out) {
        Map<String, Long> kinds = new TreeMap<>();
        result.families().forEach(f -> f.kinds().forEach((kind, count) -> kinds.merge(kind, count, Long::sum)));
        if (!kinds.isEmpty()) {
            out.println();
            out.println("informative  "
                    + kinds.entrySet().stream()
                            .map(k -> k.getKey() + " " + CompareRows.count(k.getValue()))
                            .collect(Collectors.joining(", ")));
        }
        long unchecked =
                result.families().stream().mapToLong(FamilyResult::unchecked).sum();
        if (unchecked != 0) {
            out.printf("unchecked    %s lines are for information only%n", CompareRows.count(unchecked));
        }
    }

    private void printPending(PrintWriter out) {
        if (result.pending().isEmpty()) {
            return;
        }
        TextTable table = new TextTable(List.of("pending lines", "of these agree"));
        for (PendingResult pending : result.pending()) {
            table.row(
                    pending.entry() + ": " + pending.reason(),
                    List.of(CompareRows.count(pending.lines()), CompareRows.count(pending.agreeing())));
        }
        out.println();
        table.print(out);
    }

    private static void print(PrintWriter out, Disagreement failed) {
        out.println();
        out.println(place(failed));
        out.println("  input     " + shown(failed.input()));
        for (FieldDifference difference : failed.differences()) {
            out.println("  " + (difference.path().isEmpty() ? "line" : difference.path()) + because(difference));
            out.println("    expected  " + shown(difference.expected()));
            out.println("    got       " + shown(difference.got()));
        }
    }

    private static String place(Disagreement failed) {
        String line = failed.line() == 0 ? "" : ":" + failed.line();
        String boot = failed.boot() == null ? "" : ", boot " + CompareReport.printable(failed.boot());
        String id = failed.id() == null ? "" : ", id " + failed.id();
        return failed.file() + line + ": " + CompareReport.printable(failed.family()) + boot + id;
    }

    private static String because(FieldDifference difference) {
        return difference.why().isEmpty() ? "" : " (" + difference.why() + ")";
    }

    /** On one line, without control characters, and not endless. */
    private static String shown(String text) {
        String line = CompareReport.printable(text);
        return line.length() <= SHOWN_CHARS
                ? line
                : line.substring(0, SHOWN_CHARS) + "... (" + (line.length() - SHOWN_CHARS) + " more characters)";
    }

    private String verdict() {
        if (result.ok()) {
            return "nothing failed";
        }
        int shown = result.disagreements().size();
        return CompareRows.count(result.failures()) + " failed"
                + (shown < result.failures() ? "; --show " + result.failures() + " shows them all" : "");
    }
}
