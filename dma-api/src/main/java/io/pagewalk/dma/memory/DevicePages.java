package io.pagewalk.dma.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which pages are {@code ZONE_DEVICE}: memory of devices that has page structures, and whose map each page belongs to.
 * Implements what dma-core:SGA-4 and dma-core:DIR-33 ask about a page.
 *
 * <p>Thread-safe. A lookup takes no lock, allocates nothing, and is one field test while there are no such pages.
 */
public final class DevicePages {

    private record Range(long firstPfn, long lastPfn, DevicePageMap map) {}

    /** In ascending order; a change makes a new list, so that lookups need no lock. */
    private volatile @Nullable List<Range> ranges;

    /** Makes a registry without pages. */
    public DevicePages() {}

    /**
     * Gives pages to a map. A map may have several ranges.
     *
     * @param range whole pages, none of which belongs to a map yet
     * @param map whose they are
     * @throws IllegalArgumentException when the range isn't whole pages or overlaps another; nothing is changed then
     */
    public synchronized void add(PhysRange range, DevicePageMap map) {
        Objects.requireNonNull(map, "map");
        if (!Addresses.isAligned(range.first(), Addresses.PAGE_SIZE)
                || !Addresses.isAligned(range.last() + 1, Addresses.PAGE_SIZE)) {
            throw new IllegalArgumentException(range + " of " + map.name() + " is not whole pages");
        }
        long firstPfn = range.first() >>> Addresses.PAGE_SHIFT;
        long lastPfn = range.last() >>> Addresses.PAGE_SHIFT;
        List<Range> changed = ranges == null ? new ArrayList<>() : new ArrayList<>(ranges);
        int before = floor(changed, lastPfn);
        if (before >= 0 && Addresses.lessOrEqual(firstPfn, changed.get(before).lastPfn())) {
            throw new IllegalArgumentException(range + " of " + map.name() + " overlaps pages of "
                    + changed.get(before).map().name());
        }
        changed.add(before + 1, new Range(firstPfn, lastPfn, map));
        ranges = changed;
    }

    /**
     * Finds the map of a page.
     *
     * @param pfn its page frame number, unsigned
     * @return the map, or null for a page of ordinary memory
     */
    public @Nullable DevicePageMap mapOf(long pfn) {
        List<Range> now = ranges;
        if (now == null) {
            return null;
        }
        int at = floor(now, pfn);
        return at >= 0 && Addresses.lessOrEqual(pfn, now.get(at).lastPfn())
                ? now.get(at).map()
                : null;
    }

    /** The last range that begins at a frame or before it; -1 if all begin after it. */
    private static int floor(List<Range> sorted, long pfn) {
        int low = 0;
        int high = sorted.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (Addresses.lessOrEqual(sorted.get(middle).firstPfn(), pfn)) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }
}
