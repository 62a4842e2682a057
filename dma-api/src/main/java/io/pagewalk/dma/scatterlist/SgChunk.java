package io.pagewalk.dma.scatterlist;

/**
 * A piece of memory that holds entries of an allocated list, at most 128 of them where lists are chained. It is live
 * from its allocation until it is freed; {@link Scatterlists#liveChunks()} shows what leaks. A chunk is itself and
 * equals no other. Immutable.
 */
public final class SgChunk {
    private final long id;
    private final int entries;

    SgChunk(long id, int entries) {
        this.id = id;
        this.entries = entries;
    }

    /**
     * Its number among the machine's chunks, in order of allocation.
     *
     * @return from 0
     */
    public long id() {
        return id;
    }

    /**
     * How many entries it holds, a CHAIN included.
     *
     * @return at least 1
     */
    public int entries() {
        return entries;
    }

    @Override
    public String toString() {
        return "chunk " + id + " of " + entries + " entries";
    }
}
