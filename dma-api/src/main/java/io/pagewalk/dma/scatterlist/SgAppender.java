package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;

/** Puts pages into entries at the end of a list. Implements dma-core:SGA-1 to SGA-11. Thread-safe as its parts are. */
final class SgAppender {
    /*
     * Three steps. Pages that follow the last entry make it longer, whole pages each, even if the bytes asked for end
     * inside one (SGA-3; that they are not counted off is the kernel's, SGA-5). The rest is cut into runs of pages that
     * follow each other, as long as the limit allows by page count alone (SGA-6), and each run becomes an entry. Entries
     * come from the chunk at the end of the list. Its last one stays free as long as more will be needed than it can
     * give: then it becomes the CHAIN to a chunk sized by what is known to come (SGA-8).
     */

    private static final String SITE = "sg_alloc_append_table_from_pages";

    private final KernelConfig config;
    private final KernelLog log;
    private final SgChunks chunks;

    SgAppender(KernelConfig config, KernelLog log, SgChunks chunks) {
        this.config = config;
        this.log = log;
        this.chunks = chunks;
    }

    int append(SgAppendTable append, PageRuns pages, long offset, long sizeBytes, int leftPages) {
        requireUsable(append);
        int refused = refuse(append, pages, offset);
        if (refused != 0) {
            return refused;
        }
        SgTable table = append.table();
        int prv = append.prv();
        long oldLength = prv < 0 ? 0 : table.lengthBytes(prv);
        int merged = prv < 0 ? 0 : mergeIntoLast(table, prv, pages);
        if (merged < pages.count() && !addRuns(append, pages, merged, offset, sizeBytes, leftPages)) {
            if (prv >= 0) {
                table.resize(prv, table.offset(prv), oldLength);
            }
            return -Errno.ENOMEM;
        }
        if (leftPages == 0) {
            table.markEnd(append.prv());
        }
        return 0;
    }

    private void requireUsable(SgAppendTable append) {
        List<SgChunk> chain = append.table().chain();
        if (chain != null) {
            chunks.requireOurs(chain);
        }
        if (append.prv() >= append.table().entries()) {
            throw new KernelBugException(
                    "append after entry " + append.prv() + " of a list that was freed (dma-core:SG-12)");
        }
    }

    /** An errno, or 0 when the call may go on (SGA-1, SGA-2). */
    private int refuse(SgAppendTable append, PageRuns pages, long offset) {
        if (pages.limitBytes() == 0) {
            log.warn(SITE, "a segment limit below a page holds no page (dma-core:SGA-1)");
            return -Errno.EINVAL;
        }
        if (append.prv() < 0) {
            return 0;
        }
        if (!config.sgChain()) {
            return -Errno.EOPNOTSUPP;
        }
        if (offset != 0) {
            log.warn(SITE, "offset " + Addresses.hex(offset) + " in a later append (dma-core:SGA-2)");
            return -Errno.EINVAL;
        }
        return 0;
    }

    /** How many pages made the last entry longer (SGA-3). */
    private static int mergeIntoLast(SgTable table, int prv, PageRuns pages) {
        long lastPfn = ((table.physAddr(prv) + table.lengthBytes(prv)) >>> Addresses.PAGE_SHIFT) - 1;
        long grown = table.lengthBytes(prv);
        int page = 0;
        while (page < pages.count()
                && pages.follows(page, lastPfn)
                && grown + Addresses.PAGE_SIZE <= pages.limitBytes()) {
            grown += Addresses.PAGE_SIZE;
            lastPfn++;
            page++;
        }
        table.resize(prv, table.offset(prv), grown);
        return page;
    }

    /** Whether all runs from a page on became entries (SGA-7, SGA-9); false when there is no memory (SGA-10). */
    private boolean addRuns(
            SgAppendTable append, PageRuns pages, int firstPage, long offset, long sizeBytes, int leftPages) {
        int runs = pages.countRuns(firstPage);
        int page = firstPage;
        long pageOffset = offset;
        long bytesLeft = sizeBytes;
        int entry = append.prv();
        for (int i = 0; i < runs; i++) {
            entry = nextEntry(append, entry, (long) runs - i + leftPages);
            if (entry < 0) {
                return false;
            }
            int end = pages.runEnd(page);
            long runBytes = ((long) (end - page) << Addresses.PAGE_SHIFT) - pageOffset;
            long length = Addresses.min(bytesLeft, runBytes) & SgTable.U32;
            append.table().setPage(entry, pages.physAddr(page), pageOffset, length);
            bytesLeft -= runBytes;
            pageOffset = 0;
            page = end;
        }
        append.grew(runs, entry);
        return true;
    }

    /** The entry after the current one, in a new chunk if need be (SGA-8); -1 when there is no memory. */
    private int nextEntry(SgAppendTable append, int current, long needed) {
        if (current >= 0) {
            int next = entryAfter(append.table(), current);
            if (needed == 1 || !append.table().isEnd(next)) {
                return next;
            }
            requireEndOfChunk(append.table(), next);
        }
        SgChunk chunk = chunks.allocate((int) Math.min(needed, SgChunks.MAX_SINGLE_ALLOC));
        if (chunk == null) {
            return -1;
        }
        append.chain(chunk, current < 0, config.sgDmaFlags());
        return current + 1;
    }

    private static int entryAfter(SgTable table, int current) {
        int next = table.next(current);
        if (next < 0) {
            throw new KernelBugException(
                    "entry " + current + " ended the list and one more is needed (dma-core:SGA-11)");
        }
        return next;
    }

    private static void requireEndOfChunk(SgTable table, int end) {
        if (end != table.entries() - 1) {
            throw new IllegalStateException(
                    "entry " + end + " was ended inside its chunk, where lists do not chain (dma-core:SGA-8)");
        }
    }
}
