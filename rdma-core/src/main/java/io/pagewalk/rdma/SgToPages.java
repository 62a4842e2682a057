package io.pagewalk.rdma;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * {@code ib_sg_to_pages}: cuts a mapped list into the pages of a memory region, as far as one region can hold it. The
 * object is the call: it is reused, and holds what the kernel writes to the region and to the caller's offset.
 *
 * <p>Implements rdma:SGP-1 to SGP-11. Allocates nothing. Not thread-safe. Differs from Linux: a segment that ends in
 * the last page of 64 bits ends there, where the kernel would go on with page 0.
 */
public final class SgToPages {
    /*
     * A region is one range of device addresses, so a segment may begin inside a page only where the one before it
     * ended, and only there is its first page the one that was set last. Between page-aligned ends anything goes: the
     * region's pages need not follow each other in memory (SGP-6).
     *
     * What a full region reports is the kernel's own (SGP-8, SGP-11, QRK-25): "prev" is where the last page that was set
     * begins, not where it ends, so that page is not counted; and if the segment begins inside that page, prev lies
     * before it, and length and offset wrap.
     */

    private static final long U32 = 0xffff_ffffL;

    private long iova;
    private long lengthBytes;
    private int sgOffset;
    private long prevPage;

    /** Makes a call that has described no region yet. */
    public SgToPages() {}

    /**
     * Cuts the first segments of a list, as {@link #map(SgTable, int, int, long, long, PageSetter)} from segment 0 on.
     *
     * @param sg the list, mapped
     * @param nents how many segments
     * @param startOffset where to begin in the first segment, unsigned 32-bit
     * @param pageBytes the region's page size, a power of two, unsigned 32-bit
     * @param setter takes the pages in order
     * @return how many segments the region covers, or a negated errno
     * @throws IllegalArgumentException when there are more segments than the list has, or a number needs more than 32
     *     bits, or the page size is no power of two
     */
    public int map(SgTable sg, int nents, long startOffset, long pageBytes, PageSetter setter) {
        return map(sg, 0, nents, startOffset, pageBytes, setter);
    }

    /**
     * Cuts segments of a list.
     *
     * @param sg the list, mapped; its DMA addresses and DMA lengths count
     * @param firstSegment where to begin in the list
     * @param nents how many segments
     * @param startOffset where to begin in the first segment, unsigned 32-bit; 0 where the kernel's caller gives none
     * @param pageBytes the region's page size, a power of two, unsigned 32-bit
     * @param setter takes the pages in order
     * @return how many segments the region covers; -EINVAL with nothing changed but {@link #sgOffset()}, which is what
     *     was given, for no segments or an offset beyond the first; the setter's error when not even a page was set
     * @throws IllegalArgumentException when there are more segments than the list has, or a number needs more than 32
     *     bits, or the page size is no power of two
     */
    public int map(SgTable sg, int firstSegment, int nents, long startOffset, long pageBytes, PageSetter setter) {
        requireArguments(sg, firstSegment, nents, startOffset, pageBytes);
        sgOffset = (int) startOffset;
        if (nents <= 0 || startOffset > sg.dmaLengthBytes(firstSegment)) {
            return -Errno.EINVAL;
        }
        iova = sg.dmaAddr(firstSegment) + startOffset;
        lengthBytes = 0;
        long offset = startOffset;
        long previousEnd = 0;
        for (int i = 0; i < nents; i++) {
            int at = firstSegment + i;
            long dmaAddr = sg.dmaAddr(at) + offset;
            long segmentBytes = sg.dmaLengthBytes(at) - offset;
            boolean inPage = i > 0 && !Addresses.isAligned(previousEnd | dmaAddr, pageBytes);
            if (inPage && previousEnd != dmaAddr) {
                sgOffset = 0;
                return i;
            }
            int error = setPages(dmaAddr, dmaAddr + segmentBytes, inPage, pageBytes, setter);
            if (error != 0) {
                return stop(i, sg.dmaAddr(at), dmaAddr, error);
            }
            lengthBytes += segmentBytes;
            previousEnd = dmaAddr + segmentBytes;
            offset = 0;
        }
        sgOffset = 0;
        return nents;
    }

    private static void requireArguments(SgTable sg, int first, int nents, long startOffset, long pageBytes) {
        if (first < 0 || nents > sg.entries() - first) {
            throw new IllegalArgumentException(nents + " segments" + (first == 0 ? "" : " from " + first + " on")
                    + " of a list of " + sg.entries());
        }
        if ((startOffset & ~U32) != 0) {
            throw new IllegalArgumentException("offset " + Addresses.hex(startOffset) + " is not a 32-bit number");
        }
        if ((pageBytes & ~U32) != 0 || Long.bitCount(pageBytes) != 1) {
            throw new IllegalArgumentException(
                    "page size " + Addresses.hex(pageBytes) + " is no power of two of 32 bits");
        }
    }

    /** Sets the pages of one segment, the first of which may be set already (SGP-7). */
    private int setPages(long dmaAddr, long end, boolean firstIsSet, long pageBytes, PageSetter setter) {
        prevPage = dmaAddr;
        long page = Addresses.alignDown(dmaAddr, pageBytes);
        if (firstIsSet) {
            page += pageBytes;
            if (page == 0 || !Addresses.lessThan(page, end)) {
                return 0;
            }
        }
        do {
            int error = setter.setPage(page);
            if (error != 0) {
                return error;
            }
            prevPage = page;
            page += pageBytes;
        } while (page != 0 && Addresses.lessThan(page, end));
        return 0;
    }

    /** The region is full (SGP-8). */
    private int stop(int segment, long segmentDmaAddr, long dmaAddr, int error) {
        sgOffset = (int) (prevPage - segmentDmaAddr);
        lengthBytes += prevPage - dmaAddr;
        return segment > 0 || sgOffset != 0 ? segment : error;
    }

    /**
     * Where the region begins.
     *
     * @return a DMA address: the first segment's, plus the offset
     */
    public long iova() {
        return iova;
    }

    /**
     * The length of the region as the kernel counts it.
     *
     * @return bytes, unsigned; a page less than what was set when the setter failed, which may wrap below zero
     */
    public long lengthBytes() {
        return lengthBytes;
    }

    /**
     * What the call leaves in its caller's offset: where to begin in the segment whose index it returned.
     *
     * @return unsigned 32-bit
     */
    public int sgOffset() {
        return sgOffset;
    }
}
