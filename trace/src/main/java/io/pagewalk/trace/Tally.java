package io.pagewalk.trace;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** Counts what a reader meets. Of bounded size, whatever the input holds. */
final class Tally {
    private static final int MAX_FIRST_BAD_LINES = 10;
    private static final int MAX_OTHER_NAMES = 4096;
    private static final String FURTHER_NAMES = "(further names)";

    private final Set<TraceFormat> formats = EnumSet.noneOf(TraceFormat.class);
    private final EnumMap<EventKind, Count> counts = new EnumMap<>(EventKind.class);
    private final Map<String, Long> otherCounts = new HashMap<>();
    private final List<BadLine> firstBadLines = new ArrayList<>();
    private int cpus;
    private long badLines;
    private long lostEvents;
    private long lostGaps;
    private long lostGapsOfUnknownSize;
    private long overwrittenEvents;
    private long truncatedLists;

    void format(TraceFormat format) {
        formats.add(format);
    }

    void event(EventKind kind, TraceEvent event) {
        counts.computeIfAbsent(kind, first -> new Count()).events++;
        if (event instanceof SgEvent.MapSg mapSg && mapSg.truncated()) {
            truncatedLists++;
        }
    }

    void other(String name) {
        boolean known = otherCounts.size() < MAX_OTHER_NAMES || otherCounts.containsKey(name);
        otherCounts.merge(known ? name : FURTHER_NAMES, 1L, Long::sum);
    }

    void gap(long count) {
        lostGaps++;
        if (count == TraceEvent.LostEvents.UNKNOWN_COUNT) {
            lostGapsOfUnknownSize++;
        } else {
            lostEvents += count;
        }
    }

    void overwritten(long count) {
        overwrittenEvents += count;
    }

    void cpus(int count) {
        cpus = count;
    }

    /** CPUs that the trace's header tells, 0 when it tells none. */
    int cpus() {
        return cpus;
    }

    void bad(BadLine line) {
        badLines++;
        if (firstBadLines.size() < MAX_FIRST_BAD_LINES) {
            firstBadLines.add(line);
        }
    }

    /** Says whether any event but marks was read. */
    boolean hasEvents() {
        return counts.keySet().stream().anyMatch(kind -> !kind.isMark());
    }

    TraceSummary summary(String file, long linesRead, long bytesRead, long totalBytes) {
        return new TraceSummary(
                file,
                Collections.unmodifiableSet(EnumSet.copyOf(formats)),
                linesRead,
                eventCounts(),
                Collections.unmodifiableSortedMap(new TreeMap<>(otherCounts)),
                badLines,
                List.copyOf(firstBadLines),
                lostEvents,
                lostGaps,
                lostGapsOfUnknownSize,
                overwrittenEvents,
                truncatedLists,
                bytesRead,
                totalBytes);
    }

    private SortedMap<String, Long> eventCounts() {
        SortedMap<String, Long> byName = new TreeMap<>();
        counts.forEach((kind, count) -> byName.merge(kind.countedAs(), count.events, Long::sum));
        return Collections.unmodifiableSortedMap(byName);
    }

    private static final class Count {
        private long events;
    }
}
