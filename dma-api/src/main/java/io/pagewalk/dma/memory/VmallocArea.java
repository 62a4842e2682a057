package io.pagewalk.dma.memory;

import java.util.Map;
import java.util.TreeMap;

/**
 * The kernel's vmalloc area: pages that lie apart get addresses that follow each other.
 *
 * <p>The lowest gap that holds a mapping and a guard page behind it is taken. Thread-safe, by one lock.
 */
final class VmallocArea {
    /** What stands for "no such address". */
    static final long NONE = 0;

    private final long start;
    private final long sizePages;
    /** Page arrays by offset from the start in pages; each is followed by a guard page. */
    private final TreeMap<Long, long[]> mappings = new TreeMap<>();
    /** Lengths of gaps in pages, by offset in pages. */
    private final TreeMap<Long, Long> gaps = new TreeMap<>();

    VmallocArea(VirtRange range) {
        start = Addresses.alignUp(range.first(), Addresses.PAGE_SIZE);
        sizePages = (range.last() - start + 1) >>> Addresses.PAGE_SHIFT;
        gaps.put(0L, sizePages);
    }

    synchronized long map(long[] pagePhysAddrs) {
        long needed = pagePhysAddrs.length + 1L;
        for (Map.Entry<Long, Long> gap : gaps.entrySet()) {
            if (gap.getValue() >= needed) {
                return mapInto(gap.getKey(), gap.getValue(), pagePhysAddrs);
            }
        }
        return NONE;
    }

    private long mapInto(long offset, long gapPages, long[] pagePhysAddrs) {
        long taken = pagePhysAddrs.length + 1L;
        gaps.remove(offset);
        if (gapPages > taken) {
            gaps.put(offset + taken, gapPages - taken);
        }
        mappings.put(offset, pagePhysAddrs.clone());
        return start + (offset << Addresses.PAGE_SHIFT);
    }

    synchronized void unmap(long virtAddr) {
        long offset = (virtAddr - start) >>> Addresses.PAGE_SHIFT;
        long[] pages = Addresses.isAligned(virtAddr, Addresses.PAGE_SIZE) ? mappings.remove(offset) : null;
        if (pages == null) {
            throw new IllegalStateException("nothing is mapped at " + Addresses.hex(virtAddr));
        }
        giveBack(offset, pages.length + 1L);
    }

    private void giveBack(long offset, long pages) {
        long first = offset;
        long count = pages;
        Map.Entry<Long, Long> below = gaps.lowerEntry(offset);
        if (below != null && below.getKey() + below.getValue() == offset) {
            first = below.getKey();
            count += below.getValue();
        }
        Long above = gaps.remove(offset + pages);
        gaps.put(first, above == null ? count : count + above);
    }

    synchronized long physAddr(long virtAddr) {
        long page = (virtAddr - start) >>> Addresses.PAGE_SHIFT;
        Map.Entry<Long, long[]> below = mappings.floorEntry(page);
        if (below == null || page - below.getKey() >= below.getValue().length) {
            return KernelMemory.NO_PHYS_ADDR;
        }
        return below.getValue()[(int) (page - below.getKey())] + (virtAddr & ~Addresses.PAGE_MASK);
    }

    synchronized int mappingCount() {
        return mappings.size();
    }
}
