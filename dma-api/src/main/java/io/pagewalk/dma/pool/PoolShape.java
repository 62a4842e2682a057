package io.pagewalk.dma.pool;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * Where the blocks of a pool lie in a page (dma-core:POOL-1, POOL-2). A page here is what a pool allocates at a time,
 * and may be larger than a page of memory.
 *
 * @param blockBytes bytes of a block, at least a header
 * @param pageBytes bytes of a page
 * @param boundaryBytes no block crosses a multiple of this
 */
record PoolShape(long blockBytes, long pageBytes, long boundaryBytes) {
    /** A free block begins with the address of the next one and its own DMA address. */
    static final int HEADER_BYTES = 16;

    private static final long MAX_BYTES = 0x7fff_ffffL;

    /** The shape for what a driver asks, or null where the kernel refuses it (POOL-1). */
    static @Nullable PoolShape of(long sizeBytes, long align, long boundary) {
        boolean sizeFits = sizeBytes != 0 && Addresses.lessOrEqual(sizeBytes, MAX_BYTES);
        if (!sizeFits || (align != 0 && !isPowerOfTwo(align))) {
            return null;
        }
        long blockBytes = Addresses.alignUp(Math.max(sizeBytes, HEADER_BYTES), align == 0 ? 1 : align);
        long pageBytes = Addresses.max(blockBytes, Addresses.PAGE_SIZE);
        if (boundary != 0 && (Addresses.lessThan(boundary, blockBytes) || !isPowerOfTwo(boundary))) {
            return null;
        }
        return new PoolShape(blockBytes, pageBytes, Addresses.minNotZero(boundary, pageBytes));
    }

    private static boolean isPowerOfTwo(long value) {
        return Long.bitCount(value) == 1;
    }

    /**
     * The offset of the first block that can begin at an offset or behind it; -1 when the page holds no more (POOL-2).
     */
    long blockFrom(long offset) {
        long nextBoundary = (Long.divideUnsigned(offset, boundaryBytes) + 1) * boundaryBytes;
        long first = Addresses.lessThan(nextBoundary, offset + blockBytes) ? nextBoundary : offset;
        return Addresses.lessOrEqual(first + blockBytes, pageBytes) ? first : -1;
    }
}
