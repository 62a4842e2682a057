package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's {@code sg_mapping_iter}: walks the bytes of a list in pieces that each lie in one page, as software does
 * that maps page after page. Implements dma-core:SGH-2.
 *
 * <p>The first piece of an entry starts at its offset, which may lie pages away; an entry without bytes whose offset is
 * not zero gives one piece without bytes. A piece is taken whole unless {@link #consume} says less. Reusable: starting
 * again allocates nothing. Not thread-safe.
 *
 * <p>Differs from Linux: there are no flags, since nothing is mapped here and caches are the CPU's own matter.
 */
public final class SgMappingIter {
    private final SgPageIter pages = new SgPageIter();
    private @Nullable SgTable sg;
    private long inPage;
    private long pieceLeft;
    private long pieceBytes;
    private long consumed;

    /** Makes an iterator that has nothing to walk until it is started. */
    public SgMappingIter() {}

    /**
     * Starts a walk, {@code sg_miter_start}.
     *
     * @param list the list
     * @param nents how many entries at most
     * @return this
     * @throws IllegalArgumentException when the count is negative
     */
    public SgMappingIter start(SgTable list, int nents) {
        pages.startCpu(list, nents, 0);
        sg = list;
        inPage = 0;
        pieceLeft = 0;
        pieceBytes = 0;
        consumed = 0;
        return this;
    }

    /**
     * Leaves out bytes from where the walk is, {@code sg_miter_skip}.
     *
     * @param bytes how many, not negative
     * @return false when the list ends before
     * @throws IllegalArgumentException when the number is negative
     */
    public boolean skip(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("skip of " + bytes + " bytes");
        }
        stop();
        for (long left = bytes; left > 0; ) {
            if (!reachPiece()) {
                return false;
            }
            long taken = Math.min(left, pieceLeft);
            take(taken);
            left -= taken;
        }
        return true;
    }

    /**
     * Steps to the next piece: what was left of the last one, or the bytes of the next page, {@code sg_miter_next}.
     *
     * @return false when there is none
     */
    public boolean next() {
        stop();
        if (!reachPiece()) {
            return false;
        }
        pieceBytes = pieceLeft;
        consumed = pieceLeft;
        return true;
    }

    /**
     * Takes only the first bytes of the current piece; the walk goes on behind them.
     *
     * @param bytes how many, at most {@link #sizeBytes()}
     * @throws IllegalArgumentException when the piece has not so many
     */
    public void consume(long bytes) {
        if (bytes < 0 || bytes > pieceBytes) {
            throw new IllegalArgumentException(bytes + " bytes of a piece of " + pieceBytes);
        }
        consumed = bytes;
    }

    /** Gives the current piece up, {@code sg_miter_stop}; {@link #next()} goes on behind what was consumed. */
    public void stop() {
        take(consumed);
        pieceBytes = 0;
        consumed = 0;
    }

    private void take(long bytes) {
        inPage += bytes;
        pieceLeft -= bytes;
    }

    private boolean reachPiece() {
        if (pieceLeft > 0) {
            return true;
        }
        if (!pages.next()) {
            return false;
        }
        SgTable list = Objects.requireNonNull(sg, "the iterator was not started");
        int entry = pages.entry();
        long first = pages.pageInEntry() == 0 ? list.offset(entry) : 0;
        pages.skipPages(first >>> Addresses.PAGE_SHIFT);
        inPage = first & ~Addresses.PAGE_MASK;
        long start = (pages.pageInEntry() << Addresses.PAGE_SHIFT) + inPage;
        long toEntryEnd = list.offset(entry) + list.lengthBytes(entry) - start;
        pieceLeft = Math.min(toEntryEnd, Addresses.PAGE_SIZE - inPage);
        return true;
    }

    /**
     * The first byte of the current piece.
     *
     * @return its physical address
     */
    public long physAddr() {
        return pages.pageAddr() + inPage;
    }

    /**
     * The length of the current piece.
     *
     * @return bytes, 0 when there is no piece
     */
    public long sizeBytes() {
        return pieceBytes;
    }
}
