package io.pagewalk.dma.spi;

import io.pagewalk.dma.memory.Addresses;

/**
 * Coherent memory as a backend hands it out: pages that may lie apart physically and together on the bus.
 *
 * <p>Immutable; safe to share.
 */
public final class CoherentPages {
    /** No CPU address of its own: the front end finds one, in the direct map or by a mapping in the vmalloc area. */
    public static final long NO_CPU_ADDR = 0;

    private final long cpuAddr;
    private final long dmaAddr;
    private final long sizeBytes;
    private final long[] pagePhysAddrs;

    /**
     * Describes an allocation.
     *
     * @param dmaAddr DMA address of its first byte
     * @param sizeBytes length as the caller asked for it, at most the pages' bytes
     * @param pagePhysAddrs the pages in order, each 4 KiB
     */
    public CoherentPages(long dmaAddr, long sizeBytes, long[] pagePhysAddrs) {
        this(NO_CPU_ADDR, dmaAddr, sizeBytes, pagePhysAddrs.clone());
    }

    private CoherentPages(long cpuAddr, long dmaAddr, long sizeBytes, long[] pagePhysAddrs) {
        if (Addresses.lessThan(pagePhysAddrs.length * Addresses.PAGE_SIZE, sizeBytes)) {
            throw new IllegalArgumentException(pagePhysAddrs.length + " pages do not hold " + sizeBytes + " bytes");
        }
        this.cpuAddr = cpuAddr;
        this.dmaAddr = dmaAddr;
        this.sizeBytes = sizeBytes;
        this.pagePhysAddrs = pagePhysAddrs;
    }

    /**
     * Describes an allocation that is contiguous physically.
     *
     * @param dmaAddr DMA address of its first byte
     * @param sizeBytes length as the caller asked for it
     * @param physAddr first page
     * @return the allocation
     */
    public static CoherentPages contiguous(long dmaAddr, long sizeBytes, long physAddr) {
        int pages = Math.toIntExact(Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT);
        long[] physAddrs = new long[pages];
        for (int i = 0; i < pages; i++) {
            physAddrs[i] = physAddr + i * Addresses.PAGE_SIZE;
        }
        return new CoherentPages(dmaAddr, sizeBytes, physAddrs);
    }

    /**
     * The same memory at a CPU address that the backend chose.
     *
     * @param newCpuAddr a kernel virtual address, or the cookie of its first page for memory without a kernel mapping
     * @return a changed copy
     */
    public CoherentPages withCpuAddr(long newCpuAddr) {
        return new CoherentPages(newCpuAddr, dmaAddr, sizeBytes, pagePhysAddrs);
    }

    /**
     * The CPU's address.
     *
     * @return of the first byte, or {@link #NO_CPU_ADDR}
     */
    public long cpuAddr() {
        return cpuAddr;
    }

    /**
     * The DMA address.
     *
     * @return of the first byte
     */
    public long dmaAddr() {
        return dmaAddr;
    }

    /**
     * The length asked for.
     *
     * @return bytes
     */
    public long sizeBytes() {
        return sizeBytes;
    }

    /**
     * Whether each page follows the one before physically.
     *
     * @return true for one page too, false for none
     */
    public boolean isContiguous() {
        for (int i = 1; i < pagePhysAddrs.length; i++) {
            if (pagePhysAddrs[i] != pagePhysAddrs[0] + i * Addresses.PAGE_SIZE) {
                return false;
            }
        }
        return pagePhysAddrs.length != 0;
    }

    /**
     * The pages.
     *
     * @return a copy, in order
     */
    public long[] pagePhysAddrs() {
        return pagePhysAddrs.clone();
    }

    /**
     * How many pages there are.
     *
     * @return the count
     */
    public int pageCount() {
        return pagePhysAddrs.length;
    }

    /**
     * One page's physical address.
     *
     * @param index from 0
     * @return its first byte
     */
    public long pagePhysAddr(int index) {
        return pagePhysAddrs[index];
    }
}
