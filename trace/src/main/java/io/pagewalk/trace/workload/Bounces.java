package io.pagewalk.trace.workload;

import io.pagewalk.trace.TraceEvent.SwiotlbBounced;
import io.pagewalk.trace.TraceHeader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The {@code swiotlb_bounced} lines that no map line has followed yet, by CPU. Bounded. */
final class Bounces {
    /*
     * A bounce is written before the map line that it belongs to. A dma_map_sg that fails writes no line of its own, so all that
     * is left of it are the bounces of its first segments. Formats with a column of flags tell the interrupts from the task that
     * they interrupt: there, bounces that still wait when their task, in the same context and on the same CPU, goes on with
     * something else are left behind. Without flags (trace-cmd, perf) what comes between may be an interrupt in the middle of a
     * list; only what is younger than the bounces that a map line of the same task claims is surely left behind, and the rest
     * is once the trace is over.
     *
     * What is left behind is counted in lists: a new one begins with another device, or with the address with which the current
     * one began, since a driver that fails tries the same list again.
     */
    private static final int KEPT_PER_CPU = 4096;
    private static final int CONTEXT_COLUMN = 2;
    private static final char UNKNOWN_CONTEXT = '?';

    private static final class Bounce {
        private final String device;
        private final long devAddr;
        private final int pid;
        private final char context;

        private Bounce(SwiotlbBounced event) {
            device = event.device();
            devAddr = event.devAddr();
            pid = event.header().pid();
            context = contextOf(event.header());
        }

        private boolean isOf(TraceHeader header) {
            return pid == header.pid() && context == contextOf(header);
        }
    }

    /** Task, softirq or hardirq; the other flags may change in the middle of a call. */
    private static char contextOf(TraceHeader header) {
        return header.flags().length() > CONTEXT_COLUMN ? header.flags().charAt(CONTEXT_COLUMN) : UNKNOWN_CONTEXT;
    }

    private static final class Waiting {
        private final List<Bounce> bounces = new ArrayList<>();
        private boolean isLatest;
    }

    private final Map<Integer, Waiting> byCpu = new HashMap<>();
    private final AnomalyCounts anomalies;

    Bounces(AnomalyCounts anomalies) {
        this.anomalies = anomalies;
    }

    void add(SwiotlbBounced event) {
        Waiting waiting = byCpu.computeIfAbsent(event.header().cpu(), cpu -> new Waiting());
        if (waiting.bounces.size() == KEPT_PER_CPU) {
            List<Bounce> oldest = waiting.bounces.subList(0, KEPT_PER_CPU / 2);
            countLists(oldest);
            oldest.clear();
        }
        waiting.bounces.add(new Bounce(event));
        waiting.isLatest = true;
    }

    /** Takes the bounces of a mapping away, latest first. */
    void claim(TraceHeader header, String device, long... physAddrs) {
        Waiting waiting = byCpu.get(header.cpu());
        if (waiting == null) {
            return;
        }
        int segment = physAddrs.length - 1;
        int oldest = waiting.bounces.size();
        for (int i = waiting.bounces.size() - 1; i >= 0 && segment >= 0; i--) {
            Bounce bounce = waiting.bounces.get(i);
            int match = bounce.device.equals(device) ? lastIndexOf(physAddrs, segment, bounce.devAddr) : -1;
            if (match >= 0) {
                waiting.bounces.remove(i);
                segment = match - 1;
                oldest = i;
            }
        }
        leaveBehind(waiting.bounces.subList(oldest, waiting.bounces.size()), header);
    }

    private static int lastIndexOf(long[] physAddrs, int from, long physAddr) {
        int at = from;
        while (at >= 0 && physAddrs[at] != physAddr) {
            at--;
        }
        return at;
    }

    /** Notes that a task goes on with something that is no bounce. */
    void goesOn(TraceHeader header) {
        Waiting waiting = byCpu.get(header.cpu());
        if (waiting == null) {
            return;
        }
        waiting.isLatest = false;
        if (!waiting.bounces.isEmpty() && contextOf(header) != UNKNOWN_CONTEXT) {
            leaveBehind(waiting.bounces, header);
        }
    }

    private void leaveBehind(List<Bounce> bounces, TraceHeader header) {
        countLists(bounces.stream().filter(bounce -> bounce.isOf(header)).toList());
        bounces.removeIf(bounce -> bounce.isOf(header));
    }

    private void countLists(List<Bounce> left) {
        Bounce first = null;
        for (Bounce bounce : left) {
            if (first == null || !bounce.device.equals(first.device) || bounce.devAddr == first.devAddr) {
                anomalies.add(Anomaly.FAILED_LIST_LENGTHS_UNKNOWN);
                first = bounce;
            }
        }
    }

    /** Forgets the lines of a CPU of which events are missing, all for a CPU below 0. */
    void forget(int cpu) {
        if (cpu < 0) {
            byCpu.clear();
        } else {
            byCpu.remove(cpu);
        }
    }

    /** Counts what waits at the end, but for the last call of each CPU, which the end of the trace may have cut. */
    void finish() {
        for (Waiting waiting : byCpu.values()) {
            List<Bounce> bounces = waiting.bounces;
            int end = bounces.size();
            if (waiting.isLatest) {
                Bounce latest = bounces.get(end - 1);
                while (end > 0
                        && bounces.get(end - 1).pid == latest.pid
                        && bounces.get(end - 1).context == latest.context) {
                    end--;
                }
            }
            countLists(bounces.subList(0, end));
        }
        byCpu.clear();
    }
}
