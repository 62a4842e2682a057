package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which cachelines devices may write now, by the first line of each mapping, over all devices.
 *
 * <p>Implements dma-core:DBG-20, DBG-21, DBG-23, DBG-24. Not thread-safe.
 */
final class CachelineTracker {
    /** Three bits (DBG-21). */
    static final int MAX_OVERLAP = 7;

    /** What an insert found. */
    enum Insert {
        /** The line is not tracked, or was free. */
        FREE,
        /** Somebody had it already. */
        PRESENT,
        /** Somebody had it already, and it counts no further. */
        EXCEEDED
    }

    private static final class Line {
        private int overlap;
        private final ArrayDeque<DebugRecord> holders = new ArrayDeque<>();
    }

    private final int lineShift;
    private final Map<Long, Line> lines = new HashMap<>();

    CachelineTracker(int lineShift) {
        this.lineShift = lineShift;
    }

    long lineOf(long physAddr) {
        return physAddr >>> lineShift;
    }

    int lineShift() {
        return lineShift;
    }

    static boolean isTracked(DebugRecord record) {
        return record.direction != DmaDirection.TO_DEVICE && record.physAddr != DmaCall.UNKNOWN_PHYS_ADDR;
    }

    Insert insert(DebugRecord record) {
        if (!isTracked(record)) {
            return Insert.FREE;
        }
        long number = lineOf(record.physAddr);
        Line line = lines.get(number);
        if (line == null) {
            line = new Line();
            lines.put(number, line);
            line.holders.addLast(record);
            return Insert.FREE;
        }
        line.holders.addLast(record);
        if (line.overlap == MAX_OVERLAP) {
            return Insert.EXCEEDED;
        }
        line.overlap++;
        return Insert.PRESENT;
    }

    /** The count may come to its end while more mappings of the line are live than it could count (DBG-23). */
    void remove(DebugRecord record) {
        if (!isTracked(record)) {
            return;
        }
        Line line = lines.get(lineOf(record.physAddr));
        if (line == null) {
            return;
        }
        line.holders.removeFirstOccurrence(record);
        line.overlap--;
        if (line.overlap < 0) {
            lines.remove(lineOf(record.physAddr));
        }
    }

    boolean isPresent(long line) {
        return lines.containsKey(line);
    }

    /** How often a line is held beyond the first time; -1 when it is not held. */
    int overlapOf(long line) {
        Line found = lines.get(line);
        return found == null ? -1 : found.overlap;
    }

    /** Who has had a line longest, other than one record. */
    @Nullable DebugRecord holderOf(long line, @Nullable DebugRecord but) {
        Line found = lines.get(line);
        if (found == null) {
            return null;
        }
        return found.holders.stream().filter(r -> r != but).findFirst().orElse(null);
    }
}
