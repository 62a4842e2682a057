package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.BackendOptions;
import java.nio.ByteBuffer;

/**
 * Where page-table pages come from: one contiguous region first, so that a walk reaches them through one buffer, and
 * single pages of the machine's allocator once the region is full. Pages come zeroed.
 *
 * <p>Options: {@code iommu.tablePoolBytes}, 8 MiB by default but at most an eighth of the RAM;
 * {@code iommu.tablePoolBase}, a fixed physical address of the region, in RAM and a multiple of the memory's chunk
 * size: either free in the page allocator or none of its business. The failure point {@code iommu.table-page} is passed
 * at each allocation.
 *
 * <p>Thread-safe. The region stays taken until the machine is dropped.
 */
public final class TablePool {
    /** What stands for "no page". */
    public static final long NO_PAGE = PageAllocator.NO_PAGE;
    /** Bytes of the region unless one says otherwise. */
    public static final long DEFAULT_BYTES = 8L << 20;

    private static final long PAGE = Addresses.PAGE_SIZE;
    private static final long NO_BASE = -1L;

    private final PhysicalMemory memory;
    private final PageAllocator pages;
    private final FailurePoint failure;
    private final TableMemory tables;
    private final long regionPhysAddr;
    private final int regionPages;
    private final int[] freed;
    private int freedCount;
    private int fresh;
    private long inUse;
    private long peak;
    private long unlinked;

    private TablePool(Machine machine, long regionPhysAddr, long regionBytes, TableMemory tables) {
        this.memory = machine.memory();
        this.pages = machine.pages();
        this.failure = machine.failures().point("iommu.table-page");
        this.tables = tables;
        this.regionPhysAddr = regionPhysAddr;
        this.regionPages = (int) (regionBytes / PAGE);
        this.freed = new int[regionPages];
    }

    /**
     * Takes the region.
     *
     * @param machine whose memory it is
     * @param options size and place
     * @return a pool with every page free
     * @throws IllegalArgumentException if a fixed place is not RAM or not a multiple of the chunk size
     * @throws IllegalStateException if a fixed place is in use
     */
    public static TablePool create(Machine machine, BackendOptions options) {
        long bytes = regionBytes(machine, options);
        long base = options.number("iommu.tablePoolBase", NO_BASE);
        if (base != NO_BASE) {
            return fixed(machine, base, bytes);
        }
        long found = bytes == 0
                ? NO_PAGE
                : machine.pages().allocContiguous(bytes, machine.memory().chunkSizeBytes(), -1L);
        return found == NO_PAGE
                ? new TablePool(machine, 0, 0, new TableMemory(machine.memory()))
                : at(machine, found, bytes);
    }

    private static long regionBytes(Machine machine, BackendOptions options) {
        long most = Addresses.min(DEFAULT_BYTES, machine.ram().sizeBytes() / 8);
        long wanted = options.number("iommu.tablePoolBytes", most);
        long step = Math.max(machine.memory().chunkSizeBytes(), PAGE);
        return Addresses.alignDown(wanted, step);
    }

    private static TablePool fixed(Machine machine, long base, long bytes) {
        machine.ram().require(base, bytes);
        try {
            machine.pages().reserve(base, bytes);
        } catch (IllegalStateException notTheAllocators) {
            // The region lies outside what the allocator manages; if not, its bytes were touched and the next step says
            // so.
        }
        return new TablePool(machine, base, bytes, window(machine.memory(), base, bytes));
    }

    private static TablePool at(Machine machine, long base, long bytes) {
        try {
            return new TablePool(machine, base, bytes, window(machine.memory(), base, bytes));
        } catch (IllegalStateException alreadyBacked) {
            // Somebody has written there before the allocator had it: the pages are good, only the short way is shut.
            return new TablePool(machine, base, bytes, new TableMemory(machine.memory()));
        }
    }

    private static TableMemory window(PhysicalMemory memory, long base, long bytes) {
        ByteBuffer region = memory.contiguousRegion(base, bytes);
        return new TableMemory(memory, region, base);
    }

    /**
     * The way to the entries of this pool's pages, and of any others.
     *
     * @return always the same
     */
    public TableMemory tables() {
        return tables;
    }

    /**
     * Takes a page.
     *
     * @return its physical address, all its bytes zero, or {@link #NO_PAGE}
     */
    public long alloc() {
        if (failure.failsCall()) {
            return NO_PAGE;
        }
        long physAddr = take();
        if (physAddr != NO_PAGE) {
            memory.zero(physAddr, PAGE);
        }
        return physAddr;
    }

    private synchronized long take() {
        long physAddr = takeFromRegion();
        if (physAddr == NO_PAGE) {
            physAddr = pages.allocPages(Zone.NORMAL, 0);
        }
        if (physAddr != NO_PAGE) {
            inUse++;
            peak = Math.max(peak, inUse);
        }
        return physAddr;
    }

    private long takeFromRegion() {
        if (freedCount > 0) {
            return regionPhysAddr + freed[--freedCount] * PAGE;
        }
        return fresh < regionPages ? regionPhysAddr + fresh++ * PAGE : NO_PAGE;
    }

    /**
     * Gives a page back.
     *
     * @param physAddr what {@link #alloc} gave
     */
    public synchronized void free(long physAddr) {
        long page = (physAddr - regionPhysAddr) / PAGE;
        if (Addresses.lessThan(physAddr - regionPhysAddr, regionPages * PAGE)) {
            freed[freedCount++] = (int) page;
        } else {
            pages.freePages(physAddr, 0);
        }
        inUse--;
    }

    /**
     * Gives back pages that were unlinked, last one first (iommu:DALLOC-6), and empties the list.
     *
     * @param list the pages
     */
    public synchronized void freeUnlinked(TablePageList list) {
        for (int i = list.size() - 1; i >= 0; i--) {
            free(list.get(i));
        }
        unlinked -= list.size();
        list.clear();
    }

    synchronized void noteUnlinked(long count) {
        unlinked += count;
    }

    /**
     * Pages taken and not given back.
     *
     * @return the count
     */
    public synchronized long inUse() {
        return inUse;
    }

    /**
     * Most pages taken at once.
     *
     * @return the count
     */
    public synchronized long peak() {
        return peak;
    }

    /**
     * Pages that no table points to any more and that were not given back yet.
     *
     * @return the count
     */
    public synchronized long unlinked() {
        return unlinked;
    }
}
