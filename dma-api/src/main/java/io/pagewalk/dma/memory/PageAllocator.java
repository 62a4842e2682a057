package io.pagewalk.dma.memory;

import java.util.List;
import java.util.Objects;

/**
 * The kernel's page allocator: blocks of 2^order page frames, naturally aligned, from the zone that is asked for or a
 * lower one. How much RAM there is does not matter for how long it takes to start.
 *
 * <p>Deterministic: the same calls in the same order give the same pages. Frames are not zeroed, and their reference
 * counts stay as they are. Thread-safe, by one lock; hooks of frames run outside it.
 *
 * <p>Differs from Linux: there are no watermarks, no migration types and no per-CPU lists, and the lowest free block is
 * taken, not the one freed last.
 */
public final class PageAllocator {

    /** The highest order of a block: 4 MiB. */
    public static final int MAX_ORDER = 10;

    /** What stands for "no such page", as no page begins at this address. */
    public static final long NO_PAGE = -1L;

    private static final Zone[] ZONES = Zone.values();

    private final PageFrames frames;
    private final ZoneLimits limits;
    private final BuddyZone dma = new BuddyZone();
    private final BuddyZone dma32 = new BuddyZone();
    private final BuddyZone normal = new BuddyZone();
    /** In the order in which one stands in for another. */
    private final List<BuddyZone> zones = List.of(normal, dma32, dma);

    private final AllocatedBlocks allocated = new AllocatedBlocks();
    /** Frames of the ranges taken by {@link #allocContiguous} and {@link #reserve}. */
    private final BlockRuns taken = new BlockRuns(0);

    private long allocatedFrames;
    private final Object lock = new Object();

    private PageAllocator(PageFrames frames, ZoneLimits limits) {
        this.frames = Objects.requireNonNull(frames, "frames");
        this.limits = Objects.requireNonNull(limits, "limits");
    }

    /**
     * Makes an allocator for part of a machine's RAM.
     *
     * @param memory the machine's memory
     * @param frames the machine's page frames
     * @param managed what to hand out, in ranges of RAM that do not overlap; pages that a range holds only in part are
     *     left out
     * @return the allocator, with all of that free
     * @throws IllegalArgumentException if a range is not RAM, or two of them overlap
     */
    public static PageAllocator create(PhysicalMemory memory, PageFrames frames, List<PhysRange> managed) {
        return create(memory, frames, managed, ZoneLimits.PC);
    }

    /**
     * Makes an allocator for part of a machine's RAM with zones of its own.
     *
     * @param memory the machine's memory
     * @param frames the machine's page frames
     * @param managed what to hand out, as in {@link #create(PhysicalMemory, PageFrames, List)}
     * @param limits which zones there are, and where they end
     * @return the allocator, with all of that free
     * @throws IllegalArgumentException if a range is not RAM, or two of them overlap
     */
    public static PageAllocator create(
            PhysicalMemory memory, PageFrames frames, List<PhysRange> managed, ZoneLimits limits) {
        Objects.requireNonNull(memory, "memory");
        PageAllocator allocator = new PageAllocator(frames, limits);
        for (PhysRange range : managed) {
            memory.ram().require(range.first(), range.sizeBytes());
            allocator.manage(range);
        }
        return allocator;
    }

    private void manage(PhysRange range) {
        long firstPfn = Addresses.alignUp(range.first(), Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        long lastPfn = lastWholeFrame(range.last());
        if (freeFramesWithin(firstPfn, lastPfn) != 0) {
            throw new IllegalArgumentException("managed range " + range + " overlaps another one");
        }
        giveToZones(firstPfn, lastPfn);
    }

    private void giveToZones(long firstPfn, long lastPfn) {
        long from = firstPfn;
        for (Zone zone : ZONES) {
            if (limits.has(zone)) {
                long zoneLastPfn = limits.lastAddress(zone) >>> Addresses.PAGE_SHIFT;
                long to = Math.min(lastPfn, zoneLastPfn);
                buddiesOf(zone).giveRange(from, to);
                from = Math.max(from, zoneLastPfn + 1);
            }
        }
    }

    /** Gives the last frame that ends at or before an address; -1 if none does. */
    private static long lastWholeFrame(long lastAddr) {
        boolean whole = (lastAddr & ~Addresses.PAGE_MASK) == Addresses.PAGE_SIZE - 1;
        return (lastAddr >>> Addresses.PAGE_SHIFT) - (whole ? 0 : 1);
    }

    // ---- blocks

    /**
     * Allocates a block of 2^order pages. Its contents are whatever they were.
     *
     * @param highestZone the zone to take it from, or the next one above if it is not configured; lower ones are tried
     *     after it
     * @param order the size of the block, not negative; there is never one above {@link #MAX_ORDER}
     * @return the physical address of the block, a multiple of its size, or {@link #NO_PAGE}
     * @throws IllegalArgumentException if the order is negative
     */
    public long allocPages(Zone highestZone, int order) {
        Objects.requireNonNull(highestZone, "highestZone");
        if (order < 0) {
            throw new IllegalArgumentException("a block of pages has no negative order: " + order);
        }
        if (order > MAX_ORDER) {
            return NO_PAGE;
        }
        synchronized (lock) {
            long pfn = takeFromZones(highestZone, order);
            if (pfn < 0) {
                return NO_PAGE;
            }
            allocated.add(pfn, order);
            allocatedFrames += 1L << order;
            return pfn << Addresses.PAGE_SHIFT;
        }
    }

    private long takeFromZones(Zone highestZone, int order) {
        long pfn = -1;
        for (int fallback = zones.indexOf(buddiesOf(limits.resolve(highestZone)));
                pfn < 0 && fallback < zones.size();
                fallback++) {
            pfn = zones.get(fallback).take(order);
        }
        return pfn;
    }

    private BuddyZone buddiesOf(Zone zone) {
        return switch (zone) {
            case DMA -> dma;
            case DMA32 -> dma32;
            case NORMAL -> normal;
        };
    }

    /**
     * Frees a block. The hooks of its frames run before anybody else can have them.
     *
     * @param physAddr what {@link #allocPages} gave
     * @param order the order it was asked for
     * @throws IllegalStateException if no block of that order is allocated there, or a frame of it has references or
     *     pins; nothing changes then
     */
    public void freePages(long physAddr, int order) {
        long pfn = physAddr >>> Addresses.PAGE_SHIFT;
        forget(physAddr, order);
        try {
            frames.freed(pfn, 1L << order);
        } finally {
            freeBlock(pfn, order);
        }
    }

    private void forget(long physAddr, int order) {
        synchronized (lock) {
            requireAllocated(physAddr, order);
            long pfn = physAddr >>> Addresses.PAGE_SHIFT;
            frames.requireUnused(pfn, 1L << order);
            allocated.remove(pfn);
            allocatedFrames -= 1L << order;
        }
    }

    private void freeBlock(long pfn, int order) {
        synchronized (lock) {
            buddiesOf(limits.of(pfn << Addresses.PAGE_SHIFT)).give(pfn, order);
        }
    }

    /**
     * Turns a block into single pages, each of which is freed on its own from then on: the kernel's {@code split_page}.
     *
     * @param physAddr what {@link #allocPages} gave
     * @param order the order it was asked for
     * @throws IllegalStateException if no block of that order is allocated there
     */
    public void splitPages(long physAddr, int order) {
        synchronized (lock) {
            requireAllocated(physAddr, order);
            long pfn = physAddr >>> Addresses.PAGE_SHIFT;
            for (long page = pfn; page < pfn + (1L << order); page++) {
                allocated.add(page, 0);
            }
        }
    }

    private void requireAllocated(long physAddr, int order) {
        int allocatedOrder = Addresses.isAligned(physAddr, Addresses.PAGE_SIZE)
                ? allocated.orderAt(physAddr >>> Addresses.PAGE_SHIFT)
                : AllocatedBlocks.NONE;
        if (allocatedOrder == AllocatedBlocks.NONE) {
            throw new IllegalStateException("no allocated block of pages begins at " + Addresses.hex(physAddr)
                    + ": freed twice, or never allocated");
        }
        if (allocatedOrder != order) {
            throw new IllegalStateException("the block of pages at " + Addresses.hex(physAddr)
                    + " was allocated with order " + allocatedOrder + ", not " + order);
        }
    }

    // ---- ranges

    /**
     * Takes a range of any size for good, as is done when a machine boots: the highest place that will do.
     *
     * @param sizeBytes its bytes, not zero; rounded up to pages
     * @param alignBytes of what its address is a multiple, a power of two; pages are aligned at least to themselves
     * @param maxAddr the last address that it may use
     * @return its physical address, or {@link #NO_PAGE} if there is no such place
     * @throws IllegalArgumentException if the size is zero or the alignment no power of two
     */
    public long allocContiguous(long sizeBytes, long alignBytes, long maxAddr) {
        requireSize(sizeBytes);
        if (Long.bitCount(alignBytes) != 1) {
            throw new IllegalArgumentException("alignment " + Addresses.hex(alignBytes) + " is no power of two");
        }
        long count = framesIn(sizeBytes);
        long alignFrames = Addresses.max(alignBytes >>> Addresses.PAGE_SHIFT, 1);
        synchronized (lock) {
            long pfn = freeSingles().highestFit(count, alignFrames, lastWholeFrame(maxAddr));
            if (pfn < 0) {
                return NO_PAGE;
            }
            takeRange(pfn, pfn + count - 1);
            return pfn << Addresses.PAGE_SHIFT;
        }
    }

    private BlockRuns freeSingles() {
        BlockRuns singles = new BlockRuns(0);
        for (BuddyZone zone : zones) {
            zone.addFreeFramesTo(singles);
        }
        return singles;
    }

    /**
     * Takes a given range for good.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes, not zero; all pages that it touches are taken
     * @throws IllegalArgumentException if the size is zero
     * @throws IllegalStateException if a page of it is not free; nothing changes then
     */
    public void reserve(long physAddr, long sizeBytes) {
        requireSize(sizeBytes);
        long firstPfn = physAddr >>> Addresses.PAGE_SHIFT;
        long lastPfn = Addresses.last(physAddr, sizeBytes) >>> Addresses.PAGE_SHIFT;
        synchronized (lock) {
            long free = freeFramesWithin(firstPfn, lastPfn);
            if (free != lastPfn - firstPfn + 1) {
                throw new IllegalStateException("cannot reserve " + Addresses.hexRange(physAddr, sizeBytes)
                        + ": of its " + (lastPfn - firstPfn + 1) + " pages " + free + " are free");
            }
            takeRange(firstPfn, lastPfn);
        }
    }

    /**
     * Says whether any page that a range touches is free to be allocated.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes, not zero
     * @return false when all of it is allocated, reserved or not handed out at all
     * @throws IllegalArgumentException if the size is zero
     */
    public boolean hasFreePagesWithin(long physAddr, long sizeBytes) {
        requireSize(sizeBytes);
        long firstPfn = physAddr >>> Addresses.PAGE_SHIFT;
        long lastPfn = Addresses.last(physAddr, sizeBytes) >>> Addresses.PAGE_SHIFT;
        synchronized (lock) {
            return freeFramesWithin(firstPfn, lastPfn) != 0;
        }
    }

    /**
     * Gives back a range that {@link #allocContiguous} or {@link #reserve} took.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes, not zero; all pages that it touches are free afterwards
     * @throws IllegalArgumentException if the size is zero
     * @throws IllegalStateException if a page of it was not taken so, or is free already; nothing changes then
     */
    public void giveBack(long physAddr, long sizeBytes) {
        requireSize(sizeBytes);
        long firstPfn = physAddr >>> Addresses.PAGE_SHIFT;
        long lastPfn = Addresses.last(physAddr, sizeBytes) >>> Addresses.PAGE_SHIFT;
        synchronized (lock) {
            if (!taken.containsAll(firstPfn, lastPfn)) {
                throw new IllegalStateException("cannot give back " + Addresses.hexRange(physAddr, sizeBytes)
                        + ": not all of its pages were taken, " + freeFramesWithin(firstPfn, lastPfn) + " are free");
            }
            taken.removeAll(firstPfn, lastPfn);
            giveToZones(firstPfn, lastPfn);
        }
    }

    private static void requireSize(long sizeBytes) {
        if (sizeBytes == 0) {
            throw new IllegalArgumentException("a range of pages has at least one byte");
        }
    }

    private static long framesIn(long sizeBytes) {
        return ((sizeBytes - 1) >>> Addresses.PAGE_SHIFT) + 1;
    }

    private void takeRange(long firstPfn, long lastPfn) {
        taken.addAll(firstPfn, lastPfn);
        for (BuddyZone zone : zones) {
            zone.takeRange(firstPfn, lastPfn);
        }
    }

    private long freeFramesWithin(long firstPfn, long lastPfn) {
        long free = 0;
        for (BuddyZone zone : zones) {
            free += zone.freeFramesWithin(firstPfn, lastPfn);
        }
        return free;
    }

    // ---- what is left

    /**
     * Gives what is free.
     *
     * @return bytes of free pages in all zones
     */
    public long freeBytes() {
        synchronized (lock) {
            long free = 0;
            for (BuddyZone zone : zones) {
                free += zone.freeFrames();
            }
            return free << Addresses.PAGE_SHIFT;
        }
    }

    /**
     * Gives what is free in one zone.
     *
     * @param zone the zone
     * @return bytes of free pages in it
     */
    public long freeBytes(Zone zone) {
        synchronized (lock) {
            return buddiesOf(zone).freeFrames() << Addresses.PAGE_SHIFT;
        }
    }

    /**
     * Gives what is allocated and can be freed.
     *
     * @return pages in all blocks that were allocated and not freed; pages taken for good do not count
     */
    public long allocatedPages() {
        synchronized (lock) {
            return allocatedFrames;
        }
    }

    /** Writes the free blocks by zone and order. */
    @Override
    public String toString() {
        synchronized (lock) {
            StringBuilder text = new StringBuilder();
            for (Zone zone : ZONES) {
                text.append(zone).append(" {").append(buddiesOf(zone)).append("} ");
            }
            return text.toString().trim();
        }
    }
}
