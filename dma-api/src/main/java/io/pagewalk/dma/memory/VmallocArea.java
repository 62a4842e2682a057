package io.pagewalk.dma.memory;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's vmalloc area: pages that lie apart get addresses that follow each other.
 *
 * <p>The lowest gap that holds a mapping and a guard page behind it is taken. Thread-safe, by one lock.
 */
final class VmallocArea {
    /** What stands for "no such address". */
    static final long NONE = 0;

    /** Pages that a mapping shows in order: listed, or all behind the first. */
    private static final class Pages {
        final long count;
        private final long firstPhysAddr;
        private final long @Nullable [] listed;

        Pages(long count, long firstPhysAddr, long @Nullable [] listed) {
            this.count = count;
            this.firstPhysAddr = firstPhysAddr;
            this.listed = listed;
        }

        long physAddr(long index) {
            return listed == null ? firstPhysAddr + (index << Addresses.PAGE_SHIFT) : listed[(int) index];
        }
    }

    private final long start;
    private final long sizePages;
    /** Mappings by offset from the start in pages; each is followed by a guard page. */
    private final TreeMap<Long, Pages> mappings = new TreeMap<>();
    /** Lengths of gaps in pages, by offset in pages. */
    private final TreeMap<Long, Long> gaps = new TreeMap<>();

    VmallocArea(VirtRange range) {
        start = Addresses.alignUp(range.first(), Addresses.PAGE_SIZE);
        sizePages = (range.last() - start + 1) >>> Addresses.PAGE_SHIFT;
        gaps.put(0L, sizePages);
    }

    long map(long[] pagePhysAddrs) {
        return map(new Pages(pagePhysAddrs.length, 0, pagePhysAddrs.clone()));
    }

    long mapContiguous(long physAddr, long count) {
        return map(new Pages(count, physAddr, null));
    }

    private synchronized long map(Pages pages) {
        long needed = pages.count + 1;
        for (Map.Entry<Long, Long> gap : gaps.entrySet()) {
            if (gap.getValue() >= needed) {
                return mapInto(gap.getKey(), gap.getValue(), pages);
            }
        }
        return NONE;
    }

    private long mapInto(long offset, long gapPages, Pages pages) {
        long taken = pages.count + 1;
        gaps.remove(offset);
        if (gapPages > taken) {
            gaps.put(offset + taken, gapPages - taken);
        }
        mappings.put(offset, pages);
        return start + (offset << Addresses.PAGE_SHIFT);
    }

    synchronized void unmap(long virtAddr) {
        long offset = (virtAddr - start) >>> Addresses.PAGE_SHIFT;
        Pages pages = Addresses.isAligned(virtAddr, Addresses.PAGE_SIZE) ? mappings.remove(offset) : null;
        if (pages == null) {
            throw new IllegalStateException("nothing is mapped at " + Addresses.hex(virtAddr));
        }
        giveBack(offset, pages.count + 1);
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
        Map.Entry<Long, Pages> below = mappings.floorEntry(page);
        if (below == null || page - below.getKey() >= below.getValue().count) {
            return KernelMemory.NO_PHYS_ADDR;
        }
        return below.getValue().physAddr(page - below.getKey()) + (virtAddr & ~Addresses.PAGE_MASK);
    }

    synchronized int mappingCount() {
        return mappings.size();
    }
}
