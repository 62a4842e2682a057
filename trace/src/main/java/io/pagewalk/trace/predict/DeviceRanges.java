package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.TraceHeader;
import java.util.Map;
import java.util.TreeMap;

/** The ranges of device addresses of one lazy domain that are in use, or wait for a flush as far as is known. */
final class DeviceRanges {
    /** A range that was unmapped, and when. */
    private record Queued(PhysRange range, TraceHeader unmapped) {}

    private final String device;
    private final long limit;
    private final TreeMap<Long, PhysRange> live = new TreeMap<>(Long::compareUnsigned);
    private final TreeMap<Long, Queued> queued = new TreeMap<>(Long::compareUnsigned);
    private final FlushChances flushes = new FlushChances();

    DeviceRanges(String device, long limit) {
        this.device = device;
        this.limit = limit;
    }

    /** The highest address that the device may be given. */
    long limit() {
        return limit;
    }

    /** Takes a range; returns what is wrong with that, empty when nothing is. */
    String take(PhysRange range, TraceHeader when) {
        String wrong = "";
        Map.Entry<Long, PhysRange> below = live.floorEntry(range.last());
        if (below != null && overlaps(below.getValue(), range)) {
            wrong = "overlaps " + below.getValue() + ", which " + device + " has in use";
        }
        live.put(range.first(), range);
        Map.Entry<Long, Queued> old = queued.floorEntry(range.last());
        while (old != null && overlaps(old.getValue().range, range)) {
            queued.remove(old.getKey());
            TraceHeader unmapped = old.getValue().unmapped;
            if (!flushes.reuse(unmapped.timestampNanos(), when.timestampNanos()) && wrong.isEmpty()) {
                wrong = "reused although no flush can have come since its unmap at line " + unmapped.lineNumber();
            }
            old = queued.floorEntry(range.last());
        }
        return wrong;
    }

    private static boolean overlaps(PhysRange one, PhysRange other) {
        return Addresses.overlaps(one.first(), one.sizeBytes(), other.first(), other.sizeBytes());
    }

    void give(PhysRange range, TraceHeader when) {
        live.remove(range.first());
        queued.put(range.first(), new Queued(range, when));
        flushes.unmap(when.cpu(), when.timestampNanos());
    }
}
