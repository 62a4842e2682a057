package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Who mapped what in a domain: disjoint ranges by device address. The tables say what is mapped; the book only says by
 * whom. Thread-safe.
 */
final class MappingBook {
    private final TreeMap<Long, LiveMapping> byIova = new TreeMap<>(Long::compareUnsigned);

    /** Enters a mapping; what it covers of others is theirs no more. */
    synchronized void add(LiveMapping mapping) {
        remove(mapping.iova(), Addresses.last(mapping.iova(), mapping.sizeBytes()));
        byIova.put(mapping.iova(), mapping);
    }

    /** Forgets a range; mappings that reach beyond it keep their ends. */
    synchronized void remove(long first, long last) {
        for (LiveMapping mapping : overlapping(first, last)) {
            byIova.remove(mapping.iova());
            keep(mapping, mapping.iova(), first - mapping.iova(), Addresses.lessThan(mapping.iova(), first));
            long end = Addresses.last(mapping.iova(), mapping.sizeBytes());
            keep(mapping, last + 1, end - last, Addresses.lessThan(last, end));
        }
    }

    private void keep(LiveMapping mapping, long first, long sizeBytes, boolean isThere) {
        if (isThere) {
            long physAddr = mapping.physAddr() + (first - mapping.iova());
            byIova.put(first, new LiveMapping(first, sizeBytes, physAddr, mapping.perm(), mapping.owner()));
        }
    }

    synchronized List<LiveMapping> overlapping(long first, long last) {
        List<LiveMapping> found = new ArrayList<>();
        LiveMapping below = floor(first);
        if (below != null && Addresses.lessThan(below.iova(), first)) {
            found.add(below);
        }
        found.addAll(byIova.subMap(first, true, last, true).values());
        return found;
    }

    /** The mapping of an address, or null. */
    synchronized @Nullable LiveMapping at(long iova) {
        return floor(iova);
    }

    private @Nullable LiveMapping floor(long iova) {
        var entry = byIova.floorEntry(iova);
        return entry != null
                        && Addresses.lessThan(
                                iova - entry.getKey(), entry.getValue().sizeBytes())
                ? entry.getValue()
                : null;
    }

    synchronized List<LiveMapping> all() {
        return List.copyOf(byIova.values());
    }
}
