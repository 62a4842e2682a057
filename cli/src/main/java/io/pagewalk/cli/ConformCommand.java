package io.pagewalk.cli;

import io.pagewalk.conformance.ConformanceResult;
import io.pagewalk.conformance.ConformanceRun;
import io.pagewalk.conformance.UnusableVectorsException;
import io.pagewalk.conformance.VectorFile;
import io.pagewalk.conformance.VectorFiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pagewalk conform}: what a real kernel answered, asked of the library. */
@Command(
        name = "conform",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "Replay golden vectors of a real kernel and show, family by family, what agrees.",
        description = {
            "",
            "Each line of a vector file holds what a Linux 6.12 kernel was asked and what it answered. The library is asked the same on a machine "
                    + "like the recorded one, and every value is compared: exactly where it can be, by rule where it depends on more than the "
                    + "line says, and not at all where it is for information only. docs/decisions/0004 names those kinds.",
            "",
            "Groups of lines that the library cannot answer yet stand in one list, are counted as pending, and fail once they pass."
        },
        optionListHeading = "%nOptions:%n",
        parameterListHeading = "%n",
        footerHeading = "%nColumns of the table:%n",
        footer = {
            "  lines        lines of the family; each passed, failed, is pending, or has nothing in it to check",
            "  exact        values compared digit by digit",
            "  by rule      values compared by what must hold of them",
            "  informative  values that are for information only",
            "  passed       lines of which every checked value agrees",
            "  failed       lines of which one does not, or which are no vectors",
            "  pending      lines that the list of pending groups covers"
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:nothing failed",
            " 1:a line failed, or a group listed as pending passes",
            " 2:wrong usage",
            "66:a file cannot be read or holds no vectors",
            "70:a fault of ours; --debug shows where"
        })
final class ConformCommand implements Callable<Integer> {
    private static final int SHOWN = 5;

    /** What the emulated kernels log is compared here, and no news. */
    private static final String KERNEL_LOG_LEVEL = "org.slf4j.simpleLogger.log.io.pagewalk.dma.KernelLog";

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Parameters(
            paramLabel = "FILE|DIR",
            arity = "0..*",
            description =
                    "Vector files, plain or gzip, or directories with *.jsonl and *.jsonl.gz in them. Without one: the "
                            + "vectors that come with the command.")
    private List<Path> paths = List.of();

    @Option(
            names = "--show",
            paramLabel = "N",
            defaultValue = "" + SHOWN,
            description =
                    "Show the first N failing lines with line number, input, expected and got (${DEFAULT-VALUE}).")
    private int shown;

    @Option(names = "--json", description = "Print everything as JSON instead of tables.")
    private boolean json;

    /** For picocli. */
    ConformCommand() {}

    @Override
    public Integer call() throws IOException {
        if (shown < 0) {
            throw new ParameterException(spec.commandLine(), "--show: " + shown + " lines cannot be shown");
        }
        System.setProperty(KERNEL_LOG_LEVEL, "off");
        ConformanceResult result = replay(paths.isEmpty() ? VectorFiles.shipped() : VectorFiles.at(paths));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ConformJson.print(result, out);
        } else {
            new ConformReport(result).print(out);
        }
        return result.ok() ? ExitStatus.OK : ExitStatus.MISMATCH;
    }

    private ConformanceResult replay(List<VectorFile> files) throws UnusableVectorsException {
        try (ProgressLine progress = ProgressLine.on(spec.commandLine().getErr())) {
            return ConformanceRun.of(
                    files, shown, (file, lines) -> progress.show(() -> String.format("%,d lines, in %s", lines, file)));
        }
    }
}
