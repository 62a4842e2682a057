package io.pagewalk.cli;

import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.MachineSpec;
import io.pagewalk.trace.replay.MachineSpecException;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The trace that a command reads: a file, standard input, or the one that comes with the command. */
final class TraceSource {
    @Parameters(
            paramLabel = "TRACE",
            arity = "0..1",
            description =
                    "Kernel trace text with dma:* events (tracefs, trace-cmd report, perf script), plain or gzip; - for standard "
                            + "input. Without it: a trace of NVMe and network I/O on Linux 6.12 that comes with the command.")
    private @Nullable String trace;

    @Option(names = "--pedantic", description = "Stop at the first line that cannot be parsed, instead of skipping it.")
    private boolean pedantic;

    /** For picocli. */
    TraceSource() {}

    boolean isGiven() {
        return trace != null;
    }

    /** The file that was named; null for what is no file. Standard input counts as a file of its name. */
    @Nullable Path path() {
        return trace == null ? null : Path.of(trace);
    }

    String name() {
        return trace == null ? BundledTrace.NAME : trace;
    }

    /** Opens it; lines that cannot be read are said as they come. */
    TraceReader open(ProgressLine progress) throws IOException {
        TraceReader.Options options = TraceReader.Options.defaults()
                .pedantic(pedantic)
                .listener(bad -> progress.say(bad.message() + ": " + bad.text().strip()));
        if (trace == null) {
            return BundledTrace.open();
        }
        return trace.equals("-")
                ? TraceReader.open(System.in, "standard input", options)
                : TraceReader.open(Path.of(trace), options);
    }

    /** Reads what a user says of the machine; the default without a file. */
    static MachineSpec machine(@Nullable Path file) throws UnusableInputException {
        if (file == null) {
            return MachineSpec.DEFAULT;
        }
        try {
            return MachineSpec.read(file);
        } catch (MachineSpecException bad) {
            throw new UnusableInputException("" + bad.getMessage(), bad);
        }
    }
}
