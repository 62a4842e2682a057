package io.pagewalk.dma.debug;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes reports, counts them and keeps the latest. Not thread-safe. */
final class Reporter {
    final ErrorLimits limits;
    private final AddressBook book;
    private final DmaDebugHost host;
    private final int keptReports;
    private final ArrayDeque<DmaDebugReport> kept = new ArrayDeque<>();
    private final Map<DmaDebugKind, Long> counts = new EnumMap<>(DmaDebugKind.class);
    private long number;

    Reporter(DmaDebugOptions options, AddressBook book, DmaDebugHost host) {
        this.limits = new ErrorLimits(options);
        this.book = book;
        this.host = host;
        this.keptReports = options.keptReports();
    }

    /** Reports something of a call that has to do with no mapping. */
    void report(DmaDebugKind kind, Caller caller, ReportField... fields) {
        make(kind, caller, List.of(fields), null, null, null, null);
    }

    /** Reports that a call and a mapping disagree, or something of a new mapping. */
    void report(DmaDebugKind kind, Caller caller, @Nullable DebugRef ref, DebugRecord record, ReportField... fields) {
        make(kind, caller, List.of(fields), ref, record.snapshot(), null, null);
    }

    /** Reports that there is no mapping for a call. */
    void reportMissing(DmaDebugKind kind, Caller caller, DebugRef ref, ReportField... fields) {
        NearMapping near = book.nearest(ref.device(), ref.dmaAddr());
        EndedMapping last = book.lastUnmap(ref.device(), ref.dmaAddr());
        make(kind, caller, List.of(fields), ref, null, near, last);
    }

    /** Reports that a new mapping shares a cacheline with another one, if that is still known. */
    void reportShared(DmaDebugKind kind, DebugRecord record, @Nullable DebugRecord other, ReportField... fields) {
        NearMapping near = other == null
                ? null
                : new NearMapping(
                        other.snapshot(),
                        record.physAddr - other.physAddr < 0 ? NearMapping.Position.BELOW : NearMapping.Position.INSIDE,
                        Math.abs(record.physAddr - other.physAddr));
        make(kind, record.caller, List.of(fields), null, record.snapshot(), near, null);
    }

    private void make(
            DmaDebugKind kind,
            Caller caller,
            List<ReportField> fields,
            @Nullable DebugRef ref,
            @Nullable DebugMapping mapping,
            @Nullable NearMapping near,
            @Nullable EndedMapping lastUnmap) {
        boolean shown = !kind.isCounted() || limits.count(caller.device());
        number++;
        counts.merge(kind, 1L, Long::sum);
        DmaDebugReport report = new DmaDebugReport(number, kind, caller, fields, ref, mapping, near, lastUnmap, shown);
        keep(report);
        host.report(report);
    }

    private void keep(DmaDebugReport report) {
        if (keptReports == 0) {
            return;
        }
        if (kept.size() == keptReports) {
            kept.removeFirst();
        }
        kept.addLast(report);
    }

    List<DmaDebugReport> reports() {
        return new ArrayList<>(kept);
    }

    long count(DmaDebugKind kind) {
        return counts.getOrDefault(kind, 0L);
    }

    long total() {
        return number;
    }

    Map<DmaDebugKind, Long> counts() {
        return new EnumMap<>(counts);
    }
}
