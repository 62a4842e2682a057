package io.pagewalk.trace.check;

import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugReport;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Reports, counted by kind, the first ones kept. Not thread-safe. */
final class Findings {
    private final int most;
    private final List<DmaDebugReport> kept = new ArrayList<>();
    private final Map<DmaDebugKind, Long> counts = new EnumMap<>(DmaDebugKind.class);

    Findings(int most) {
        this.most = most;
    }

    void add(DmaDebugReport report) {
        counts.merge(report.kind(), 1L, Long::sum);
        if (kept.size() < most) {
            kept.add(report);
        }
    }

    /** Takes those of another one in between. */
    void add(Findings other) {
        other.counts.forEach((kind, count) -> counts.merge(kind, count, Long::sum));
        kept.addAll(other.kept);
        kept.sort(Comparator.comparingLong(DmaDebugReport::number));
    }

    long count() {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    Map<DmaDebugKind, Long> counts() {
        return counts;
    }

    List<DmaDebugReport> reports() {
        return kept.subList(0, Math.min(most, kept.size()));
    }
}
