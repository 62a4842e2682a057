package io.pagewalk.cli;

import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.check.CheckOptions;
import io.pagewalk.trace.check.CheckResult;
import io.pagewalk.trace.check.TraceCheck;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code pagewalk check}: misuse of the DMA API in a recorded trace. */
@Command(
        name = "check",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "Find misuse of the DMA API in a recorded workload.",
        description = {
            "",
            "Every DMA call of the trace goes through dma-debug as it was recorded, with its own addresses, as if the kernel that recorded it had "
                    + "been built with DMA_API_DEBUG: unmaps of what is not mapped or of another size, direction, count or family, syncs outside a "
                    + "mapping or against its direction, mappings that share a cacheline.",
            "",
            "Each report is one line: what the kernel prints, and then what it cannot say: the live mapping nearest to the address, whose it is, and "
                    + "what was unmapped there last. \"NAME-PID\" is the task that made the call, \"line N\" the line of the trace.",
            "",
            "What a trace does not tell is not checked, and the output says so: it has no dma_mapping_error calls, no stacks, no kernel layout, and no "
                    + "addresses behind coherent memory. Limits of segments are checked for devices of which --machine tells them."
        },
        optionListHeading = "%nOptions:%n",
        parameterListHeading = "%n",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:nothing was found",
            " 1:there are reports",
            " 2:wrong usage",
            "66:the trace or the machine file cannot be read",
            "70:a fault of ours; --debug shows where"
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  pagewalk check trace.txt.gz                  from boot on (trace_event=dma:* on the kernel command line)",
            "  pagewalk check --partial trace.txt           recorded on a running machine: some mappings are older",
            "  pagewalk check --leaks trace.txt             recorded until the drivers were unbound: nothing may be left",
            "  pagewalk check --coherent trace.txt          all devices snoop the caches: cachelines may be shared"
        })
final class CheckCommand implements Callable<Integer> {
    private static final int SHOWN = 100;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Mixin
    @SuppressWarnings("NullAway.Init") // picocli makes it
    private TraceSource trace;

    @Option(
            names = "--partial",
            description =
                    "The trace begins on a running machine: unmaps and syncs of addresses that it has not seen mapped are no misuse. "
                            + "After a gap of lost events that holds without being asked for.")
    private boolean partial;

    @Option(
            names = "--leaks",
            description = "The trace ends after the drivers were unbound: report what each device has left mapped.")
    private boolean leaks;

    @Option(
            names = "--coherent",
            description =
                    "Let mappings share a cacheline, as kernels after 6.12 do where every device snoops the CPU's caches. 6.12 itself "
                            + "reports them everywhere.")
    private boolean coherent;

    @Option(
            names = "--machine",
            paramLabel = "FILE",
            description = "JSON with maxSegmentBytes and segmentBoundaryMask of devices, as for `pagewalk compare`.")
    private @Nullable Path machine;

    @Option(
            names = "--show",
            paramLabel = "N",
            defaultValue = "" + SHOWN,
            description = "Show the first N reports (${DEFAULT-VALUE}); all are counted.")
    private int shown;

    @Option(names = "--json", description = "Print everything as JSON instead of text, with the first N reports.")
    private boolean json;

    /** For picocli. */
    CheckCommand() {}

    @Override
    public Integer call() throws IOException, UnusableInputException {
        if (shown < 0) {
            throw new ParameterException(spec.commandLine(), "--show: " + shown + " reports cannot be shown");
        }
        CheckResult result = check(options());
        if (json) {
            CheckJson.print(result, spec.commandLine().getOut());
        } else {
            new CheckReport(result, machine != null, coherent)
                    .print(spec.commandLine().getOut());
        }
        return result.ok() ? ExitStatus.OK : ExitStatus.MISMATCH;
    }

    private CheckOptions options() throws UnusableInputException {
        DmaDebugProfile profile = coherent ? DmaDebugProfile.COHERENT_PLATFORM : DmaDebugProfile.NON_COHERENT_PLATFORM;
        return new CheckOptions(profile, partial, leaks, TraceSource.machine(machine), shown);
    }

    private CheckResult check(CheckOptions options) throws IOException {
        try (ProgressLine progress = ProgressLine.on(spec.commandLine().getErr());
                TraceReader reader = trace.open(progress)) {
            return TraceCheck.run(trace.name(), reader, options, progress);
        }
    }
}
