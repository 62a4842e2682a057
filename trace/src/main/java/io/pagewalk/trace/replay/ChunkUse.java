package io.pagewalk.trace.replay;

import java.util.Arrays;

/** How many live mappings each chunk of memory has: an open-addressed table, as large as what is live. */
final class ChunkUse {
    private static final long EMPTY = -1L;
    private static final int LEAST = 64;

    private long[] chunks = emptyTable(LEAST);
    private int[] counts = new int[LEAST];
    private int used;

    private static long[] emptyTable(int size) {
        long[] table = new long[size];
        Arrays.fill(table, EMPTY);
        return table;
    }

    void add(long chunk) {
        if (2 * used >= chunks.length) {
            resize(2 * chunks.length);
        }
        int slot = slotOf(chunk);
        if (chunks[slot] == EMPTY) {
            chunks[slot] = chunk;
            used++;
        }
        counts[slot]++;
    }

    /** Takes one away; true when it was the chunk's last. */
    boolean remove(long chunk) {
        int slot = slotOf(chunk);
        if (chunks[slot] == EMPTY) {
            throw new IllegalStateException("chunk " + chunk + " is not in use");
        }
        if (--counts[slot] > 0) {
            return false;
        }
        chunks[slot] = EMPTY;
        used--;
        closeGap(slot);
        return true;
    }

    int size() {
        return used;
    }

    private int slotOf(long chunk) {
        int mask = chunks.length - 1;
        int slot = home(chunk, mask);
        while (chunks[slot] != EMPTY && chunks[slot] != chunk) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private static int home(long chunk, int mask) {
        return (int) Pattern.mix(chunk, 0) & mask;
    }

    /** Moves back what stands behind a gap and would not be found across it. */
    private void closeGap(int gap) {
        int mask = chunks.length - 1;
        int hole = gap;
        for (int at = (gap + 1) & mask; chunks[at] != EMPTY; at = (at + 1) & mask) {
            int distance = (at - home(chunks[at], mask)) & mask;
            if (distance >= ((at - hole) & mask)) {
                chunks[hole] = chunks[at];
                counts[hole] = counts[at];
                chunks[at] = EMPTY;
                counts[at] = 0;
                hole = at;
            }
        }
    }

    private void resize(int size) {
        long[] oldChunks = chunks;
        int[] oldCounts = counts;
        chunks = emptyTable(size);
        counts = new int[size];
        for (int i = 0; i < oldChunks.length; i++) {
            if (oldChunks[i] != EMPTY) {
                int slot = slotOf(oldChunks[i]);
                chunks[slot] = oldChunks[i];
                counts[slot] = oldCounts[i];
            }
        }
    }
}
