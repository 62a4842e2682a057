package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * A region of RAM set aside for coherent memory: of one device, or of all that are not coherent. Blocks of 2^order
 * pages, aligned within the region, the lowest first.
 *
 * <p>Implements dma-core:COH-2 to COH-4, COH-7. Thread-safe, by one lock.
 */
public final class CoherentRegion {
    /** Orders from here on are of more pages than a region has. */
    private static final int ORDER_LIMIT = 31;

    private final KernelMemory kernelMemory;
    private final CpuMemory memory;
    private final long physBase;
    private final long cpuBase;
    private final int pages;
    /** Where device addresses start; null for reserved memory, which each device sees by its own dma-ranges. */
    private final @Nullable Long deviceBase;

    private final BitSet taken = new BitSet();

    private CoherentRegion(Machine machine, long physBase, long cpuBase, int pages, @Nullable Long deviceBase) {
        this.kernelMemory = machine.kernelMemory();
        this.memory = machine.cpuMemory();
        this.physBase = physBase;
        this.cpuBase = cpuBase;
        this.pages = pages;
        this.deviceBase = deviceBase;
    }

    /**
     * Maps a region.
     *
     * @return the region, or null when it does not begin a page, there is not RAM behind all of it, or no room for it
     *     in the vmalloc area
     */
    static @Nullable CoherentRegion map(Machine machine, long physAddr, @Nullable Long deviceBase, long sizeBytes) {
        long count = sizeBytes >>> Addresses.PAGE_SHIFT;
        boolean begins = Addresses.isAligned(physAddr, Addresses.PAGE_SIZE);
        if (!begins || !machine.ram().contains(physAddr, sizeBytes) || count >= Integer.MAX_VALUE) {
            return null;
        }
        long cpuBase = machine.kernelMemory().vmapContiguous(physAddr, count);
        return cpuBase == 0 ? null : new CoherentRegion(machine, physAddr, cpuBase, (int) count, deviceBase);
    }

    void unmap() {
        kernelMemory.vunmap(cpuBase);
    }

    /**
     * The first byte.
     *
     * @return its physical address
     */
    public long physBase() {
        return physBase;
    }

    /**
     * The first byte as the CPU names it.
     *
     * @return its address in the vmalloc area
     */
    public long cpuBase() {
        return cpuBase;
    }

    /**
     * The first byte as a device names it (dma-core:COH-2).
     *
     * @param device the device
     * @return the address given when the region was declared; for reserved memory, where the device sees it
     */
    public long dmaBase(Device device) {
        return deviceBase == null ? device.physToDma(physBase) : deviceBase;
    }

    /**
     * The bytes that can be handed out.
     *
     * @return whole pages only (dma-core:COH-1)
     */
    public long sizeBytes() {
        return (long) pages << Addresses.PAGE_SHIFT;
    }

    /**
     * How many pages are free.
     *
     * @return the count
     */
    public synchronized int freePages() {
        return pages - taken.cardinality();
    }

    /**
     * Allocates (dma-core:COH-3).
     *
     * @param device who gets it
     * @param sizeBytes length; so much is zeroed
     * @return the memory, or null when there is no such block; that is final (dma-core:FE-51)
     */
    public @Nullable CoherentPages alloc(Device device, long sizeBytes) {
        int order = Addresses.order(sizeBytes);
        if (Addresses.lessThan(sizeBytes(), sizeBytes) || order >= ORDER_LIMIT) {
            return null;
        }
        int first = takeBlock(1 << order);
        if (first < 0) {
            return null;
        }
        long offset = (long) first << Addresses.PAGE_SHIFT;
        memory.zero(physBase + offset, sizeBytes);
        return CoherentPages.contiguous(dmaBase(device) + offset, sizeBytes, physBase + offset)
                .withCpuAddr(cpuBase + offset);
    }

    private synchronized int takeBlock(int blockPages) {
        for (long first = 0; first + blockPages <= pages; first += blockPages) {
            int start = (int) first;
            int next = taken.nextSetBit(start);
            if (next < 0 || next >= start + blockPages) {
                taken.set(start, start + blockPages);
                return start;
            }
        }
        return -1;
    }

    /**
     * Frees what lies at an address (dma-core:COH-4).
     *
     * @param cpuAddr where it begins
     * @param sizeBytes decides how many pages are freed, whatever was allocated
     * @return false, with nothing changed, when the address is not inside the region
     */
    public synchronized boolean release(long cpuAddr, long sizeBytes) {
        if (!contains(cpuAddr)) {
            return false;
        }
        int first = (int) ((cpuAddr - cpuBase) >>> Addresses.PAGE_SHIFT);
        int order = Addresses.order(sizeBytes);
        long end = order >= ORDER_LIMIT ? pages : Math.min(pages, first + (1L << order));
        taken.clear(first, (int) end);
        return true;
    }

    /**
     * Whether an address lies inside.
     *
     * @param cpuAddr the CPU's address
     * @return true from the first byte to the last that can be handed out
     */
    public boolean contains(long cpuAddr) {
        return Addresses.lessThan(cpuAddr - cpuBase, sizeBytes());
    }

    /**
     * Shows a part to a process (dma-core:COH-7).
     *
     * @param vma which part
     * @param cpuAddr where the memory begins
     * @param sizeBytes its length
     * @param protection how it is cached
     * @return the outcome, or null when the memory is not wholly inside the region and somebody else has to answer
     */
    public @Nullable UserMapping mmap(UserVma vma, long cpuAddr, long sizeBytes, PageProtection protection) {
        if (!contains(cpuAddr) || !Addresses.contains(cpuBase, sizeBytes(), cpuAddr, sizeBytes)) {
            return null;
        }
        long firstPage = (cpuAddr - cpuBase) >>> Addresses.PAGE_SHIFT;
        long count = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        return UserMapping.ofContiguous(vma, physBase + (firstPage << Addresses.PAGE_SHIFT), count, protection);
    }

    @Override
    public String toString() {
        return "coherent region " + Addresses.hexRange(physBase, sizeBytes());
    }
}
