package io.pagewalk.rdma.umem;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Walks a mapped list in aligned blocks of one page size, as a driver fills a device's page table:
 * {@code rdma_for_each_block} and {@code rdma_umem_for_each_dma_block}. Reused; allocates nothing.
 *
 * <p>Implements rdma:BLK-1 to BLK-5. Not thread-safe.
 */
public final class BlockIterator {
    /** How the walk goes on behind a block (rdma:BLK-3, BLK-4). */
    public enum Rule {
        /** Over as many segments as the block spans, so that each block comes once: Linux 6.12 with its fixes. */
        WHOLE_BLOCK,
        /** Into the next segment at most, so that a block over several segments comes again: 6.12.0 and older. */
        ONE_SEGMENT_A_STEP
    }

    private static final long U32 = 0xffff_ffffL;

    private final Rule rule;
    private @Nullable SgTable sg;
    private int segment;
    private int segmentsLeft;
    private long advance;
    private long blockBytes;
    private long blocksLeft;
    private long dmaAddr;

    /** Makes an iterator that walks as Linux 6.12 does. */
    public BlockIterator() {
        this(Rule.WHOLE_BLOCK);
    }

    /**
     * Makes an iterator.
     *
     * @param rule how it goes on behind a block
     */
    public BlockIterator(Rule rule) {
        this.rule = Objects.requireNonNull(rule, "rule");
    }

    /**
     * Starts over a list, {@code rdma_for_each_block}.
     *
     * @param list the segments, mapped
     * @param nents how many of them
     * @param pageSize the block's size; of several bits the highest counts
     * @return this
     * @throws IllegalArgumentException when there are no so many segments, or the size is 0
     */
    public BlockIterator start(SgTable list, int nents, long pageSize) {
        return start(list, nents, pageSize, 0, -1L);
    }

    /**
     * Starts over a registered region, {@code rdma_umem_for_each_dma_block}: begins with the block that holds the first
     * byte, and ends after as many as {@link UmemRegion#numDmaBlocks} counts.
     *
     * @param region the region
     * @param pageSize the block's size, as {@link UmemRegion#findBestPgsz} gave it
     * @return this
     * @throws IllegalArgumentException when the size is 0
     */
    public BlockIterator start(UmemRegion region, long pageSize) {
        SgTable list = region.table();
        long skipped = region.offset() & -pageSize;
        return start(list, list.nents(), pageSize, skipped, region.numDmaBlocks(pageSize));
    }

    private BlockIterator start(SgTable list, int nents, long pageSize, long skippedBytes, long maxBlocks) {
        if (nents < 0 || nents > list.entries()) {
            throw new IllegalArgumentException(nents + " segments of a list of " + list.entries());
        }
        if (pageSize == 0) {
            throw new IllegalArgumentException("blocks of no bytes");
        }
        sg = list;
        segment = 0;
        segmentsLeft = nents;
        advance = skippedBytes;
        blockBytes = Long.highestOneBit(pageSize);
        blocksLeft = maxBlocks;
        return this;
    }

    /**
     * Steps to the next block.
     *
     * @return false when there is none
     */
    public boolean next() {
        if (segmentsLeft == 0 || blocksLeft == 0) {
            return false;
        }
        SgTable list = Objects.requireNonNull(sg);
        long raw = list.dmaAddr(segment) + advance;
        dmaAddr = Addresses.alignDown(raw, blockBytes);
        long toBlockEnd = blockBytes - (raw - dmaAddr);
        blocksLeft--;
        if (rule == Rule.WHOLE_BLOCK) {
            skipSegmentsWithin(list, toBlockEnd);
        } else {
            stepOnce(list, toBlockEnd);
        }
        return true;
    }

    /** Leaves every segment that ends inside the block (BLK-3). */
    private void skipSegmentsWithin(SgTable list, long toBlockEnd) {
        long delta = toBlockEnd;
        while (segmentsLeft > 0 && Addresses.lessOrEqual(leftInSegment(list), delta)) {
            delta -= leftInSegment(list);
            nextSegment();
        }
        advance = (advance + delta) & U32;
    }

    /** Leaves one segment at most (BLK-4). */
    private void stepOnce(SgTable list, long toBlockEnd) {
        if (Addresses.lessThan(toBlockEnd, leftInSegment(list))) {
            advance = (advance + toBlockEnd) & U32;
        } else {
            nextSegment();
        }
    }

    private long leftInSegment(SgTable list) {
        return (list.dmaLengthBytes(segment) - advance) & U32;
    }

    private void nextSegment() {
        segment++;
        segmentsLeft--;
        advance = 0;
    }

    /**
     * The block's DMA address.
     *
     * @return a multiple of its size; 0 before the first step
     */
    public long dmaAddr() {
        return dmaAddr;
    }
}
