package io.pagewalk.cli;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options of {@code pagewalk compare --expect-addresses}. */
final class ExpectOptions {
    @Option(
            names = "--expect-addresses",
            description =
                    "Replay on the recording backend alone, in the trace's order, CPUs and time; show how many recorded "
                            + "addresses came out, and each that did not.")
    private boolean asked;

    @Option(
            names = "--dmesg",
            paramLabel = "FILE",
            description =
                    "Boot log of the recording machine, plain or gzip: CPUs, bounce pool, IOMMU width and mode, windows of the "
                            + "host bridge, drivers. What it lacks, a machine file can tell. Needed with a TRACE; the trace that "
                            + "comes with the command has its own.")
    private @Nullable Path dmesg;

    @Option(
            names = "--timers",
            paramLabel = "FILE",
            description =
                    "Record of the flush queue's timers of a lazy IOMMU: timer_start and timer_expire_entry of fq_flush_timeout "
                            + "as tracefs prints them, on the trace's clock. Without it, addresses of a lazy IOMMU are judged by validity.")
    private @Nullable Path timers;

    /** For picocli. */
    ExpectOptions() {}

    boolean isAsked() {
        return asked;
    }

    @Nullable Path dmesg() {
        return dmesg;
    }

    @Nullable Path timers() {
        return timers;
    }

    /** Refuses combinations that make no sense. */
    void check(CommandLine command, boolean hasTrace, List<String> replayOnly) {
        if (!asked && (dmesg != null || timers != null)) {
            String option = dmesg != null ? "--dmesg" : "--timers";
            throw new ParameterException(command, option + " goes with --expect-addresses only");
        }
        if (asked && hasTrace && dmesg == null) {
            throw new ParameterException(
                    command,
                    "--expect-addresses needs --dmesg FILE, the boot log of the machine that recorded the trace");
        }
        for (String option : replayOnly) {
            if (asked && command.getParseResult().hasMatchedOption(option)) {
                throw new ParameterException(
                        command,
                        option + " does not go with --expect-addresses, which replays the recording backend alone");
            }
        }
    }
}
