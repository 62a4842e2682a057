package io.pagewalk.trace.check;

import io.pagewalk.dma.debug.DmaDebug;
import io.pagewalk.dma.debug.DmaDebugHost;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.TraceSummary;
import io.pagewalk.trace.replay.ReplayProgress;
import java.io.IOException;
import java.util.Map;

/**
 * Checks a recorded trace for misuse of the DMA API: no machine, no backend, the recorded addresses as they are.
 *
 * <p>A trace has no {@code dma_mapping_error} calls, so dma-core:DBG-30, DBG-31 and DBG-47 are off; no stack, no kernel
 * layout and no kernel addresses of coherent memory, so DBG-10, DBG-16, DBG-17 and DBG-44 are too, and coherent memory
 * has no cachelines; and no limits of segments (DBG-25) but those of a machine file. For one thread.
 */
public final class TraceCheck implements DmaDebugHost {
    private static final long EVENTS_PER_PROGRESS = 4096;

    private final CheckOptions options;
    private final Findings certain;
    private final Findings unknown;

    private TraceCheck(CheckOptions options) {
        this.options = options;
        this.certain = new Findings(options.keptReports());
        this.unknown = new Findings(options.keptReports());
    }

    /**
     * Checks a trace from front to end.
     *
     * @param name what to call it
     * @param reader in front of its first line
     * @param options how
     * @param progress hears how far it is
     * @return what was found
     * @throws IOException when the trace cannot be read
     */
    public static CheckResult run(String name, TraceReader reader, CheckOptions options, ReplayProgress progress)
            throws IOException {
        return new TraceCheck(options).run(name, reader, progress);
    }

    private CheckResult run(String name, TraceReader reader, ReplayProgress progress) throws IOException {
        DmaDebugOptions debugOptions = DmaDebugOptions.DEFAULT
                .withProfile(options.profile())
                .withMapErrors(false)
                .withAllErrors(true)
                .withKeptReports(0);
        DmaDebug debug = new DmaDebug(debugOptions, this);
        TraceCalls calls = new TraceCalls(debug, options);
        long events = 0;
        for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
            calls.accept(event);
            events++;
            if (events % EVENTS_PER_PROGRESS == 0) {
                TraceSummary now = reader.summary();
                progress.progress(events, now.bytesRead(), now.totalBytes());
            }
        }
        calls.finish();
        return result(name, reader.summary(), debug, calls.notes());
    }

    /** Where events are missing, an address that is not known may have been mapped in one of them. */
    private CheckResult result(String name, TraceSummary summary, DmaDebug debug, Map<CheckNote, Long> notes) {
        if (summary.isIncomplete() && unknown.count() > 0) {
            notes.put(CheckNote.UNKNOWN_ADDRESSES, unknown.count());
        } else {
            certain.add(unknown);
        }
        return new CheckResult(
                name,
                summary,
                debug.calls(),
                certain.counts(),
                certain.reports(),
                notes,
                debug.live(),
                debug.minFreeEntries(),
                debug.totalEntries());
    }

    @Override
    public void report(DmaDebugReport report) {
        boolean missing =
                report.kind() == DmaDebugKind.NOT_ALLOCATED || report.kind() == DmaDebugKind.SYNC_NOT_ALLOCATED;
        (missing ? unknown : certain).add(report);
    }
}
