package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureInjection;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.DevicePages;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Allocates and frees scatterlists of one machine, in chunks of up to 128 entries that chain. Implements dma-core:SG-10
 * to SG-14, SGA-1 to SGA-13 and SGH-4.
 *
 * <p>Results are those of the kernel: 0 or a negated errno. Every allocation passes the failure point {@code sg.chunk},
 * one of {@link #split} passes {@code sg.split} first. {@link #liveChunks()} shows what has not been freed, so that
 * what the kernel leaks is seen to leak. A list is freed on the machine that allocated it.
 *
 * <p>Thread-safe, while no two threads use the same table.
 *
 * <p>Differs from Linux: what the kernel leaves undefined throws. Appending no pages (SGA-13) is an
 * {@link IllegalArgumentException}; freeing by a count that runs into an entry which is no CHAIN, and appending to a
 * table that was freed, are a {@link io.pagewalk.dma.KernelBugException}; appending over an END that a driver set
 * before the end of a chunk is an {@link IllegalStateException}.
 */
public final class Scatterlists {
    /** The segment limit of {@code sg_alloc_table_from_pages}, which the algorithm rounds down to a page. */
    private static final long NO_LIMIT = 0xffff_ffffL;

    private final KernelConfig config;
    private final KernelLog log;
    private final DevicePages devicePages;
    private final SgChunks chunks;
    private final SgAppender appender;
    private final SgSplitter splitter;

    /**
     * Makes the place where a machine's lists are allocated; {@link io.pagewalk.dma.Machine#scatterlists()} is the one.
     *
     * @param config how the kernel was built
     * @param log takes its WARNs
     * @param failures where allocations may be made to fail
     * @param devicePages which pages are device memory
     */
    public Scatterlists(KernelConfig config, KernelLog log, FailureInjection failures, DevicePages devicePages) {
        this.config = Objects.requireNonNull(config, "config");
        this.log = Objects.requireNonNull(log, "log");
        this.devicePages = Objects.requireNonNull(devicePages, "devicePages");
        chunks = new SgChunks(failures.point("sg.chunk"));
        appender = new SgAppender(config, log, chunks);
        splitter = new SgSplitter(config, failures.point("sg.split"), chunks);
    }

    /**
     * {@code sg_alloc_table}: gives a table so many zeroed entries (dma-core:SG-10). Whatever the table held before is
     * overwritten; chunks that were not freed leak.
     *
     * @param table the table
     * @param nents how many entries, not negative
     * @return 0; -EINVAL for no entries, and for more than 128 where chunks do not chain (SG-14); -ENOMEM with the
     *     counts left one above what had been allocated, unless that was nothing (SG-11), as it is for more than
     *     {@link SgTable#MAX_ENTRIES}. The list is null on error
     * @throws IllegalArgumentException when the count is negative
     */
    public int allocTable(SgTable table, int nents) {
        if (nents < 0) {
            throw new IllegalArgumentException("a table of " + nents + " entries");
        }
        table.zero();
        if (nents == 0) {
            return -Errno.EINVAL;
        }
        if (nents > SgChunks.MAX_SINGLE_ALLOC && !config.sgChain()) {
            warnOnce(nents);
            return -Errno.EINVAL;
        }
        if (nents > SgTable.MAX_ENTRIES) {
            return -Errno.ENOMEM;
        }
        for (int left = nents; left > 0; ) {
            SgChunk chunk = chunks.allocate(Math.min(left, SgChunks.MAX_SINGLE_ALLOC));
            if (chunk == null) {
                return outOfMemory(table);
            }
            int carried = left > chunk.entries() ? chunk.entries() - 1 : left;
            link(table, chunk);
            table.count(table.origNents() + carried);
            left -= carried;
        }
        return 0;
    }

    private void link(SgTable table, SgChunk chunk) {
        if (table.chain() == null) {
            table.startChain(chunk, config.sgDmaFlags());
        } else {
            table.extendChain(chunk);
        }
    }

    /** The entry that was to be the CHAIN counts as well, so that freeing by count finds all chunks (SG-11). */
    private int outOfMemory(SgTable table) {
        if (table.origNents() > 0) {
            table.count(table.origNents() + 1);
        }
        freeTable(table);
        return -Errno.ENOMEM;
    }

    private void warnOnce(int nents) {
        KernelLog.Site site = log.site("sg_alloc_table");
        if (site.isFirst()) {
            site.warn(nents + " entries need more than one chunk, and chunks do not chain (dma-core:SG-14)");
        }
    }

    /**
     * {@code sg_free_table}: frees a list by {@link SgTable#origNents()} (dma-core:SG-12, SG-13).
     *
     * @param table the table; its list is null afterwards and its counts stay. One without a list is left alone
     * @throws IllegalArgumentException when the list is not an allocated one of this machine; nothing is changed then
     * @throws io.pagewalk.dma.KernelBugException when the count runs over a chunk that has no CHAIN
     */
    public void freeTable(SgTable table) {
        chunks.free(table, table.origNents());
    }

    /**
     * {@code sg_alloc_table_from_pages}: {@link #allocTableFromPagesSegment} with entries of up to 4 GiB less a page
     * (dma-core:SGA-12).
     *
     * @param table the table, written on success only
     * @param pfns page frame numbers
     * @param nPages how many of them, at least 1
     * @param offset of the first byte in the first page, unsigned 32-bit
     * @param sizeBytes how many bytes the list covers, unsigned
     * @return 0 or -ENOMEM
     * @throws IllegalArgumentException when a number is out of its range
     */
    public int allocTableFromPages(SgTable table, long[] pfns, int nPages, long offset, long sizeBytes) {
        return allocTableFromPagesSegment(table, pfns, nPages, offset, sizeBytes, NO_LIMIT);
    }

    /**
     * {@code sg_alloc_table_from_pages_segment}: makes a list of pages, with pages that follow each other merged into
     * one entry (dma-core:SGA-12).
     *
     * @param table the table, written on success only; a list it held before is overwritten
     * @param pfns page frame numbers
     * @param nPages how many of them, at least 1
     * @param offset of the first byte in the first page, unsigned 32-bit
     * @param sizeBytes how many bytes the list covers, unsigned
     * @param maxSegmentBytes the most an entry may hold, unsigned 32-bit
     * @return 0, -ENOMEM, or -EINVAL when not even a page may be held
     * @throws IllegalArgumentException when a number is out of its range
     */
    public int allocTableFromPagesSegment(
            SgTable table, long[] pfns, int nPages, long offset, long sizeBytes, long maxSegmentBytes) {
        Objects.requireNonNull(table, "table");
        SgAppendTable append = new SgAppendTable();
        int error = allocAppendTableFromPages(append, pfns, nPages, offset, sizeBytes, maxSegmentBytes, 0);
        if (error != 0) {
            freeAppendTable(append);
            return error;
        }
        // The kernel's WARN about spare entries cannot fire: with nothing left to append, none are allocated (SGA-8).
        table.moveFrom(append.table());
        return 0;
    }

    /**
     * {@code sg_alloc_append_table_from_pages}: appends pages to a list, merged into its last entry and with each other
     * as far as they follow each other (dma-core:SGA-1 to SGA-11).
     *
     * @param append the table
     * @param pfns page frame numbers
     * @param nPages how many of them, at least 1
     * @param offset of the first byte in the first page, unsigned 32-bit; 0 unless this is the first append
     * @param sizeBytes how many bytes these pages add, unsigned; pages that are merged into the last entry always count
     *     whole (SGA-5)
     * @param maxSegmentBytes the most an entry may hold, unsigned 32-bit, rounded down to a page
     * @param leftPages how many entries later appends will need at most; 0 ends the list
     * @return 0; -EINVAL and -EOPNOTSUPP with nothing changed (SGA-1, SGA-2); -ENOMEM with the counts as before, after
     *     which the table is to be freed (SGA-10)
     * @throws IllegalArgumentException when a number is out of its range, or there are no pages (SGA-13)
     * @throws io.pagewalk.dma.KernelBugException when a list that was ended needs an entry more (SGA-11), or was freed
     */
    public int allocAppendTableFromPages(
            SgAppendTable append,
            long[] pfns,
            int nPages,
            long offset,
            long sizeBytes,
            long maxSegmentBytes,
            int leftPages) {
        SgTable.requireU32("offset", offset);
        if (leftPages < 0) {
            throw new IllegalArgumentException(leftPages + " entries left to append");
        }
        PageRuns pages = new PageRuns(pfns, nPages, maxSegmentBytes, devicePages);
        return appender.append(append, pages, offset, sizeBytes, leftPages);
    }

    /**
     * {@code sg_free_append_table}: frees a list by {@link SgAppendTable#totalNents()}. Where {@code leftPages} was too
     * low, that is one chunk and the others leak (dma-core:SGA-11, QRK-39).
     *
     * @param append the table; its list is null afterwards and its counts stay. One without a list is left alone
     * @throws IllegalArgumentException when the list is not an allocated one of this machine; nothing is changed then
     * @throws io.pagewalk.dma.KernelBugException when the count runs over a chunk that has no CHAIN
     */
    public void freeAppendTable(SgAppendTable append) {
        chunks.free(append.table(), append.totalNents());
    }

    /**
     * {@code sg_split}: copies consecutive parts of a list into lists of their own (dma-core:SGH-4). A part's first
     * entry keeps its page and gets a larger offset; DMA addresses and lengths are 0 unless the list is mapped. An
     * entry that is skipped to its very end begins the first part, without bytes.
     *
     * @param in the list, all of it up to END
     * @param mappedNents how many DMA segments it has, 0 when it is not mapped
     * @param skipBytes how many bytes to leave out first, not negative
     * @param sizes how long each part is in bytes, unsigned; at least one part
     * @param out takes a new table for each part, whose {@link SgTable#nents()} is its count of DMA segments; written
     *     on success only. Each is given back with {@link #freeSplit}
     * @return 0; -EINVAL when the parts reach beyond the list, or beyond its DMA segments; -ENOMEM
     * @throws IllegalArgumentException when a number is out of its range or there is no room for the tables
     * @throws io.pagewalk.dma.KernelBugException when a part has more DMA segments than entries
     */
    public int split(SgTable in, int mappedNents, long skipBytes, long[] sizes, @Nullable SgTable[] out) {
        if (sizes.length == 0 || out.length < sizes.length) {
            throw new IllegalArgumentException(sizes.length + " parts into " + out.length + " tables");
        }
        if (skipBytes < 0 || mappedNents < 0 || mappedNents > in.entries()) {
            throw new IllegalArgumentException(
                    "skip of " + skipBytes + " bytes in " + mappedNents + " DMA segments of a list of " + in.entries());
        }
        return splitter.split(in, mappedNents, skipBytes, sizes, out);
    }

    /**
     * Frees a list that {@link #split} made, which is one chunk of any size.
     *
     * @param part the list; null afterwards, its counts stay. A table without a list is left alone
     * @throws IllegalArgumentException when the list is not an allocated one of this machine; nothing is changed then
     */
    public void freeSplit(SgTable part) {
        chunks.freeOne(part);
    }

    /**
     * The chunks that were allocated and not freed, oldest first.
     *
     * @return a copy
     */
    public List<SgChunk> liveChunks() {
        return chunks.live();
    }
}
