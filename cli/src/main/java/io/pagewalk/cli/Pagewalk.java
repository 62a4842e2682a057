package io.pagewalk.cli;

import io.pagewalk.dma.memory.DirectMemoryExhaustedException;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/**
 * The entry point: parses the command line, runs a subcommand, and turns what goes wrong into one line and a status.
 */
@Command(
        name = "pagewalk",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "The Linux kernel's DMA-mapping subsystem as a command: no root, no VM, no hardware.",
        description = {"", "Run a subcommand with --help to learn what it does and what its output means."},
        subcommands = {
            CompareCommand.class,
            CheckCommand.class,
            ConformCommand.class,
            PinCommand.class,
            TablesCommand.class,
            CommandLine.HelpCommand.class
        },
        synopsisSubcommandLabel = "COMMAND",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:all is well (a mapping that failed is a result, not an error)",
            " 1:data did not match, an invariant broke, misuse was found, or a buffer cannot be registered",
            " 2:wrong usage",
            "66:the input cannot be read, or the output not be written",
            "70:a fault of ours; --debug shows where"
        })
public final class Pagewalk implements Runnable {
    /** Columns of the help. */
    static final int HELP_WIDTH = 110;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Option(
            names = "--debug",
            scope = ScopeType.INHERIT,
            description = "Show the stack of an error instead of one line.")
    private boolean debug;

    /** For picocli. */
    Pagewalk() {}

    /**
     * Runs the command and exits.
     *
     * @param args the arguments
     */
    public static void main(String[] args) {
        System.exit(run(new FileOutputStream(FileDescriptor.out), System.err, args));
    }

    /** Runs the command on streams: output that could not be written is an error of its own. */
    static int run(OutputStream out, OutputStream err, String... args) {
        StandardOutput watched = new StandardOutput(new BufferedOutputStream(out));
        PrintWriter errors = writer(err);
        int status = run(writer(watched), errors, args);
        if (watched.failure() == null) {
            return status;
        }
        errors.println("pagewalk: standard output cannot be written: " + watched.failure());
        return status == ExitStatus.OK ? ExitStatus.NO_INPUT : status;
    }

    /** Text goes out in the host's own encoding, as other commands' does. */
    private static PrintWriter writer(OutputStream stream) {
        return new PrintWriter(new OutputStreamWriter(stream, Charset.defaultCharset()), true);
    }

    /**
     * Runs the command.
     *
     * @param out takes results
     * @param err takes errors and progress
     * @param args the arguments
     * @return the exit status
     */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        String unreadable = unreadable(args);
        if (unreadable != null) {
            err.println("pagewalk: " + unreadable);
            err.flush();
            return ExitStatus.NO_INPUT;
        }
        CommandLine command = new CommandLine(new Pagewalk());
        Objects.requireNonNull(command.getSubcommands().get("compare"))
                .getCommandSpec()
                .usageMessage()
                .footer(CompareReport.rowsOfTheTable());
        int status = command.setOut(out)
                .setErr(err)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setUsageHelpWidth(HELP_WIDTH)
                .setParameterExceptionHandler(Pagewalk::wrongUsage)
                .setExecutionExceptionHandler(Pagewalk::report)
                .execute(args);
        out.flush();
        err.flush();
        return status;
    }

    /** The file of an argument {@code @FILE} that is there and cannot be read, or null; picocli would show a stack. */
    private static @Nullable String unreadable(String... args) {
        for (String arg : args) {
            if (!arg.startsWith("@") || arg.length() == 1) {
                continue; // newer JDKs take the empty name for the working directory
            }
            File file = new File(arg.substring(1));
            if (file.isDirectory() || (file.exists() && !file.canRead())) {
                return file + (file.isDirectory() ? ": is a directory" : ": cannot be read");
            }
        }
        return null;
    }

    /** Without a subcommand there is nothing to do: show what there is. */
    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a command is missing, such as: pagewalk compare");
    }

    private static int wrongUsage(ParameterException wrong, String[] args) {
        CommandLine command = wrong.getCommandLine();
        command.getErr().println("pagewalk: " + wrong.getMessage());
        command.getErr().println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        return ExitStatus.USAGE;
    }

    private static int report(Exception error, CommandLine command, ParseResult parsed) {
        Pagewalk top = (Pagewalk) command.getCommandSpec().root().userObject();
        if (top.debug) {
            error.printStackTrace(command.getErr());
        } else {
            command.getErr().println("pagewalk: " + oneLine(error));
        }
        return isInput(error) ? ExitStatus.NO_INPUT : ExitStatus.SOFTWARE;
    }

    private static boolean isInput(Exception error) {
        return error instanceof IOException || error instanceof UnusableInputException;
    }

    private static String oneLine(Exception error) {
        boolean explained = isInput(error) || error instanceof DirectMemoryExhaustedException;
        String text = String.valueOf(error.getMessage()).replaceAll("\\s*\\R\\s*", " ");
        return explained
                ? text
                : "internal error: " + error.getClass().getSimpleName() + ": " + text + " (--debug shows where)";
    }
}
