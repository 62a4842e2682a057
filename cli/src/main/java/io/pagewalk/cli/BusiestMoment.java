package io.pagewalk.cli;

import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.workload.AnomalyCounts;
import io.pagewalk.trace.workload.WorkloadAssembler;
import java.io.IOException;

/** When the most of a trace is mapped or allocated at once. */
final class BusiestMoment {
    private BusiestMoment() {}

    /** Reads a trace to its end: how many of its events to take, for the most to be live after them. */
    static long find(TraceReader reader) throws IOException {
        WorkloadAssembler assembler = new WorkloadAssembler(operation -> {}, new AnomalyCounts());
        long events = 0;
        long best = 0;
        int most = 0;
        for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
            assembler.accept(event);
            events++;
            if (assembler.liveCount() > most) {
                most = assembler.liveCount();
                best = events;
            }
        }
        return best;
    }
}
