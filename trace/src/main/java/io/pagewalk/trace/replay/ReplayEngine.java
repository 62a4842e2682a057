package io.pagewalk.trace.replay;

import io.pagewalk.dma.Machine;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.ReplayResult.Content;
import io.pagewalk.trace.workload.AnomalyCounts;
import io.pagewalk.trace.workload.WorkloadAssembler;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Replays a trace through every chosen backend, in lockstep over one pass: each call of the trace is made on one
 * machine per backend, with the trace's physical addresses, CPUs and times, and while a buffer is mapped, data moves
 * through the device's bus and is compared.
 *
 * <p>Memory is bounded by what is live, whatever the length of the trace. Immutable; each replay is for one thread.
 */
public final class ReplayEngine {
    private static final int PROGRESS_EVENTS = 4096;

    private final ReplayOptions options;

    /**
     * Makes an engine.
     *
     * @param options how to replay
     */
    public ReplayEngine(ReplayOptions options) {
        this.options = options;
    }

    /**
     * Replays what is left of a trace. The reader stays open.
     *
     * @param reader the trace
     * @return what came out
     * @throws IOException when the trace cannot be read on
     * @throws AddressCollisionException when the trace maps memory that the machine lacks or has for itself
     * @throws IllegalArgumentException when there is no backend of a chosen name; the message lists those there are
     */
    public ReplayResult replay(TraceReader reader) throws IOException {
        return replay(reader, machine -> {});
    }

    /**
     * As {@link #replay(TraceReader)}, and shows each backend's machine before it is closed, with what is live then.
     *
     * @param reader the trace
     * @param atTheEnd looks at a machine
     * @return what came out
     * @throws IOException when the trace cannot be read on
     * @throws AddressCollisionException when the trace maps memory that the machine lacks or has for itself
     * @throws IllegalArgumentException when there is no backend of a chosen name
     */
    public ReplayResult replay(TraceReader reader, Consumer<Machine> atTheEnd) throws IOException {
        TraceEvent first = reader.next(); // The header, which may tell the CPUs, is read with it.
        int cpus = cpus(reader);
        MachineLayout layout = MachineLayout.of(options.machine());
        List<BackendRun> runs = Machines.create(options, layout, cpus);
        try {
            ReplayResult result = replay(reader, first, runs, layout, cpus);
            runs.forEach(run -> atTheEnd.accept(run.machine()));
            return result;
        } finally {
            runs.forEach(BackendRun::close);
        }
    }

    private int cpus(TraceReader reader) {
        Integer said = options.machine().cpus();
        if (said != null) {
            return said;
        }
        return reader.recordedCpus() == 0 ? MachineSpec.DEFAULT_CPUS : reader.recordedCpus();
    }

    private ReplayResult replay(
            TraceReader reader, @Nullable TraceEvent first, List<BackendRun> runs, MachineLayout layout, int cpus)
            throws IOException {
        DeviceBook devices = new DeviceBook(options.machine(), runs);
        AnomalyCounts anomalies = new AnomalyCounts();
        Replay replay = new Replay(runs, layout, devices, anomalies, cpus);
        WorkloadAssembler assembler = new WorkloadAssembler(replay::accept, anomalies);
        assemble(reader, first, assembler);
        replay.finish();
        return new ReplayResult(
                reader.name(),
                reader.summary(),
                contentOf(assembler),
                options.touch(),
                cpus,
                options.timing() ? CallTimer.costNanos() : 0,
                anomalies.snapshot(),
                devices.infos(),
                runs.stream().map(run -> run.result(devices.names())).toList());
    }

    private void assemble(TraceReader reader, @Nullable TraceEvent first, WorkloadAssembler assembler)
            throws IOException {
        long events = 0;
        TraceEvent event = first;
        while (event != null && events < options.maxEvents()) {
            assembler.accept(event);
            events++;
            if (events % PROGRESS_EVENTS == 0) {
                options.progress().progress(events, reader.bytesRead(), reader.totalBytes());
            }
            event = reader.next();
        }
        assembler.finish();
        options.progress().progress(events, reader.bytesRead(), reader.totalBytes());
    }

    private static Content contentOf(WorkloadAssembler assembler) {
        if (assembler.dmaEvents() > 0) {
            return Content.REPLAYED;
        }
        return assembler.iommuEvents() > 0 ? Content.IOMMU_EVENTS_ONLY : Content.NO_DMA_EVENTS;
    }
}
