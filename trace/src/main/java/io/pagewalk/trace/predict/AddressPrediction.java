package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.MachineFacts.IommuMode;
import io.pagewalk.trace.replay.MachineSpec;
import io.pagewalk.trace.replay.ReplayProgress;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Makes the calls of a trace again on a machine like the one that recorded it, in the trace's order, on its CPUs and at
 * its times, and compares every DMA address with the recorded one.
 *
 * <p>Memory is bounded by what is live, whatever the length of the trace. Immutable; each run is for one thread.
 */
public final class AddressPrediction {
    private static final int PROGRESS_EVENTS = 4096;

    private final BootLog log;
    private final MachineSpec spec;
    private final PredictionListener listener;
    private final ReplayProgress progress;

    /**
     * Makes a prediction.
     *
     * @param log the boot log of the recording machine
     * @param spec the machine file, or {@link MachineSpec#DEFAULT}
     * @param listener hears of each address that does not come out
     * @param progress hears how far it is
     */
    public AddressPrediction(BootLog log, MachineSpec spec, PredictionListener listener, ReplayProgress progress) {
        this.log = log;
        this.spec = spec;
        this.listener = listener;
        this.progress = progress;
    }

    /**
     * Predicts the addresses of what is left of a trace. The reader stays open.
     *
     * @param reader the trace
     * @return how many came out
     * @throws IOException when the trace cannot be read on
     * @throws MachineFactsException when boot log and machine file do not tell what the trace needs
     */
    public PredictionResult run(TraceReader reader) throws IOException, MachineFactsException {
        TraceEvent first = reader.next(); // The header, which may tell the CPUs, is read with it.
        RecordedMachine recorded = RecordedMachine.of(log, spec, reader.recordedCpus());
        Omissions omissions = new Omissions();
        if (recorded.mode() == IommuMode.OFF) {
            Score score = new Score(Miss.Order.OF_LINES, listener);
            try (PredictingMachine machine = new PredictingMachine(recorded)) {
                read(reader, first, new BounceReplay(machine, recorded.pool() != null, score, omissions));
            }
            return new PredictionResult(
                    reader.name(), reader.summary(), recorded, score.figures(), omissions.snapshot());
        }
        Score score = new Score(Miss.Order.OF_LINES, listener);
        try (PredictingMachine machine = new PredictingMachine(recorded)) {
            IommuReplay replay = new IommuReplay(machine, score, recorded.mode() == IommuMode.STRICT);
            read(reader, first, new IommuPairing(replay, omissions));
        }
        return new PredictionResult(reader.name(), reader.summary(), recorded, score.figures(), omissions.snapshot());
    }

    private void read(TraceReader reader, @Nullable TraceEvent first, EventTaker taker)
            throws IOException, MachineFactsException {
        long events = 0;
        for (TraceEvent event = first; event != null; event = reader.next()) {
            taker.accept(event);
            events++;
            if (events % PROGRESS_EVENTS == 0) {
                progress.progress(events, reader.bytesRead(), reader.totalBytes());
            }
        }
        taker.finish();
        progress.progress(events, reader.bytesRead(), reader.totalBytes());
    }
}
