package io.pagewalk.dma.memory;

/** The free page blocks of one zone. Not thread-safe. */
final class BuddyZone {

    /*
     * A free block of order k is 2^k frames, naturally aligned. Its buddy is the block with which it makes up one of order k + 1.
     * Splitting a block keeps the lower half and frees the upper; freeing a block joins it with its buddy for as long as the buddy
     * is free too. No two buddies are ever both free, so once everything is free again the blocks are those of the start.
     *
     * Where there is a choice, the smallest block that will do is taken, and of those the lowest. Unlike a list that remembers
     * what was freed last, that makes the answer a function of what is free.
     *
     * Blocks of the highest order are never listed one by one: they stand in runs, and a machine of terabytes starts as one run.
     * Zones begin and end at multiples of the largest block, so no block lies in two of them.
     */
    private final BlockRuns[] freeByOrder = new BlockRuns[PageAllocator.MAX_ORDER + 1];

    private long freeFrames;

    BuddyZone() {
        for (int order = 0; order < freeByOrder.length; order++) {
            freeByOrder[order] = new BlockRuns(order);
        }
    }

    long freeFrames() {
        return freeFrames;
    }

    /** Takes a block out; gives its first frame, or -1 if no block is large enough. */
    long take(int order) {
        for (int from = order; from < freeByOrder.length; from++) {
            if (!freeByOrder[from].isEmpty()) {
                long pfn = freeByOrder[from].takeLowest();
                freeUpperHalves(pfn, from, order);
                freeFrames -= 1L << order;
                return pfn;
            }
        }
        return -1;
    }

    private void freeUpperHalves(long pfn, int from, int order) {
        for (int half = from - 1; half >= order; half--) {
            freeByOrder[half].add(pfn + (1L << half));
        }
    }

    /** Frees a block and joins it with its buddies. */
    void give(long pfn, int order) {
        freeFrames += 1L << order;
        long joined = pfn;
        int joinedOrder = order;
        while (joinedOrder < PageAllocator.MAX_ORDER
                && freeByOrder[joinedOrder].contains(joined ^ (1L << joinedOrder))) {
            freeByOrder[joinedOrder].remove(joined ^ (1L << joinedOrder));
            joined &= -(2L << joinedOrder);
            joinedOrder++;
        }
        freeByOrder[joinedOrder].add(joined);
    }

    /** Frees a range of frames in as few blocks as can be; an empty range if the last is before the first. */
    void giveRange(long firstPfn, long lastPfn) {
        long pfn = firstPfn;
        while (pfn <= lastPfn) {
            int order = largestBlockAt(pfn, lastPfn);
            if (order == PageAllocator.MAX_ORDER) {
                pfn = giveLargestBlocks(pfn, lastPfn);
            } else {
                give(pfn, order);
                pfn += 1L << order;
            }
        }
    }

    private static int largestBlockAt(long pfn, long lastPfn) {
        int aligned = Math.min(Long.numberOfTrailingZeros(pfn), PageAllocator.MAX_ORDER);
        int fitting = Long.SIZE - 1 - Long.numberOfLeadingZeros(lastPfn - pfn + 1);
        return Math.min(aligned, fitting);
    }

    private long giveLargestBlocks(long pfn, long lastPfn) {
        long end = Addresses.alignDown(lastPfn + 1, 1L << PageAllocator.MAX_ORDER);
        freeByOrder[PageAllocator.MAX_ORDER].addAll(pfn, end - 1);
        freeFrames += end - pfn;
        return end;
    }

    /** Takes out all free frames from one to another, and splits the blocks at the two ends. */
    void takeRange(long firstPfn, long lastPfn) {
        // Upwards: what is left of a block that is cut goes to lower orders, which are done by then.
        for (int order = 0; order < freeByOrder.length; order++) {
            BlockRuns free = freeByOrder[order];
            boolean cutsBelow = free.contains(firstPfn);
            boolean cutsAbove = free.contains(lastPfn);
            long firstOfBlocks = Addresses.alignDown(firstPfn, 1L << order);
            long lastOfBlocks = lastPfn | ((1L << order) - 1);
            freeFrames -= free.framesWithin(firstOfBlocks, lastOfBlocks);
            free.removeAll(firstPfn, lastPfn);
            if (cutsBelow) {
                giveRange(firstOfBlocks, firstPfn - 1);
            }
            if (cutsAbove) {
                giveRange(lastPfn + 1, lastOfBlocks);
            }
        }
    }

    /** Counts the free frames from one to another. */
    long freeFramesWithin(long firstPfn, long lastPfn) {
        long frames = 0;
        for (BlockRuns free : freeByOrder) {
            frames += free.framesWithin(firstPfn, lastPfn);
        }
        return frames;
    }

    void addFreeFramesTo(BlockRuns singles) {
        for (BlockRuns free : freeByOrder) {
            free.addFramesTo(singles);
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (BlockRuns free : freeByOrder) {
            if (!free.isEmpty()) {
                text.append(text.length() == 0 ? "" : ", ").append(free);
            }
        }
        return text.toString();
    }
}
