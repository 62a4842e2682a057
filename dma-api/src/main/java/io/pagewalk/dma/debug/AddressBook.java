package io.pagewalk.dma.debug;

import io.pagewalk.dma.debug.NearMapping.Position;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Live and ended mappings of each device by address: what the kernel does not keep, for what it cannot say. Not
 * thread-safe.
 */
final class AddressBook {
    /** How many ended mappings are remembered of each device. */
    static final int REMEMBERED = 4096;

    /** How many starts below an address are looked at for a mapping that reaches it, where mappings overlap. */
    private static final int NEIGHBOURS = 64;

    private static final class DeviceBook {
        private final NavigableMap<Long, ArrayDeque<DebugRecord>> live = new TreeMap<>(Long::compareUnsigned);
        private final ArrayDeque<EndedMapping> ended = new ArrayDeque<>();
    }

    /** The key of calls without a device is empty. */
    private final Map<Optional<DebugDevice>, DeviceBook> devices = new HashMap<>();

    private DeviceBook of(@Nullable DebugDevice device) {
        return devices.computeIfAbsent(Optional.ofNullable(device), d -> new DeviceBook());
    }

    void add(DebugRecord record) {
        of(record.device)
                .live
                .computeIfAbsent(record.dmaAddr, a -> new ArrayDeque<>(1))
                .addLast(record);
    }

    void remove(DebugRecord record, Caller ending) {
        DeviceBook book = of(record.device);
        ArrayDeque<DebugRecord> there = book.live.get(record.dmaAddr);
        if (there != null && there.remove(record) && there.isEmpty()) {
            book.live.remove(record.dmaAddr);
        }
        if (book.ended.size() == REMEMBERED) {
            book.ended.removeLast();
        }
        book.ended.addFirst(new EndedMapping(record.snapshot(), ending.timeNanos(), ending.owner(), ending.site()));
    }

    /** Forgets all that is live. */
    void clear() {
        devices.values().forEach(book -> book.live.clear());
    }

    void tag(DebugDevice device, long dmaAddr, String owner) {
        ArrayDeque<DebugRecord> there = of(device).live.get(dmaAddr);
        if (there != null) {
            there.getLast().tag(owner);
        }
    }

    @Nullable EndedMapping lastUnmap(@Nullable DebugDevice device, long dmaAddr) {
        for (EndedMapping latestFirst : of(device).ended) {
            DebugMapping mapping = latestFirst.mapping();
            if (Addresses.lessThan(dmaAddr - mapping.dmaAddr(), mapping.sizeBytes())) {
                return latestFirst;
            }
        }
        return null;
    }

    @Nullable NearMapping nearest(@Nullable DebugDevice device, long dmaAddr) {
        NavigableMap<Long, ArrayDeque<DebugRecord>> live = of(device).live;
        DebugRecord inside = inside(live, dmaAddr);
        if (inside != null) {
            return new NearMapping(inside.snapshot(), Position.INSIDE, dmaAddr - inside.dmaAddr);
        }
        NearMapping below = ending(live.floorEntry(dmaAddr), dmaAddr);
        NearMapping above = starting(live.higherEntry(dmaAddr), dmaAddr);
        if (below == null || above == null) {
            return below == null ? above : below;
        }
        return Addresses.lessOrEqual(below.distanceBytes(), above.distanceBytes()) ? below : above;
    }

    private static @Nullable DebugRecord inside(NavigableMap<Long, ArrayDeque<DebugRecord>> live, long dmaAddr) {
        int looked = 0;
        for (ArrayDeque<DebugRecord> there :
                live.headMap(dmaAddr, true).descendingMap().values()) {
            for (DebugRecord record : there) {
                if (Addresses.lessThan(dmaAddr - record.dmaAddr, record.sizeBytes)) {
                    return record;
                }
            }
            looked++;
            if (looked == NEIGHBOURS) {
                return null;
            }
        }
        return null;
    }

    private static @Nullable NearMapping ending(Map.@Nullable Entry<Long, ArrayDeque<DebugRecord>> entry, long addr) {
        if (entry == null) {
            return null;
        }
        DebugRecord record = entry.getValue().getLast();
        return new NearMapping(record.snapshot(), Position.ABOVE, addr - (record.dmaAddr + record.sizeBytes));
    }

    private static @Nullable NearMapping starting(Map.@Nullable Entry<Long, ArrayDeque<DebugRecord>> entry, long addr) {
        if (entry == null) {
            return null;
        }
        DebugRecord record = entry.getValue().getFirst();
        return new NearMapping(record.snapshot(), Position.BELOW, record.dmaAddr - addr);
    }
}
