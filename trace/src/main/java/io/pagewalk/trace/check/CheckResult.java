package io.pagewalk.trace.check;

import io.pagewalk.dma.debug.DebugMapping;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.trace.TraceSummary;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What dma-debug found in a trace.
 *
 * @param traceName the trace
 * @param summary what was read of it
 * @param calls how many calls were checked
 * @param counts how many reports of each kind there were
 * @param reports the reports that were kept, the first ones
 * @param notes what could not be checked
 * @param live what was mapped and not unmapped when the trace ended
 * @param minFreeEntries how many of the kernel's records would have been free at the least
 * @param totalEntries how many records there would have been
 */
public record CheckResult(
        String traceName,
        TraceSummary summary,
        long calls,
        Map<DmaDebugKind, Long> counts,
        List<DmaDebugReport> reports,
        Map<CheckNote, Long> notes,
        List<DebugMapping> live,
        long minFreeEntries,
        long totalEntries) {
    /**
     * Copies the collections.
     *
     * @param traceName the trace
     * @param summary what was read of it
     * @param calls how many calls were checked
     * @param counts how many reports of each kind there were
     * @param reports the reports that were kept, the first ones
     * @param notes what could not be checked
     * @param live what was mapped and not unmapped when the trace ended
     * @param minFreeEntries how many of the kernel's records would have been free at the least
     * @param totalEntries how many records there would have been
     */
    public CheckResult {
        counts = copy(DmaDebugKind.class, counts);
        reports = List.copyOf(reports);
        notes = copy(CheckNote.class, notes);
        live = List.copyOf(live);
    }

    private static <K extends Enum<K>> Map<K, Long> copy(Class<K> type, Map<K, Long> counts) {
        Map<K, Long> copy = new EnumMap<>(type);
        copy.putAll(counts);
        return Collections.unmodifiableMap(copy);
    }

    /**
     * How many reports there were.
     *
     * @return of all kinds
     */
    public long reportCount() {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * Whether nothing was found.
     *
     * @return true without a report
     */
    public boolean ok() {
        return counts.isEmpty();
    }
}
