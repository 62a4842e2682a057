package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.Objects;

/**
 * Coherent memory as its driver sees it: contiguous by offset, wherever its pages lie. Closing it frees it; use after
 * that, or after it was freed by its address, is an exception. Access is as thread-safe as memory is.
 */
public final class CoherentBuffer implements AutoCloseable {
    /** Frees the memory the way it was allocated. */
    interface Freeing {
        void free(CoherentAllocation allocation);
    }

    private final CoherentAllocation allocation;
    private final CoherentPages pages;
    private final Freeing freeing;
    private final CpuMemory memory;

    CoherentBuffer(CoherentAllocation allocation, Freeing freeing, CpuMemory memory) {
        this.allocation = allocation;
        this.pages = allocation.pages();
        this.freeing = freeing;
        this.memory = memory;
    }

    CoherentAllocation allocation() {
        return allocation;
    }

    CoherentPages livePages() {
        requireOpen();
        return pages;
    }

    /**
     * The address that the CPU's half of the driver uses, and gives to the calls that free by address.
     *
     * @return of the first byte: in the direct map or the vmalloc area, or a page cookie for memory without a mapping
     */
    public long cpuAddr() {
        requireOpen();
        return pages.cpuAddr();
    }

    /**
     * The address to give to the device.
     *
     * @return of the first byte
     */
    public long dmaAddr() {
        requireOpen();
        return pages.dmaAddr();
    }

    /**
     * The length asked for.
     *
     * @return bytes
     */
    public long sizeBytes() {
        return pages.sizeBytes();
    }

    /**
     * The physical address of a byte.
     *
     * @param offset from the start
     * @return its address
     */
    public long physAddr(long offset) {
        requireInside(offset, 1);
        return physAddrUnchecked(offset);
    }

    private long physAddrUnchecked(long offset) {
        return pages.pagePhysAddr((int) (offset >>> Addresses.PAGE_SHIFT)) + (offset & (Addresses.PAGE_SIZE - 1));
    }

    /**
     * Reads eight little-endian bytes.
     *
     * @param offset from the start, 8-byte aligned
     * @return the word
     */
    public long getLong(long offset) {
        requireAligned(offset);
        requireInside(offset, Long.BYTES);
        return memory.getLong(physAddrUnchecked(offset));
    }

    /**
     * Writes eight little-endian bytes.
     *
     * @param offset from the start, 8-byte aligned
     * @param value the word
     */
    public void putLong(long offset, long value) {
        requireAligned(offset);
        requireInside(offset, Long.BYTES);
        memory.putLong(physAddrUnchecked(offset), value);
    }

    /**
     * Reads bytes.
     *
     * @param offset from the start
     * @param dst where to put them
     * @param dstOffset index of the first
     * @param lengthBytes how many
     */
    public void read(long offset, byte[] dst, int dstOffset, int lengthBytes) {
        Objects.checkFromIndexSize(dstOffset, lengthBytes, dst.length);
        requireInside(offset, lengthBytes);
        for (int done = 0; done < lengthBytes; ) {
            int step = stepToPageEnd(offset + done, lengthBytes - done);
            memory.read(physAddrUnchecked(offset + done), dst, dstOffset + done, step);
            done += step;
        }
    }

    /**
     * Writes bytes.
     *
     * @param offset from the start
     * @param src the bytes
     * @param srcOffset index of the first
     * @param lengthBytes how many
     */
    public void write(long offset, byte[] src, int srcOffset, int lengthBytes) {
        Objects.checkFromIndexSize(srcOffset, lengthBytes, src.length);
        requireInside(offset, lengthBytes);
        for (int done = 0; done < lengthBytes; ) {
            int step = stepToPageEnd(offset + done, lengthBytes - done);
            memory.write(physAddrUnchecked(offset + done), src, srcOffset + done, step);
            done += step;
        }
    }

    private static int stepToPageEnd(long offset, int lengthBytes) {
        return (int) Math.min(lengthBytes, Addresses.PAGE_SIZE - (offset & (Addresses.PAGE_SIZE - 1)));
    }

    private static void requireAligned(long offset) {
        if ((offset & 7) != 0) {
            throw new IllegalArgumentException("offset " + offset + " is not 8-byte aligned");
        }
    }

    private void requireInside(long offset, long lengthBytes) {
        requireOpen();
        if (!Addresses.contains(0, pages.sizeBytes(), offset, lengthBytes)) {
            throw new IndexOutOfBoundsException(
                    offset + "+" + lengthBytes + " of a coherent buffer of " + pages.sizeBytes() + " bytes");
        }
    }

    private void requireOpen() {
        if (allocation.isFreed()) {
            throw new IllegalStateException("the coherent buffer at " + Addresses.hex(pages.dmaAddr()) + " was freed");
        }
    }

    @Override
    public void close() {
        if (!allocation.isFreed()) {
            freeing.free(allocation);
        }
    }
}
