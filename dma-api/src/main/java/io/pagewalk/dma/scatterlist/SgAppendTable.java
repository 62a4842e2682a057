package io.pagewalk.dma.scatterlist;

/**
 * The kernel's {@code sg_append_table}: a table that grows by runs of pages, and where it ended last. A new one is
 * zeroed. It grows with {@link Scatterlists#allocAppendTableFromPages} and is given back with
 * {@link Scatterlists#freeAppendTable}. Not thread-safe.
 */
public final class SgAppendTable {
    private final SgTable table = new SgTable(1);
    private int prv = -1;
    private int totalNents;

    /** Makes an empty table, without a list. */
    public SgAppendTable() {}

    /**
     * The table: its counts and entries.
     *
     * @return always the same one
     */
    public SgTable table() {
        return table;
    }

    /**
     * The last entry in use.
     *
     * @return its index, or -1 before the first append that succeeded
     */
    public int prv() {
        return prv;
    }

    /**
     * The entries allocated so far that can carry data, by which the table is freed (dma-core:SGA-8, SG-13).
     *
     * @return the count, which freeing keeps
     */
    public int totalNents() {
        return totalNents;
    }

    /** Links a new chunk, as the head of the list or after what there is (dma-core:SGA-8). */
    void chain(SgChunk chunk, boolean asHead, boolean withDmaFlags) {
        if (asHead) {
            table.startChain(chunk, withDmaFlags);
            totalNents = chunk.entries();
        } else {
            table.extendChain(chunk);
            totalNents += chunk.entries() - 1;
        }
    }

    /** Counts entries that an append filled (dma-core:SGA-9). */
    void grew(int count, int lastEntry) {
        table.count(table.nents() + count);
        prv = lastEntry;
    }
}
