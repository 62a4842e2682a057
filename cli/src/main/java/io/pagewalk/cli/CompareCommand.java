package io.pagewalk.cli;

import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.AddressCollisionException;
import io.pagewalk.trace.replay.MachineSpec;
import io.pagewalk.trace.replay.ReplayEngine;
import io.pagewalk.trace.replay.ReplayOptions;
import io.pagewalk.trace.replay.ReplayResult;
import io.pagewalk.trace.replay.Touch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code pagewalk compare}: one recorded workload through every backend, side by side. */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "Replay a recorded workload on every backend and show what it does and costs on each.",
        description = {
            "",
            "Each DMA call of the trace is made on one emulated machine per backend, with the trace's physical addresses, CPUs and times. While "
                    + "a buffer is mapped, data moves through the device's bus and is compared with what the CPU wrote or will read.",
            "",
            "A mapping that fails is a result, not an error: the exit status is 0 unless data did not match or an invariant broke.",
            "",
            "With --expect-addresses the calls are made on one machine only, like the one that recorded the trace, and every DMA address is "
                    + "compared with the recorded one. Boot log (--dmesg) and machine file (--machine) tell what that machine was like. The trace must begin with the first mapping after boot "
                    + "(trace_event=dma:*,iommu:*,swiotlb:* on the kernel command line): what came before it decides over all later addresses."
        },
        optionListHeading = "%nOptions:%n",
        parameterListHeading = "%n",
        footerHeading = "%nRows of the table:%n",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:no mismatch on any backend",
            " 1:data did not match, an invariant broke, or an address did not come out",
            " 2:wrong usage",
            "66:the trace or a file that goes with it cannot be read or does not tell enough, or the JSON file not be written",
            "70:a fault of ours; --debug shows where"
        })
final class CompareCommand implements Callable<Integer> {
    /** Events of a quick look. */
    private static final long QUICK_EVENTS = 4000;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Mixin
    @SuppressWarnings("NullAway.Init") // picocli makes it
    private TraceSource trace;

    @Option(
            names = "--backends",
            paramLabel = "NAME",
            split = ",",
            description = "Only these backends, in this order; all by default, those in PAGEWALK_CLASSPATH included.")
    private List<String> backends = List.of();

    @Option(
            names = "--explain",
            description =
                    "Say why maps failed: by reason and size, with what there was at that moment, such as the largest "
                            + "free run of the bounce pool.")
    private boolean explain;

    @Option(names = "--per-device", description = "Add a table for each device.")
    private boolean perDevice;

    @Option(
            names = "--touch",
            paramLabel = "HOW",
            description =
                    "edges: move and compare the first and last 64 bytes of each segment (default). full: every byte.")
    private Touch touch = Touch.EDGES;

    @Option(
            names = "--machine",
            paramLabel = "FILE",
            description =
                    "JSON that tells what a trace does not: memory holes, CPUs, pool size, devices with masks and constraints. "
                            + "docs/user-guide.md describes it.")
    private @Nullable Path machine;

    @Option(names = "--json", paramLabel = "FILE", description = "Write every number to a JSON file as well.")
    private @Nullable Path json;

    @Option(names = "--quick", description = "Replay only the first " + QUICK_EVENTS + " events.")
    private boolean quick;

    @Mixin
    @SuppressWarnings("NullAway.Init") // picocli makes it
    private ExpectOptions expect;

    /** For picocli. */
    CompareCommand() {}

    @Override
    public Integer call() throws IOException, UnusableInputException {
        expect.check(
                spec.commandLine(),
                trace.isGiven(),
                List.of("--backends", "--explain", "--per-device", "--touch", "--quick"));
        requireKnownBackends();
        requireWritableJson();
        return expect.isAsked() ? predict() : compare();
    }

    private int predict() throws IOException, UnusableInputException {
        MachineSpec machineSpec = TraceSource.machine(machine);
        try (ProgressLine progress = ProgressLine.on(spec.commandLine().getErr());
                TraceReader reader = trace.open(progress)) {
            ExpectAddresses prediction = new ExpectAddresses(expect, machineSpec, progress);
            return prediction.run(reader, spec.commandLine().getOut(), json);
        }
    }

    private int compare() throws IOException, UnusableInputException {
        ReplayOptions options =
                ReplayOptions.DEFAULT.withBackends(backends).withTouch(touch).withMachine(TraceSource.machine(machine));
        ReplayResult result = replay(quick ? options.withMaxEvents(QUICK_EVENTS) : options);
        PrintWriter out = spec.commandLine().getOut();
        new CompareReport(result).print(out, perDevice, explain);
        if (json != null) {
            writeJson(result, json);
        }
        return result.ok() ? ExitStatus.OK : ExitStatus.MISMATCH;
    }

    private void requireKnownBackends() {
        for (String name : backends) {
            try {
                DmaBackends.byName(name);
            } catch (IllegalArgumentException unknown) {
                throw new ParameterException(spec.commandLine(), "--backends: " + unknown.getMessage(), unknown);
            }
        }
    }

    /** Said before the replay, not after it; and never at the cost of the input. */
    private void requireWritableJson() throws IOException {
        if (json == null) {
            return;
        }
        Path folder = json.toAbsolutePath().getParent();
        if (json.toString().isEmpty() || Files.isDirectory(json) || folder == null || !Files.isDirectory(folder)) {
            throw new ParameterException(
                    spec.commandLine(), "--json: \"" + json + "\" is not a file in a folder that exists");
        }
        boolean isInput = isSameFile(json, machine) || isSameFile(json, trace.path());
        if (isInput || isSameFile(json, expect.dmesg()) || isSameFile(json, expect.timers())) {
            throw new ParameterException(
                    spec.commandLine(), "--json: " + json + " is the input and would be overwritten");
        }
    }

    static boolean isSameFile(Path output, @Nullable Path input) throws IOException {
        return input != null && Files.exists(output) && Files.exists(input) && Files.isSameFile(output, input);
    }

    private static void writeJson(ReplayResult result, Path file) throws UnusableInputException {
        try {
            CompareJson.write(result, file);
        } catch (IOException failed) {
            throw new UnusableInputException("--json: " + file + " cannot be written: " + failed.getMessage(), failed);
        }
    }

    private ReplayResult replay(ReplayOptions options) throws IOException, UnusableInputException {
        PrintWriter err = spec.commandLine().getErr();
        try (ProgressLine progress = ProgressLine.on(err);
                TraceReader reader = trace.open(progress)) {
            return new ReplayEngine(options.withProgress(progress)).replay(reader);
        } catch (AddressCollisionException collision) {
            throw new UnusableInputException(trace.name() + ": " + collision.getMessage(), collision);
        }
    }
}
