package io.pagewalk.backends.iommu.iova;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The range tree as a sorted list, written from the requirements without a thought for speed (iommu:IOVA-1 to IOVA-22).
 */
final class NaiveIovas {
    /** One range; the last one of a list is the anchor. */
    static final class Range {
        long lo;
        final long hi;

        Range(long lo, long hi) {
            this.lo = lo;
            this.hi = hi;
        }
    }

    final List<Range> ranges = new ArrayList<>();
    final long startPfn;
    final long dma32Pfn;
    long max32;
    Range cached;
    Range cached32;

    NaiveIovas(long granule, long startPfn) {
        this.startPfn = startPfn;
        this.dma32Pfn = (1L << 32) / granule;
        this.max32 = dma32Pfn;
        Range anchor = new Range(-1L, -1L);
        ranges.add(anchor);
        cached = anchor;
        cached32 = anchor;
    }

    private static boolean below(long a, long b) {
        return Long.compareUnsigned(a, b) < 0;
    }

    @Nullable Range alloc(long size, long limitPfn, boolean aligned) {
        long limit = limitPfn + 1;
        boolean use32 = !below(dma32Pfn, limit);
        if (use32 && !below(size, max32)) {
            return null;
        }
        long align = 1;
        while (aligned && below(align, size)) {
            align *= 2;
        }
        int from = ranges.indexOf(use32 ? cached32 : cached);
        long retryPfn = ranges.get(from).hi;
        Range found = search(from, limit, startPfn, size, align);
        if (found == null && below(retryPfn, limit)) {
            found = search(ranges.size() - 1, limit, retryPfn + 1, size, align);
        }
        if (found == null) {
            max32 = size;
            return null;
        }
        insert(found);
        if (below(found.hi, dma32Pfn)) {
            cached32 = found;
        } else {
            cached = found;
        }
        return found;
    }

    private @Nullable Range search(int from, long limit, long low, long size, long align) {
        long high = limit;
        for (int i = from; ; i--) {
            if (below(ranges.get(i).lo, high)) {
                high = ranges.get(i).lo;
            }
            long lo = Long.remainderUnsigned(high - size, align) == 0
                    ? high - size
                    : high - size - Long.remainderUnsigned(high - size, align);
            boolean fitsAboveNext = i == 0 || below(ranges.get(i - 1).hi, lo);
            if (fitsAboveNext || below(lo, low)) {
                return below(high, size) || below(lo, low) ? null : new Range(lo, lo + size - 1);
            }
        }
    }

    private void insert(Range range) {
        int at = 0;
        while (below(ranges.get(at).lo, range.lo)) {
            at++;
        }
        ranges.add(at, range);
    }

    void free(long pfn) {
        Range range = find(pfn);
        if (range == null) {
            return;
        }
        int at = ranges.indexOf(range);
        Range next = ranges.get(at + 1);
        if (range == cached32 || (below(range.hi, dma32Pfn) && !below(range.lo, cached32.lo))) {
            cached32 = next;
        }
        if (below(range.lo, dma32Pfn)) {
            max32 = dma32Pfn;
        }
        if (!below(range.lo, cached.lo)) {
            cached = next;
        }
        ranges.remove(at);
    }

    @Nullable Range find(long pfn) {
        for (Range range : ranges) {
            if (!below(pfn, range.lo) && !below(range.hi, pfn)) {
                return range;
            }
        }
        return null;
    }

    void reserve(long lo, long hi) {
        long from = lo;
        boolean overlapSeen = false;
        for (Range range : ranges) {
            boolean overlaps = !below(hi, range.lo) && !below(range.hi, from);
            if (!overlaps && overlapSeen) {
                break;
            }
            if (overlaps) {
                overlapSeen = true;
                if (below(from, range.lo)) {
                    range.lo = from;
                }
                if (below(range.hi, hi)) {
                    from = range.hi + 1;
                } else {
                    return;
                }
            }
        }
        insert(new Range(from, hi));
    }
}
