package io.pagewalk.trace.workload;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.SgEvent;
import org.jspecify.annotations.Nullable;

/** Rebuilds the lengths of a list's segments, which {@code dma_map_sg} leaves out when an IOMMU merged them. */
public final class SgLengths {
    /*
     * The event has the physical address of every segment, and address and size of every DMA segment; of what lies in between,
     * the `map` lines tell which page stands where in the range. Every segment begins on a page of its own in that range
     * (iommu:SG-7), so a segment starts where its page lies, the first such place after the start of the segment before it.
     * Inside a DMA segment nothing merges across a gap (SG-14, SG-15): all but its last segment reach to the start of the next
     * one, and the last has what remains of the DMA segment's size. What comes out is checked: every segment must lie together
     * physically, and all must lie in the DMA segments in order. A list that fails is not guessed at.
     */
    private SgLengths() {}

    /**
     * Rebuilds the lengths.
     *
     * @param event the list
     * @param run its map lines, covering it from the first page to the last
     * @return bytes of each segment, or null when lines and list do not fit together
     */
    public static long @Nullable [] rebuild(SgEvent.MapSg event, PieceRun run) {
        long[] starts = starts(event.physAddrs(), run);
        return starts == null ? null : lengths(event, run, starts);
    }

    /** Where in the range the page of each segment lies. */
    private static long @Nullable [] starts(long[] physAddrs, PieceRun run) {
        long[] starts = new long[physAddrs.length];
        long from = run.iova(0);
        for (int i = 0; i < starts.length; i++) {
            starts[i] = run.find(physAddrs[i] & Addresses.PAGE_MASK, from);
            if (starts[i] == -1L) {
                return null;
            }
            from = starts[i] + Addresses.PAGE_SIZE;
        }
        return starts;
    }

    private static long @Nullable [] lengths(SgEvent.MapSg event, PieceRun run, long[] starts) {
        long[] lengths = new long[starts.length];
        int segment = 0;
        long used = 0;
        for (int i = 0; i < starts.length; i++) {
            long first = starts[i] + (event.physAddrs()[i] & ~Addresses.PAGE_MASK);
            if (used == event.lengths()[segment]) {
                segment++;
                used = 0;
            }
            if (segment == event.dmaAddrs().length || first != event.dmaAddrs()[segment] + used) {
                return null;
            }
            long left = event.lengths()[segment] - used;
            lengths[i] = i + 1 < starts.length ? Addresses.min(starts[i + 1] - first, left) : left;
            if (lengths[i] == 0 || !run.isContiguous(first, lengths[i])) {
                return null;
            }
            used += lengths[i];
        }
        return segment == event.dmaAddrs().length - 1 && used == event.lengths()[segment] ? lengths : null;
    }
}
