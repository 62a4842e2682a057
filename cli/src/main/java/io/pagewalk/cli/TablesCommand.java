package io.pagewalk.cli;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.AddressCollisionException;
import io.pagewalk.trace.replay.ReplayEngine;
import io.pagewalk.trace.replay.ReplayOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pagewalk tables}: VT-d tables as bytes, and what a unit makes of them, for another implementation. */
@Command(
        name = "tables",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "Write VT-d tables as bytes, with addresses and what the unit makes of them.",
        description = {
            "",
            "For whoever has a VT-d implementation of their own: put the pages at their addresses, set the root pointer, and each probe must come "
                    + "out as it says. The tables are those of the mappings of a trace at the moment when most of them are live (--events chooses another), or of random ones.",
            "",
            "Each line is a JSON object about one device: \"sid\" its requester id, \"root\" the address of the root table (legacy mode), \"aw\" the "
                    + "width in bits, \"pages\" [address, hexadecimal bytes] of every root, context and table page, \"probes\" [device address, physical "
                    + "address or null for a fault, access], where the access is \"r\", \"w\", or \"rw\" for both. Device addresses are "
                    + "multiples of 8 within the width."
        },
        optionListHeading = "%nOptions:%n",
        parameterListHeading = "%n",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:the tables were written",
            " 2:wrong usage",
            "66:the trace cannot be read, or the file not be written",
            "70:a fault of ours; --debug shows where"
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  pagewalk tables --random 2000 --out tables.json    2,000 random mappings, the same ones each time",
            "  pagewalk tables --random 50 --width 39 --seed 7    other ones, in three levels",
            "  pagewalk tables trace.txt.gz                       a line for each device of the trace"
        })
final class TablesCommand implements Callable<Integer> {
    private static final int MOST_RANDOM = 1_000_000;
    private static final List<String> BACKEND = List.of("iommu-strict");

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Parameters(
            paramLabel = "TRACE",
            arity = "0..1",
            description =
                    "Kernel trace text with dma:* events (tracefs, trace-cmd report, perf script), plain or gzip; - for standard "
                            + "input. Without it and without --random: the trace that comes with the command.")
    private @Nullable String trace;

    @Option(
            names = "--events",
            paramLabel = "N",
            description = "Take the tables after the first N events of the trace.")
    private @Nullable Long events;

    @Option(names = "--random", paramLabel = "N", description = "Make N random mappings in place of those of a trace.")
    private @Nullable Integer count;

    @Option(
            names = "--seed",
            paramLabel = "S",
            defaultValue = "1",
            description = "Which random mappings and probes (${DEFAULT-VALUE}).")
    private long seed;

    @Option(
            names = "--width",
            paramLabel = "BITS",
            defaultValue = "48",
            description =
                    "Address width of the unit with --random, 31 to 57 (${DEFAULT-VALUE}): 3 levels up to 39, 4 up to 48.")
    private int width;

    @Option(names = "--out", paramLabel = "FILE", description = "Write to a file instead of standard output.")
    private @Nullable Path file;

    /** For picocli. */
    TablesCommand() {}

    @Override
    public Integer call() throws IOException, UnusableInputException {
        requireSense();
        try (ProgressLine progress = ProgressLine.on(spec.commandLine().getErr());
                Writer out = open()) {
            TablesJson json = new TablesJson(out);
            if (count == null) {
                replay(json, progress);
            } else {
                makeRandom(count, json, progress);
            }
            out.flush();
        } catch (UncheckedIOException failed) {
            throw failed.getCause();
        }
        return ExitStatus.OK;
    }

    private void requireSense() throws IOException {
        if (count != null && trace != null) {
            throw wrong("--random: there is a trace already");
        }
        if (events != null && (events < 0 || count != null)) {
            throw wrong("--events: goes with a trace, and with a number of 0 or more");
        }
        if (count != null && (count < 0 || count > MOST_RANDOM)) {
            throw wrong("--random: " + count + " mappings cannot be made, only 0 to " + MOST_RANDOM);
        }
        if (width < 31 || width > 57) {
            throw wrong("--width: a unit has 31 to 57 address bits, not " + width);
        }
        if (file != null && trace != null && CompareCommand.isSameFile(file, Path.of(trace))) {
            throw wrong("--out: " + file + " is the input and would be overwritten");
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Standard output stays open. */
    private Writer open() throws UnusableInputException {
        if (file == null) {
            return new OpenWriter(spec.commandLine().getOut());
        }
        Path folder = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file) || folder == null || !Files.isDirectory(folder)) {
            throw new UnusableInputException(
                    "--out: " + file + " cannot be written: not a file in a folder that exists");
        }
        return new LateFile("--out", file);
    }

    private void makeRandom(int mappings, TablesJson json, ProgressLine progress) throws IOException {
        try (RandomTables tables = new RandomTables(width, new Random(seed))) {
            tables.map(mappings, done -> progress.show(() -> String.format("%,d of %,d mappings", done, mappings)));
            write(tables.machine(), json, progress);
        }
    }

    private void replay(TablesJson json, ProgressLine progress) throws IOException, UnusableInputException {
        TwiceReadTrace input = TwiceReadTrace.of(trace);
        try (input) {
            ReplayOptions options = ReplayOptions.DEFAULT
                    .withBackends(BACKEND)
                    .withTiming(false)
                    .withMaxEvents(moment(input))
                    .withProgress(progress);
            replay(input, options, json, progress);
        } catch (AddressCollisionException collision) {
            throw new UnusableInputException(input.name() + ": " + collision.getMessage(), collision);
        }
    }

    private long moment(TwiceReadTrace input) throws IOException {
        if (events != null) {
            return events;
        }
        try (TraceReader reader = input.open(TraceReader.Options.defaults())) {
            return BusiestMoment.find(reader);
        }
    }

    private void replay(TwiceReadTrace input, ReplayOptions options, TablesJson json, ProgressLine progress)
            throws IOException {
        TraceReader.Options reading = TraceReader.Options.defaults()
                .listener(bad -> progress.say(bad.message() + ": " + bad.text().strip()));
        try (TraceReader reader = input.open(reading)) {
            new ReplayEngine(options).replay(reader, machine -> {
                try {
                    write(machine, json, progress);
                } catch (IOException failed) {
                    throw new UncheckedIOException(failed);
                }
            });
        }
    }

    private void write(Machine machine, TablesJson json, ProgressLine progress) throws IOException {
        Iommu iommu = Iommu.of(machine);
        for (Device device : machine.devices()) {
            TableImage image = iommu.tables(device);
            TableProbes probes = new TableProbes(iommu, device, image.widthBits(), new Random(seed));
            json.write(
                    image,
                    machine.memory(),
                    probes,
                    done -> progress.show(
                            () -> String.format("%s: %,d of %,d probes", device.name(), done, probes.size())));
        }
    }
}
