package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.predict.PredictionResult.Judgement;
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
    private final @Nullable FlushTimers timers;
    private final PredictionListener listener;
    private final ReplayProgress progress;

    /**
     * Makes a prediction.
     *
     * @param log the boot log of the recording machine
     * @param spec the machine file, or {@link MachineSpec#DEFAULT}
     * @param timers the record of the flush queues' timers, which stays open, or null
     * @param listener hears of each address that does not come out
     * @param progress hears how far it is
     */
    public AddressPrediction(
            BootLog log,
            MachineSpec spec,
            @Nullable FlushTimers timers,
            PredictionListener listener,
            ReplayProgress progress) {
        this.log = log;
        this.spec = spec;
        this.timers = timers;
        this.listener = listener;
        this.progress = progress;
    }

    /**
     * Predicts the addresses of what is left of a trace. The reader stays open.
     *
     * @param reader the trace
     * @return how many came out
     * @throws MachineFactsException when boot log, machine file and timer record do not tell what the trace needs
     * @throws IOException when the trace cannot be read on
     */
    public PredictionResult run(TraceReader reader) throws IOException {
        TraceEvent first = reader.next(); // The header, which may tell the CPUs, is read with it.
        RecordedMachine recorded = RecordedMachine.of(log, spec, reader.recordedCpus());
        if (timers != null && recorded.mode() != IommuMode.LAZY) {
            throw new MachineFactsException(
                    timers.name(),
                    "of no use: what gave out the addresses is " + recorded.backend() + ", and has no flush queue");
        }
        Run run = new Run(reader, first, recorded);
        return switch (recorded.mode()) {
            case OFF -> run.withoutIommu();
            case STRICT -> run.strict();
            case LAZY -> timers == null ? run.lazy() : run.lazy(timers);
        };
    }

    /** One reading of a trace. */
    private final class Run {
        private final TraceReader reader;
        private final @Nullable TraceEvent first;
        private final RecordedMachine recorded;
        private final Omissions omissions = new Omissions();
        private final Score inLineOrder = new Score(Miss.Order.OF_LINES, listener);

        private Run(TraceReader reader, @Nullable TraceEvent first, RecordedMachine recorded) {
            this.reader = reader;
            this.first = first;
            this.recorded = recorded;
        }

        private PredictionResult withoutIommu() throws IOException {
            try (PredictingMachine machine = new PredictingMachine(recorded)) {
                read(new BounceReplay(machine, recorded.pool() != null, inLineOrder, omissions));
            }
            return result(Judgement.PREDICTED, null, 0, null);
        }

        private PredictionResult strict() throws IOException {
            Score moved = new Score(Miss.Order.OVERLAPPED_MOVED, listener);
            try (PredictingMachine plain = new PredictingMachine(recorded);
                    PredictingMachine mover = new PredictingMachine(recorded)) {
                OverlapMover overlaps = new OverlapMover(new IommuReplay(mover, moved, true), listener);
                read(new IommuPairing(new BothSinks(new IommuReplay(plain, inLineOrder, true), overlaps), omissions));
                return result(Judgement.PREDICTED, moved.figures(), overlaps.moves(), null);
            }
        }

        private PredictionResult lazy() throws IOException {
            read(new IommuPairing(new ValidityCheck(recorded, inLineOrder), omissions));
            return result(Judgement.VALID, null, 0, null);
        }

        private PredictionResult lazy(FlushTimers record) throws IOException {
            try (PredictingMachine machine = new PredictingMachine(recorded)) {
                TimedReplay timed = new TimedReplay(record, machine, new IommuReplay(machine, inLineOrder, false));
                read(new IommuPairing(timed, omissions));
                return result(Judgement.PREDICTED, null, 0, timed.figures());
            }
        }

        private PredictionResult result(
                Judgement judgement, @Nullable Figures moved, long moves, @Nullable TimerFigures timerFigures) {
            return new PredictionResult(
                    reader.name(),
                    reader.summary(),
                    recorded,
                    judgement,
                    inLineOrder.figures(),
                    moved,
                    moves,
                    timerFigures,
                    omissions.snapshot());
        }

        private void read(EventTaker taker) throws IOException {
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
}
