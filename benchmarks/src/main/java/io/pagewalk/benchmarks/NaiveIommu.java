package io.pagewalk.benchmarks;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one writes first: a sorted map of ranges that are taken, a hash map of pages, no kernel's rules. The twin that
 * the backends are measured against.
 */
final class NaiveIommu {
    private static final long TOP_PFN = 0xf_ffffL;

    private final TreeMap<Long, Long> takenByFirstPfn = new TreeMap<>();
    private final Map<Long, Long> pages = new HashMap<>();

    /** Takes a run of pages, from the top down. */
    long alloc(long pageCount) {
        long end = TOP_PFN + 1;
        for (Map.Entry<Long, Long> taken : takenByFirstPfn.descendingMap().entrySet()) {
            if (end - (taken.getKey() + taken.getValue()) >= pageCount) {
                break;
            }
            end = taken.getKey();
        }
        takenByFirstPfn.put(end - pageCount, pageCount);
        return end - pageCount;
    }

    void free(long pfn) {
        takenByFirstPfn.remove(pfn);
    }

    void mapPage(long pfn, long physAddr) {
        pages.put(pfn, physAddr);
    }

    void unmapPage(long pfn) {
        pages.remove(pfn);
    }

    /** How many pages are mapped. */
    int mappedPages() {
        return pages.size();
    }
}
