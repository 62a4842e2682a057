package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelBugException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Hands out chunks, takes them back along a chain, and knows those that are live. Thread-safe. */
final class SgChunks {
    /** {@code SG_MAX_SINGLE_ALLOC}: how many entries of 32 bytes a page holds (dma-core:SG-1). */
    static final int MAX_SINGLE_ALLOC = 128;

    private final FailurePoint point;
    private final Set<SgChunk> live = new LinkedHashSet<>();
    private long allocated;

    SgChunks(FailurePoint point) {
        this.point = point;
    }

    /** A new chunk, or null when there is no memory for it. */
    @Nullable SgChunk allocate(int entries) {
        return point.fails() ? null : track(entries);
    }

    private synchronized SgChunk track(int entries) {
        SgChunk chunk = new SgChunk(allocated++, entries);
        live.add(chunk);
        return chunk;
    }

    synchronized List<SgChunk> live() {
        return List.copyOf(live);
    }

    /** Refuses a list that was not allocated here, for instance on another machine. */
    synchronized void requireOurs(List<SgChunk> chain) {
        if (!live.contains(chain.get(0))) {
            throw new IllegalArgumentException(chain.get(0) + " is no live one of this machine");
        }
    }

    synchronized void release(SgChunk chunk) {
        live.remove(chunk);
    }

    /**
     * Frees as many chunks as so many entries need, by count alone: what the count leaves out is lost (dma-core:SG-13,
     * SGA-11). The list is null afterwards and the table's counts stay (SG-12).
     */
    void free(SgTable table, int nents) {
        List<SgChunk> chain = table.chain();
        if (chain == null) {
            requireNoList(table);
            return;
        }
        requireOurs(chain);
        int left = nents;
        for (int i = 0; left > 0; i++) {
            boolean followed = left > MAX_SINGLE_ALLOC;
            if (followed) {
                requireChain(chain, i, left);
            }
            release(chain.get(i));
            left = followed ? left - (MAX_SINGLE_ALLOC - 1) : 0;
        }
        table.dropList();
    }

    /** Frees a list that is a single chunk, whatever its size. */
    void freeOne(SgTable table) {
        List<SgChunk> chain = table.chain();
        if (chain == null) {
            requireNoList(table);
            return;
        }
        requireOurs(chain);
        release(chain.get(0));
        table.dropList();
    }

    private static void requireNoList(SgTable table) {
        if (table.entries() != 0) {
            throw new IllegalArgumentException("a list of the driver's own is not freed (dma-core:SG-12)");
        }
    }

    /** Where more than a chunk is left, entry 127 is taken for a CHAIN unseen. */
    private static void requireChain(List<SgChunk> chain, int i, int left) {
        SgChunk chunk = chain.get(i);
        if (chunk.entries() != MAX_SINGLE_ALLOC || i == chain.size() - 1) {
            throw new KernelBugException("freeing " + left + " entries follows entry " + (MAX_SINGLE_ALLOC - 1) + " of "
                    + chunk + ", which is no CHAIN (dma-core:SG-13)");
        }
    }
}
