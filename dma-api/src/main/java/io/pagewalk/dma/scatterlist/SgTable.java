package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;

/**
 * A scatterlist: entries of page, offset and length for the CPU, and DMA address and DMA length for the device, as a
 * structure of arrays. {@code origNents} counts the CPU's entries, {@code nents} the DMA segments after a map; they
 * stay apart (dma-core:SG-7).
 *
 * <p>Lengths and offsets are unsigned 32-bit, as in the kernel (SG-1). An offset may exceed a page (SG-6). Not
 * thread-safe; reuse it with {@link #clear()}.
 */
public final class SgTable {
    private static final long U32 = 0xffff_ffffL;

    private long[] pageAddrs;
    private int[] offsets;
    private int[] lengths;
    private long[] dmaAddrs;
    private int[] dmaLengths;
    private boolean bounced;
    private int origNents;
    private int nents;

    /**
     * Makes an empty table.
     *
     * @param capacity how many entries it holds before it grows, at least 1
     */
    public SgTable(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a table needs room for an entry, not for " + capacity);
        }
        pageAddrs = new long[capacity];
        offsets = new int[capacity];
        lengths = new int[capacity];
        dmaAddrs = new long[capacity];
        dmaLengths = new int[capacity];
    }

    /** Empties the table, DMA fields included. */
    public void clear() {
        Arrays.fill(dmaAddrs, 0, origNents, 0);
        Arrays.fill(dmaLengths, 0, origNents, 0);
        bounced = false;
        origNents = 0;
        nents = 0;
    }

    /**
     * Appends an entry for a run of physical memory.
     *
     * @param physAddr first byte
     * @param lengthBytes length, at most 4 GiB - 1
     * @return this
     */
    public SgTable add(long physAddr, long lengthBytes) {
        return add(physAddr & -Addresses.PAGE_SIZE, physAddr & (Addresses.PAGE_SIZE - 1), lengthBytes);
    }

    /**
     * Appends an entry.
     *
     * @param pageAddr physical address of a page
     * @param offset from that page's start in bytes, at most 4 GiB - 1
     * @param lengthBytes length, at most 4 GiB - 1
     * @return this
     * @throws IllegalArgumentException when offset or length need more than 32 bits, or the page address is not one
     */
    public SgTable add(long pageAddr, long offset, long lengthBytes) {
        if ((offset & ~U32) != 0 || (lengthBytes & ~U32) != 0) {
            throw new IllegalArgumentException("offset " + Addresses.hex(offset) + " and length "
                    + Addresses.hex(lengthBytes) + " of an entry are 32-bit (dma-core:SG-1)");
        }
        if ((pageAddr & (Addresses.PAGE_SIZE - 1)) != 0) {
            throw new IllegalArgumentException(Addresses.hex(pageAddr) + " is not the address of a page");
        }
        growFor(origNents + 1);
        pageAddrs[origNents] = pageAddr;
        offsets[origNents] = (int) offset;
        lengths[origNents] = (int) lengthBytes;
        dmaAddrs[origNents] = 0;
        dmaLengths[origNents] = 0;
        origNents++;
        return this;
    }

    private void growFor(int count) {
        if (count > pageAddrs.length) {
            int capacity = Math.max(count, pageAddrs.length * 2);
            pageAddrs = Arrays.copyOf(pageAddrs, capacity);
            offsets = Arrays.copyOf(offsets, capacity);
            lengths = Arrays.copyOf(lengths, capacity);
            dmaAddrs = Arrays.copyOf(dmaAddrs, capacity);
            dmaLengths = Arrays.copyOf(dmaLengths, capacity);
        }
    }

    /**
     * The CPU's entries.
     *
     * @return the count
     */
    public int origNents() {
        return origNents;
    }

    /**
     * The DMA segments of the latest map.
     *
     * @return the count, 0 before a map
     */
    public int nents() {
        return nents;
    }

    /**
     * Notes the number of DMA segments.
     *
     * @param count what a map returned
     */
    public void mapped(int count) {
        nents = count;
    }

    /**
     * Physical address of an entry: page plus offset.
     *
     * @param index from 0
     * @return its first byte
     */
    public long physAddr(int index) {
        return pageAddrs[index] + (offsets[index] & U32);
    }

    /**
     * Physical address of an entry's page.
     *
     * @param index from 0
     * @return the page
     */
    public long pageAddr(int index) {
        return pageAddrs[index];
    }

    /**
     * Offset of an entry from its page.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long offset(int index) {
        return offsets[index] & U32;
    }

    /**
     * Length of an entry for the CPU.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long lengthBytes(int index) {
        return lengths[index] & U32;
    }

    /**
     * Changes offset and length of an entry, as a mapping layer does for a while (iommu:SG-7).
     *
     * @param index from 0
     * @param offset bytes; the low 32 bits are kept
     * @param lengthBytes bytes; the low 32 bits are kept
     */
    public void resize(int index, long offset, long lengthBytes) {
        offsets[index] = (int) offset;
        lengths[index] = (int) lengthBytes;
    }

    /**
     * DMA address of a segment.
     *
     * @param index from 0
     * @return the address
     */
    public long dmaAddr(int index) {
        return dmaAddrs[index];
    }

    /**
     * Length of a segment for the device.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long dmaLengthBytes(int index) {
        return dmaLengths[index] & U32;
    }

    /**
     * Fills in a segment's DMA side.
     *
     * @param index from 0
     * @param dmaAddr the address
     * @param dmaLengthBytes bytes; the low 32 bits are kept
     */
    public void setDma(int index, long dmaAddr, long dmaLengthBytes) {
        dmaAddrs[index] = dmaAddr;
        dmaLengths[index] = (int) dmaLengthBytes;
    }

    /**
     * Whether entries of the list may be bounced one by one (dma-core:SG-2, the SWIOTLB flag).
     *
     * @return what {@link #markBounced} said last
     */
    public boolean isBounced() {
        return bounced;
    }

    /**
     * Sets or clears the mark of {@link #isBounced()}.
     *
     * @param yes the mark
     */
    public void markBounced(boolean yes) {
        bounced = yes;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("SgTable[origNents=" + origNents + ", nents=" + nents);
        for (int i = 0; i < Math.min(origNents, 8); i++) {
            text.append(", ").append(Addresses.hex(physAddr(i))).append("+").append(Addresses.hex(lengthBytes(i)));
        }
        return text.append(origNents > 8 ? ", ...]" : "]").toString();
    }
}
