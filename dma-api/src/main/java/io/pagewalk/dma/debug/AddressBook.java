package io.pagewalk.dma.debug;

import io.pagewalk.dma.debug.NearMapping.Position;
import io.pagewalk.dma.events.AddressIndex;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Live and ended mappings of each device by address: what the kernel does not keep, for what it cannot say. Not
 * thread-safe.
 */
final class AddressBook {
    /** How many ended mappings are remembered of each device. */
    static final int REMEMBERED = 4096;

    private static final class DeviceBook {
        private final AddressIndex<DebugRecord> live = new AddressIndex<>(r -> r.dmaAddr, r -> r.sizeBytes);
        private final ArrayDeque<EndedMapping> ended = new ArrayDeque<>();
    }

    /** The key of calls without a device is empty. */
    private final Map<Optional<DebugDevice>, DeviceBook> devices = new HashMap<>();

    private DeviceBook of(@Nullable DebugDevice device) {
        return devices.computeIfAbsent(Optional.ofNullable(device), d -> new DeviceBook());
    }

    void add(DebugRecord record) {
        of(record.device).live.add(record);
    }

    void remove(DebugRecord record, Caller ending) {
        DeviceBook book = of(record.device);
        book.live.remove(record);
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
        List<DebugRecord> there = List.copyOf(of(device).live.startingAt(dmaAddr));
        if (!there.isEmpty()) {
            there.get(there.size() - 1).tag(owner);
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
        AddressIndex<DebugRecord> live = of(device).live;
        List<DebugRecord> inside = new ArrayList<>();
        live.forEachContaining(dmaAddr, inside::add);
        if (!inside.isEmpty()) {
            DebugRecord record = inside.get(0);
            return new NearMapping(record.snapshot(), Position.INSIDE, dmaAddr - record.dmaAddr);
        }
        NearMapping below = ending(live.atOrBelow(dmaAddr), dmaAddr);
        NearMapping above = starting(live.above(dmaAddr), dmaAddr);
        if (below == null || above == null) {
            return below == null ? above : below;
        }
        return Addresses.lessOrEqual(below.distanceBytes(), above.distanceBytes()) ? below : above;
    }

    private static @Nullable NearMapping ending(@Nullable DebugRecord record, long addr) {
        return record == null
                ? null
                : new NearMapping(record.snapshot(), Position.ABOVE, addr - (record.dmaAddr + record.sizeBytes));
    }

    private static @Nullable NearMapping starting(@Nullable DebugRecord record, long addr) {
        return record == null ? null : new NearMapping(record.snapshot(), Position.BELOW, record.dmaAddr - addr);
    }
}
