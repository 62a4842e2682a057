package io.pagewalk.cli;

import io.pagewalk.dma.debug.DebugDevice;
import io.pagewalk.dma.debug.DebugMapping;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.trace.check.CheckResult;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What dma-debug found in a trace, as text: what was read, the reports, a summary by kind, what was not checked. */
final class CheckReport {
    private final CheckResult result;
    private final boolean limitsKnown;
    private final boolean coherent;

    CheckReport(CheckResult result, boolean limitsKnown, boolean coherent) {
        this.result = result;
        this.limitsKnown = limitsKnown;
        this.coherent = coherent;
    }

    void print(PrintWriter out) {
        CompareReport.printSummary(out, CompareReport.printable(result.traceName()), result.summary());
        out.printf(
                "checked  %s calls of the DMA API; the kernel's dma-debug would have needed %s of its %s entries%n",
                CompareRows.count(result.calls()),
                CompareRows.count(result.totalEntries() - result.minFreeEntries()),
                CompareRows.count(result.totalEntries()));
        result.notes()
                .forEach((note, count) -> out.printf("note     %s %s%n", CompareRows.count(count), note.meaning()));
        printLive(out);
        out.println("off      dma_mapping_error (DBG-30, DBG-31, DBG-47): a trace has no such calls");
        out.println("off      stack, vmalloc and kernel text (DBG-10, DBG-16, DBG-17): a trace has no kernel layout");
        out.println("off      CPU address and cachelines of coherent memory (DBG-44): a trace hashes its addresses");
        if (!limitsKnown) {
            out.println("off      limits of segments (DBG-25): --machine tells them");
        }
        if (coherent) {
            out.println("off      shared cachelines (DBG-21, DBG-22): --coherent");
        }
        printReports(out);
        printCounts(out);
        out.println();
        out.println(verdict());
    }

    private void printLive(PrintWriter out) {
        Map<String, Long> byDevice = result.live().stream()
                .collect(Collectors.groupingBy(CheckReport::device, TreeMap::new, Collectors.counting()));
        if (!byDevice.isEmpty()) {
            String list = byDevice.entrySet().stream()
                    .map(e -> e.getKey() + " " + CompareRows.count(e.getValue()))
                    .collect(Collectors.joining(", "));
            out.println("left     mapped when the trace ends: " + list);
        }
    }

    private static String device(DebugMapping mapping) {
        DebugDevice device = mapping.device();
        return device == null ? "no device" : CompareReport.printable(device.name());
    }

    private void printReports(PrintWriter out) {
        if (!result.reports().isEmpty()) {
            out.println();
            result.reports().forEach(report -> out.println(CompareReport.printable(report.line())));
        }
    }

    private void printCounts(PrintWriter out) {
        if (result.ok()) {
            return;
        }
        TextTable table = new TextTable(List.of("reports"));
        for (Map.Entry<DmaDebugKind, Long> kind : result.counts().entrySet()) {
            table.row(kind.getKey().text(), List.of(CompareRows.count(kind.getValue())));
        }
        out.println();
        table.print(out);
    }

    private String verdict() {
        if (result.ok()) {
            return "No misuse found.";
        }
        long more = result.reportCount() - result.reports().size();
        return CompareRows.count(result.reportCount()) + " reports"
                + (more == 0 ? "." : "; --show " + result.reportCount() + " shows them all.");
    }
}
