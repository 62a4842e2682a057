package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Which pages devices can reach through live mappings; of a list its first segment stands for all. Not thread-safe. */
final class HeldPages {
    /** A mapping beyond this is watched in its first pages only. */
    static final long MOST_PAGES = 1 << 18;

    private final Map<Long, List<DebugRecord>> byPfn = new HashMap<>();
    private final Map<DebugRecord, List<Long>> byRecord = new HashMap<>();

    void hold(DebugRecord record, long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return;
        }
        long first = physAddr >>> Addresses.PAGE_SHIFT;
        long count = (Addresses.last(physAddr, sizeBytes) >>> Addresses.PAGE_SHIFT) - first + 1;
        List<Long> pfns = byRecord.computeIfAbsent(record, r -> new ArrayList<>());
        for (long i = 0; i < Addresses.min(count, MOST_PAGES); i++) {
            pfns.add(first + i);
            byPfn.computeIfAbsent(first + i, p -> new ArrayList<>(1)).add(record);
        }
    }

    void release(DebugRecord record) {
        List<Long> pfns = byRecord.remove(record);
        if (pfns == null) {
            return;
        }
        for (Long pfn : pfns) {
            byPfn.computeIfPresent(pfn, (p, holders) -> {
                holders.remove(record);
                return holders.isEmpty() ? null : holders;
            });
        }
    }

    List<DebugRecord> holders(long physAddr) {
        return List.copyOf(byPfn.getOrDefault(physAddr >>> Addresses.PAGE_SHIFT, List.of()));
    }
}
