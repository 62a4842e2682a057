package io.pagewalk.rdma.umem;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;

/**
 * A range of a process's memory over a mapped list: what a driver asks of a {@code struct ib_umem} when it fills a
 * device's tables. {@link Umem} adds the pins; a region alone holds nothing and is good for lists made by hand.
 *
 * <p>The list's entries are whole pages: the offset of the first byte in its page is not in it (rdma:UMEM-20).
 *
 * <p>Implements rdma:UMEM-20, UMEM-24 to UMEM-26, UMEM-31, PGSZ-1, PGSZ-9. Not thread-safe.
 */
public sealed class UmemRegion permits Umem {
    /** What {@link #physAddr} and {@link #dmaAddr} answer outside the region's pages. */
    public static final long NOWHERE = -1L;

    private final SgTable table;
    private final long userAddr;
    private final long lengthBytes;
    private long iova;

    /**
     * Describes a region.
     *
     * @param table its pages, mapped
     * @param userAddr address of its first byte in the process; the device address is the same at first
     * @param lengthBytes length, unsigned
     */
    public UmemRegion(SgTable table, long userAddr, long lengthBytes) {
        this.table = Objects.requireNonNull(table, "table");
        this.userAddr = userAddr;
        this.lengthBytes = lengthBytes;
        this.iova = userAddr;
    }

    /**
     * The list: physical runs as the CPU's entries, device segments as its DMA side (rdma:UMEM-31).
     *
     * @return always the same one
     */
    public final SgTable table() {
        return table;
    }

    /**
     * Address of the first byte in the process.
     *
     * @return {@code address}
     */
    public final long userAddr() {
        return userAddr;
    }

    /**
     * Length.
     *
     * @return bytes, unsigned
     */
    public final long lengthBytes() {
        return lengthBytes;
    }

    /**
     * Where the region appears to the device, from which blocks and pages are counted.
     *
     * @return {@code iova}
     */
    public final long iova() {
        return iova;
    }

    /**
     * Moves the region for the device. Nothing is checked: with another offset in the page {@link #numPages()} changes,
     * and so does what a release charges back (rdma:UMEM-23).
     *
     * @param newIova the address
     */
    public final void setIova(long newIova) {
        iova = newIova;
    }

    /**
     * {@code ib_umem_num_dma_blocks}: how many aligned blocks the region touches.
     *
     * @param pageSize a block's size, a power of two
     * @return the count, unsigned
     * @throws IllegalArgumentException when the size is no power of two
     */
    public final long numDmaBlocks(long pageSize) {
        requirePowerOfTwo(pageSize);
        long bytes = Addresses.alignUp(iova + lengthBytes, pageSize) - Addresses.alignDown(iova, pageSize);
        return Long.divideUnsigned(bytes, pageSize);
    }

    /**
     * {@code ib_umem_num_pages}: how many pages the region touches, counted from {@link #iova()} (rdma:UMEM-25).
     *
     * @return the count, unsigned
     */
    public final long numPages() {
        return numDmaBlocks(Addresses.PAGE_SIZE);
    }

    /**
     * {@code ib_umem_offset}: the first byte's offset in its page.
     *
     * @return bytes below the page size
     */
    public final long offset() {
        return userAddr & (Addresses.PAGE_SIZE - 1);
    }

    /**
     * {@code ib_umem_dma_offset}: the first byte's offset in its block, by its DMA address.
     *
     * @param pageSize a block's size, a power of two
     * @return bytes below that size
     * @throws IllegalArgumentException when the size is no power of two
     * @throws IndexOutOfBoundsException when the list is empty, as after a release
     */
    public final long dmaOffset(long pageSize) {
        requirePowerOfTwo(pageSize);
        return (firstDmaAddr() + offset()) & (pageSize - 1);
    }

    private static void requirePowerOfTwo(long pageSize) {
        if (Long.bitCount(pageSize) != 1) {
            throw new IllegalArgumentException("blocks of " + Addresses.hex(pageSize) + " bytes: no power of two");
        }
    }

    /**
     * {@code ib_umem_find_best_pgsz}, as Linux 6.12 has it.
     *
     * @param pageSizes the sizes that the device has, each a bit
     * @param virtAddr where the region shall appear; becomes {@link #iova()} even if no size will do (rdma:PGSZ-1)
     * @return the largest size, or 0 when none will do
     */
    public final long findBestPgsz(long pageSizes, long virtAddr) {
        return findBestPgsz(pageSizes, virtAddr, PageSizes.Rule.WHERE_MEMORY_BREAKS);
    }

    /**
     * {@code ib_umem_find_best_pgsz} by a rule.
     *
     * @param pageSizes the sizes that the device has, each a bit
     * @param virtAddr where the region shall appear; becomes {@link #iova()} even if no size will do
     * @param rule what ends a block
     * @return the largest size, or 0 when none will do
     */
    public final long findBestPgsz(long pageSizes, long virtAddr, PageSizes.Rule rule) {
        iova = virtAddr;
        return PageSizes.findBest(table, userAddr, lengthBytes, pageSizes, virtAddr, rule);
    }

    /**
     * {@code ib_umem_find_best_pgoff}: the largest page size of a device that holds only part of the offset, at the DMA
     * address's own low bits (rdma:PGSZ-9). They become {@link #iova()}.
     *
     * @param pageSizes the sizes that the device has, each a bit
     * @param offsetMask the bits of the offset that it can hold
     * @return the largest size, or 0 when none will do
     * @throws IndexOutOfBoundsException when the list is empty, as after a release; nothing changes then
     */
    public final long findBestPgoff(long pageSizes, long offsetMask) {
        return findBestPgsz(pageSizes, (firstDmaAddr() + offset()) & offsetMask);
    }

    /**
     * Physical address behind an address of the process: the first of the region's two maps (rdma:UMEM-31). What was
     * registered counts, not what the process has there now.
     *
     * @param addr an address of the process
     * @return the physical address, or {@link #NOWHERE} outside the region's pages and after a release
     */
    public final long physAddr(long addr) {
        long left = addr - (userAddr & Addresses.PAGE_MASK);
        for (int i = 0; i < heldOf(table.origNents()); i++) {
            if (Addresses.lessThan(left, table.lengthBytes(i))) {
                return table.physAddr(i) + left;
            }
            left -= table.lengthBytes(i);
        }
        return NOWHERE;
    }

    /**
     * DMA address by which the device reaches an address of the process: both maps in one (rdma:UMEM-31).
     *
     * @param addr an address of the process
     * @return the DMA address, or {@link #NOWHERE} outside the region's pages and after a release
     */
    public final long dmaAddr(long addr) {
        long left = addr - (userAddr & Addresses.PAGE_MASK);
        for (int i = 0; i < heldOf(table.nents()); i++) {
            if (Addresses.lessThan(left, table.dmaLengthBytes(i))) {
                return table.dmaAddr(i) + left;
            }
            left -= table.dmaLengthBytes(i);
        }
        return NOWHERE;
    }

    /** A list that was freed keeps its counts and has no entries any more. */
    private int heldOf(int count) {
        return Math.min(count, table.entries());
    }

    /** Where the device sees the first page. */
    private long firstDmaAddr() {
        Objects.checkIndex(0, table.entries());
        return table.dmaAddr(0);
    }

    @Override
    public String toString() {
        return Addresses.hexRange(userAddr, lengthBytes) + " at iova " + Addresses.hex(iova) + " in " + table.nents()
                + " segments";
    }
}
