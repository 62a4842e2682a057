package io.pagewalk.cli;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.predict.AddressKind;
import io.pagewalk.trace.predict.BootLog;
import io.pagewalk.trace.predict.Figures;
import io.pagewalk.trace.predict.Miss;
import io.pagewalk.trace.predict.PredictionResult;
import io.pagewalk.trace.predict.PredictionResult.Judgement;
import io.pagewalk.trace.predict.RecordedMachine;
import io.pagewalk.trace.predict.TimerFigures;
import io.pagewalk.trace.replay.MachineFacts.IommuMode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** A prediction as text: what was read, how many addresses came out, and each that did not. */
final class ExpectReport {
    private final BootLog log;
    private final PredictionResult result;
    private final PredictionNotes notes;

    ExpectReport(BootLog log, PredictionResult result, PredictionNotes notes) {
        this.log = log;
        this.result = result;
        this.notes = notes;
    }

    void print(PrintWriter out) {
        CompareReport.printSummary(out, result.traceName(), result.summary());
        out.printf("dmesg    %s%n", log.name());
        printMachine(out);
        result.notJudged()
                .forEach((what, count) -> out.printf("note     %s %s%n", CompareRows.count(count), what.meaning()));
        out.println();
        table().print(out);
        printTimers(out);
        printMisses(out);
        printVerdict(out);
    }

    private void printMachine(PrintWriter out) {
        RecordedMachine machine = result.machine();
        out.printf("machine  %s, CPUs: %d%n", machine.backend(), machine.cpus());
        if (machine.mode() != IommuMode.OFF) {
            out.printf(
                    "iommu    addresses of %d bits, %d reserved ranges%n",
                    machine.iommuWidthBits(), machine.reserved().size());
        } else if (machine.pool() != null) {
            out.printf(
                    "pool     at %s, %s slots in %d areas%n",
                    Addresses.hex(machine.pool().first()), CompareRows.count(machine.poolSlots()), machine.areas());
        }
    }

    private TextTable table() {
        Figures moved = result.overlappedMoved();
        boolean valid = result.judgement() == Judgement.VALID;
        List<String> heads = new ArrayList<>(List.of(valid ? "valid" : "predicted in line order"));
        List<Figures> columns = new ArrayList<>(List.of(result.inLineOrder()));
        if (moved != null) {
            heads.add("with overlapped calls moved");
            columns.add(moved);
        }
        TextTable table = new TextTable(heads);
        for (AddressKind kind : AddressKind.values()) {
            if (result.inLineOrder().judged().containsKey(kind)) {
                table.row(kind.plural(), cells(columns, figures -> count(figures, kind)));
            }
        }
        table.row("all", cells(columns, figures -> of(figures.allPredicted(), figures.allJudged())));
        table.row("", cells(columns, ExpectReport::share));
        return table;
    }

    private static List<String> cells(List<Figures> columns, Function<Figures, String> cell) {
        return columns.stream().map(cell).toList();
    }

    private static String count(Figures figures, AddressKind kind) {
        return of(figures.predicted().getOrDefault(kind, 0L), figures.judged().getOrDefault(kind, 0L));
    }

    private static String of(long part, long all) {
        return CompareRows.count(part) + " of " + CompareRows.count(all);
    }

    /** Rounded down, so that only all of them are 100 %. */
    private static String share(Figures figures) {
        long all = figures.allJudged();
        return all == 0
                ? "-"
                : String.format(Locale.ROOT, "%.2f %%", Math.floor(10_000.0 * figures.allPredicted() / all) / 100);
    }

    private void printTimers(PrintWriter out) {
        TimerFigures timers = result.timers();
        if (timers != null) {
            out.println();
            out.printf(
                    "timers   %d flush queues: armed at %s recorded starts, expired at %s recorded expiries%n",
                    timers.timers(),
                    of(timers.startsMet(), timers.starts()),
                    of(timers.expiriesMet(), timers.expiries()));
        }
    }

    private void printMisses(PrintWriter out) {
        boolean valid = result.judgement() == Judgement.VALID;
        printMisses(out, valid ? "Not valid:" : "Not predicted in line order:", Miss.Order.OF_LINES);
        if (!notes.moves().isEmpty()) {
            heading(out, "Moved: calls that an interrupt overlapped between taking the address and writing the line:");
            notes.moves().forEach(move -> item(out, move.message()));
            left(out, notes.movesLeftOut());
        }
        printMisses(out, "Not predicted with overlapped calls moved:", Miss.Order.OVERLAPPED_MOVED);
        if (notes.missesLeftOut() > 0) {
            out.println();
            left(out, notes.missesLeftOut());
        }
    }

    private void printMisses(PrintWriter out, String heading, Miss.Order order) {
        List<Miss> misses =
                notes.misses().stream().filter(miss -> miss.order() == order).toList();
        if (!misses.isEmpty()) {
            heading(out, heading);
            misses.forEach(miss -> item(out, miss.message()));
        }
    }

    private static void heading(PrintWriter out, String text) {
        out.println();
        out.println(text);
    }

    private static void item(PrintWriter out, String text) {
        out.println("  " + CompareReport.printable(text));
    }

    private static void left(PrintWriter out, long count) {
        if (count > 0) {
            out.println("  and " + CompareRows.count(count) + " more, not listed");
        }
    }

    private void printVerdict(PrintWriter out) {
        boolean valid = result.judgement() == Judgement.VALID;
        out.println();
        if (valid) {
            out.println(
                    "The flush queue's timers were not recorded (--timers), so no address of a lazy IOMMU can be predicted: one is");
            out.println(
                    "valid when it is aligned, within limits, overlaps none, and was not reused before a flush could have come.");
        }
        Figures figures = result.deciding();
        if (figures.allJudged() == 0) {
            out.println("No address could be judged.");
        } else if (figures.isComplete()) {
            out.println("Every recorded address " + (valid ? "is valid" : "came out") + whenMoved() + ".");
        } else {
            long missed = figures.allJudged() - figures.allPredicted();
            out.println(of(missed, figures.allJudged()) + " recorded addresses "
                    + (valid ? "are not valid" : "did not come out") + whenMoved() + ".");
            if (figures.allPredicted() < missed) {
                out.println(
                        "That is more than half: do boot log, machine file and timers belong to the boot that was traced?");
            }
        }
        if (result.machine().mode() == IommuMode.STRICT && !result.inLineOrder().isComplete()) {
            out.println(
                    "After a miss the machine was set right: the call was made again until the recorded address came, so that");
            out.println("each miss stands for itself.");
        }
    }

    private String whenMoved() {
        return result.moves() == 0 ? "" : " once the overlapped calls were moved";
    }
}
