package io.pagewalk.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.predict.AddressPrediction;
import io.pagewalk.trace.predict.BootLog;
import io.pagewalk.trace.predict.FlushTimers;
import io.pagewalk.trace.predict.PredictionResult;
import io.pagewalk.trace.replay.MachineSpec;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** {@code pagewalk compare --expect-addresses}: are the addresses that come out the recorded ones? */
final class ExpectAddresses {
    private final ExpectOptions options;
    private final MachineSpec machine;
    private final ProgressLine progress;

    ExpectAddresses(ExpectOptions options, MachineSpec machine, ProgressLine progress) {
        this.options = options;
        this.machine = machine;
        this.progress = progress;
    }

    /** Predicts, reports, and returns the exit status. */
    int run(TraceReader reader, PrintWriter out, @Nullable Path json) throws IOException, UnusableInputException {
        Path dmesg = options.dmesg();
        BootLog log = dmesg == null ? BootLog.bundled() : BootLog.read(dmesg);
        PredictionNotes notes = new PredictionNotes();
        PredictionResult result = predict(reader, log, notes);
        progress.close();
        new ExpectReport(log, result, notes).print(out);
        if (json != null) {
            write(ExpectJson.tree(log, result, notes), json);
        }
        return result.ok() ? ExitStatus.OK : ExitStatus.MISMATCH;
    }

    private PredictionResult predict(TraceReader reader, BootLog log, PredictionNotes notes) throws IOException {
        Path timers = options.timers();
        if (timers == null) {
            return new AddressPrediction(log, machine, null, notes, progress).run(reader);
        }
        try (FlushTimers record = FlushTimers.open(timers)) {
            return new AddressPrediction(log, machine, record, notes, progress).run(reader);
        }
    }

    private static void write(JsonNode tree, Path file) throws UnusableInputException {
        try {
            CompareJson.write(tree, file);
        } catch (IOException failed) {
            throw new UnusableInputException("--json: " + file + " cannot be written: " + failed.getMessage(), failed);
        }
    }
}
