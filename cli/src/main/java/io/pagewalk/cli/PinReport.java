package io.pagewalk.cli;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.umem.MemlockBudget;
import io.pagewalk.rdma.umem.Preflight;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** What a preflight found, as a table and a sentence. */
final class PinReport {
    private final List<PinBuffer> buffers;
    private final Preflight preflight;

    PinReport(List<PinBuffer> buffers, Preflight preflight) {
        this.buffers = buffers;
        this.preflight = preflight;
    }

    void print(PrintWriter out) {
        out.println(heading());
        out.println();
        TextTable table = new TextTable(List.of("buffers", "pages", "aligned", "fit", "pinned", "outcome"));
        for (int i = 0; i < buffers.size(); i++) {
            Preflight.Outcome outcome = preflight.outcomes().get(i);
            table.row(
                    buffers.get(i).text(),
                    List.of(
                            count(outcome.request().count()),
                            unsigned(outcome.pagesEach()),
                            unsigned(outcome.alignedPagesEach()),
                            count(outcome.fitting()),
                            count(outcome.pinnedAfter()),
                            outcome.fits() ? "ok" : Errno.name(-outcome.errno())));
        }
        table.print(out);
        out.println();
        out.println(verdict());
    }

    private String heading() {
        MemlockBudget budget = preflight.before();
        String limit = budget.limitBytes() == MemlockBudget.UNLIMITED
                ? "no limit"
                : "limit " + ByteSize.text(budget.limitBytes()) + ", " + count(budget.limitPages()) + " pages";
        return limit + (budget.capIpcLock() ? ", which CAP_IPC_LOCK lifts" : "") + "; pinned so far "
                + count(budget.pinnedPages()) + " pages";
    }

    private String verdict() {
        if (preflight.fits()) {
            return "Every buffer can be registered.";
        }
        String hopeless = hopeless();
        if (preflight.outcomes().stream().allMatch(o -> o.fits() || o.isWrongInItself())) {
            return hopeless;
        }
        return "Registering " + (hopeless.isEmpty() ? "all of them" : "the others") + " needs RLIMIT_MEMLOCK of "
                + limits(preflight.neededLimitBytes()) + ", or CAP_IPC_LOCK." + ifAligned()
                + (hopeless.isEmpty() ? "" : " " + hopeless);
    }

    /** The buffers that are wrong in themselves; empty when none are. */
    private String hopeless() {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < buffers.size(); i++) {
            if (preflight.outcomes().get(i).isWrongInItself()) {
                names.add(buffers.get(i).text());
            }
        }
        return names.isEmpty()
                ? ""
                : "No limit helps " + String.join(", ", names)
                        + ": the range leaves 64 bits, has no page, or has more than 2^32-1.";
    }

    /** The number as the places that set it want it: ulimit in KiB, the others in bytes. */
    private static String limits(long bytes) {
        if (bytes == MemlockBudget.UNLIMITED) {
            return "more than a number can say: unlimited";
        }
        String number = Long.toUnsignedString(bytes);
        return ByteSize.text(bytes) + ": ulimit -l " + Long.toUnsignedString(bytes >>> 10)
                + ", docker run --ulimit memlock=" + number + ":" + number + ", LimitMEMLOCK=" + number
                + " in a unit of systemd";
    }

    private String ifAligned() {
        long aligned = preflight.neededLimitBytesAligned();
        return Long.compareUnsigned(aligned, preflight.neededLimitBytes()) < 0
                ? " If each began a page, " + ByteSize.text(aligned) + " would do."
                : "";
    }

    private static String count(long number) {
        return String.format("%,d", number);
    }

    private static String unsigned(long number) {
        return number < 0 ? Long.toUnsignedString(number) : count(number);
    }
}
