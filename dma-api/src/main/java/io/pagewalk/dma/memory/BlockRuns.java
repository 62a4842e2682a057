package io.pagewalk.dma.memory;

import java.util.Map;
import java.util.TreeMap;

/**
 * A set of page blocks of one order, kept as runs of neighbours, so that a run of any length costs one entry.
 * Everything is in frame numbers; a block is named by its first frame. Not thread-safe.
 */
final class BlockRuns {

    private final int order;

    /** First to last block index of each run; neighbouring runs are always joined. */
    private final TreeMap<Long, Long> lastByFirst = new TreeMap<>();

    BlockRuns(int order) {
        this.order = order;
    }

    boolean isEmpty() {
        return lastByFirst.isEmpty();
    }

    boolean contains(long pfn) {
        long block = pfn >>> order;
        Map.Entry<Long, Long> run = lastByFirst.floorEntry(block);
        return run != null && block <= run.getValue();
    }

    /** Whether all blocks that begin from one frame to another are in the set. */
    boolean containsAll(long firstPfn, long lastPfn) {
        Map.Entry<Long, Long> run = lastByFirst.floorEntry(firstPfn >>> order);
        return run != null && (lastPfn >>> order) <= run.getValue();
    }

    /** Takes out the block with the lowest address; there must be one. */
    long takeLowest() {
        Map.Entry<Long, Long> run = lastByFirst.pollFirstEntry();
        long block = run.getKey();
        putBack(block + 1, run.getValue());
        return block << order;
    }

    void add(long pfn) {
        addAll(pfn, pfn);
    }

    /** Adds all blocks that begin from one frame to another; none of them is in the set. */
    void addAll(long firstPfn, long lastPfn) {
        long first = firstPfn >>> order;
        long last = lastPfn >>> order;
        Map.Entry<Long, Long> below = lastByFirst.lowerEntry(first);
        if (below != null && below.getValue() + 1 == first) {
            first = below.getKey();
        }
        Long lastOfNext = lastByFirst.remove(last + 1);
        if (lastOfNext != null) {
            last = lastOfNext;
        }
        lastByFirst.put(first, last);
    }

    void remove(long pfn) {
        removeAll(pfn, pfn);
    }

    /** Removes whatever blocks of the set hold a frame from one to another. */
    void removeAll(long firstPfn, long lastPfn) {
        long first = firstPfn >>> order;
        long last = lastPfn >>> order;
        Map.Entry<Long, Long> run = lastByFirst.floorEntry(last);
        while (run != null && run.getValue() >= first) {
            lastByFirst.remove(run.getKey());
            putBack(run.getKey(), Math.min(run.getValue(), first - 1));
            putBack(Math.max(run.getKey(), last + 1), run.getValue());
            run = lastByFirst.lowerEntry(run.getKey());
        }
    }

    private void putBack(long first, long last) {
        if (first <= last) {
            lastByFirst.put(first, last);
        }
    }

    /** Counts the frames from one to another that blocks of the set hold. */
    long framesWithin(long firstPfn, long lastPfn) {
        long frames = 0;
        for (Map.Entry<Long, Long> run :
                lastByFirst.headMap(lastPfn >>> order, true).descendingMap().entrySet()) {
            long last = lastFrameOf(run.getValue());
            if (last < firstPfn) {
                break;
            }
            frames += Math.min(last, lastPfn) - Math.max(run.getKey() << order, firstPfn) + 1;
        }
        return frames;
    }

    /** Adds the frames of all blocks to a set of blocks of order 0. */
    void addFramesTo(BlockRuns singles) {
        for (Map.Entry<Long, Long> run : lastByFirst.entrySet()) {
            singles.addAll(run.getKey() << order, lastFrameOf(run.getValue()));
        }
    }

    /**
     * Finds the highest place for a run of frames. For a set of order 0.
     *
     * @param frames how many
     * @param alignFrames of what the first of them is a multiple, a power of two
     * @param limitPfn the highest that may be used
     * @return the first frame of the place, or -1 if there is none
     */
    long highestFit(long frames, long alignFrames, long limitPfn) {
        for (Map.Entry<Long, Long> run : lastByFirst.descendingMap().entrySet()) {
            long last = Math.min(run.getValue(), limitPfn);
            long candidate = Addresses.alignDown(last - frames + 1, alignFrames);
            if (candidate >= run.getKey()) {
                return candidate;
            }
        }
        return -1;
    }

    private long lastFrameOf(long block) {
        return ((block + 1) << order) - 1;
    }

    @Override
    public String toString() {
        return "order " + order + ": " + lastByFirst;
    }
}
