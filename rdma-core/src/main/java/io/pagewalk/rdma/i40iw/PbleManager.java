package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureInjection;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.i40iw.HmcMemory.SegmentType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A device's page buffer list entries (PBLEs): eight bytes each, which the device reads to find the pages of a region.
 * Backing memory grows chunk by chunk when there is no room, up to what the device has, and is never given back.
 *
 * <p>Failure points: {@code i40iw.pble_chunk}, {@code i40iw.pble_leaves}, and those of coherent memory. Implements
 * rdma:PBLE-1 to PBLE-10. Thread-safe.
 */
public final class PbleManager {
    /*
     * A chunk is what one growth adds: pages of one segment of 2 MiB, from the next unbacked PBLE on to the end of the segment.
     * The newest chunk is searched first and in it the lowest run of free granules that fits, so old chunks stay full and the
     * newest takes the changes. Lists too long for a run are cut into leaves of one page; their indexes stand in a root, which is
     * itself a run of PBLEs.
     */

    /** Bytes of one PBLE. */
    static final int PBLE_BYTES = 8;

    private static final int PAGE_PBLES = (int) (Addresses.PAGE_SIZE / PBLE_BYTES);
    private static final int GRANULE_PBLES = PbleChunk.GRANULE_BYTES / PBLE_BYTES;

    /** A list of so many PBLEs fills a segment; for each there is one more growth before giving up (rdma:PBLE-8). */
    private static final int SEGMENT_PBLES_SHIFT = 18;

    /** Either level, and as many growths as the list may need. */
    public static final int ANY_LEVEL = 0;

    /** One run. */
    public static final int LEVEL_1 = 1;

    /** One run or leaves under a root, after one growth at most. */
    public static final int LEVEL_1_OR_2 = 3;

    private final HmcMemory memory;
    private final Generation generation;
    private final long base;
    private final FailurePoint chunkPoint;
    private final FailurePoint leavesPoint;
    private final Deque<PbleChunk> chunks = new ArrayDeque<>();

    private long next;
    private long unallocated;
    private long total;
    private long free;
    private long directSegments;
    private long pagedSegments;
    private volatile boolean closed;
    private long allocated;
    private long freed;
    private long allocationsMade;
    private long allocationsFailed;
    private long allocationsFreed;

    /**
     * Takes over a device's PBLEs, none of which is backed yet.
     *
     * @param memory the device's private address space
     * @param base FPM address of the first PBLE, unsigned, a multiple of 8
     * @param count how many PBLEs the device has
     * @param generation whose rules
     * @param failures where allocations can be made to fail
     * @throws IllegalArgumentException when the base is not aligned, there are not even PBLEs up to the first page, or
     *     they pass the end of all addresses
     */
    public PbleManager(HmcMemory memory, long base, long count, Generation generation, FailureInjection failures) {
        if (!Addresses.isAligned(base, PBLE_BYTES)) {
            throw new IllegalArgumentException("PBLEs have 8 bytes and cannot begin at " + Addresses.hex(base));
        }
        long skipped = (Addresses.alignUp(base, Addresses.PAGE_SIZE) - base) / PBLE_BYTES;
        if (count < skipped || count > 1L << 32) {
            throw new IllegalArgumentException(
                    count + " PBLEs from " + Addresses.hex(base) + ": " + skipped + " to 2^32 can be managed");
        }
        if (count != 0 && Addresses.lessThan(-1L - base, count * PBLE_BYTES - 1)) {
            throw new IllegalArgumentException(
                    count + " PBLEs from " + Addresses.hex(base) + " pass the end of all addresses");
        }
        this.memory = Objects.requireNonNull(memory, "memory");
        this.generation = Objects.requireNonNull(generation, "generation");
        this.base = base;
        chunkPoint = failures.point("i40iw.pble_chunk");
        leavesPoint = failures.point("i40iw.pble_leaves");
        next = base + skipped * PBLE_BYTES;
        unallocated = count - skipped;
    }

    /**
     * Backs the first chunk, as is done when the device is opened (rdma:PBLE-2).
     *
     * @return 0, or -ENOMEM
     */
    public synchronized int open() {
        return addChunk() == 0 ? 0 : -Errno.ENOMEM;
    }

    /** Nothing is backed any more: no list can be had, and those that are held have no entries. */
    synchronized void close() {
        closed = true;
        unallocated = 0;
        chunks.clear();
    }

    boolean isClosed() {
        return closed;
    }

    // ---- growth

    /**
     * Backs as many pages as are left in the next segment, or as the device has (rdma:PBLE-3 to PBLE-5).
     *
     * @return 0; -ENOMEM when the device has no page of PBLEs left or memory ran out
     */
    public synchronized int addChunk() {
        if (unallocated < PAGE_PBLES || chunkPoint.fails()) {
            return -Errno.ENOMEM;
        }
        long segment = HmcMemory.segmentOf(next);
        int firstPage = HmcMemory.pageOf(next);
        int pages = (int) Math.min(HmcMemory.SEGMENT_PAGES - firstPage, unallocated / PAGE_PBLES);
        int error = back(segment, firstPage, pages);
        if (error != 0) {
            return error;
        }
        long pbles = (long) pages * PAGE_PBLES;
        chunks.addFirst(new PbleChunk(next, pages * Addresses.PAGE_SIZE));
        next += pages * Addresses.PAGE_SIZE;
        unallocated -= pbles;
        total += pbles;
        free += pbles;
        return 0;
    }

    /** A paged chunk counts as direct too, unless a direct one was tried for and failed (rdma:PBLE-5). */
    private int back(long segment, int firstPage, int pages) {
        SegmentType present = memory.type(segment);
        boolean isWhole = firstPage == 0 && pages == HmcMemory.SEGMENT_PAGES;
        boolean direct = present == null ? isWhole : present == SegmentType.DIRECT;
        int directError = direct && present == null ? memory.addDirect(segment) : 0;
        if (direct && directError == 0) {
            directSegments++;
            return 0;
        }
        int error = memory.addPages(segment, firstPage, pages);
        if (error == 0) {
            pagedSegments++;
            directSegments += directError == 0 ? 1 : 0;
        }
        return error;
    }

    // ---- lists

    /**
     * Takes PBLEs for a list of pages.
     *
     * @param count how many, not negative
     * @param levels {@link #ANY_LEVEL}, {@link #LEVEL_1} or {@link #LEVEL_1_OR_2}; {@code i40iw} knows the first only
     * @param allocation takes them; it holds nothing before, and nothing after a failure
     * @return 0, or -ENOMEM
     * @throws IllegalArgumentException for a negative count or other levels; nothing changes then
     * @throws IllegalStateException when the allocation holds PBLEs already; nothing changes then
     */
    public synchronized int get(int count, int levels, PbleAllocation allocation) {
        requireArguments(count, levels, allocation);
        int error = tryLevels(count, levels, allocation);
        int growths = levels == ANY_LEVEL ? (count >>> SEGMENT_PBLES_SHIFT) + 1 : 1;
        for (int i = 0; error != 0 && i < growths; i++) {
            error = addChunk();
            if (error != 0) {
                break;
            }
            error = tryLevels(count, levels, allocation);
        }
        if (error == 0) {
            allocated += count;
            allocationsMade++;
        } else {
            allocationsFailed++;
        }
        return error;
    }

    private void requireArguments(int count, int levels, PbleAllocation allocation) {
        if (count < 0) {
            throw new IllegalArgumentException("a list of " + count + " PBLEs");
        }
        boolean known = levels == ANY_LEVEL || levels == LEVEL_1 || levels == LEVEL_1_OR_2;
        if (!known || (generation == Generation.I40IW && levels != ANY_LEVEL)) {
            throw new IllegalArgumentException(generation + " gets no PBLEs of levels " + levels);
        }
        if (allocation.level() != 0) {
            throw new IllegalStateException("the allocation holds " + allocation.count() + " PBLEs already");
        }
    }

    private int tryLevels(int count, int levels, PbleAllocation allocation) {
        PbleRun run = take(count);
        if (run != null) {
            allocation.hold(count, run, List.of());
            return 0;
        }
        return levels != LEVEL_1 && count > PbleAllocation.LEAF_PBLES ? takeLeaves(count, allocation) : -Errno.ENOMEM;
    }

    /** A root and its leaves, or nothing (rdma:PBLE-7). */
    private int takeLeaves(int count, PbleAllocation allocation) {
        int leafCount = (count - 1) / PbleAllocation.LEAF_PBLES + 1;
        PbleRun root = leavesPoint.fails() ? null : take(leafCount);
        if (root == null) {
            return -Errno.ENOMEM;
        }
        List<PbleRun> leaves = new ArrayList<>(leafCount);
        for (int left = count; left > 0; left -= PbleAllocation.LEAF_PBLES) {
            PbleRun leaf = take(Math.min(left, PbleAllocation.LEAF_PBLES));
            if (leaf == null) {
                leaves.forEach(this::giveBack);
                giveBack(root);
                return -Errno.ENOMEM;
            }
            memory.putLong(root.fpmAddr() + (long) PBLE_BYTES * leaves.size(), leaf.index());
            leaves.add(leaf);
        }
        allocation.hold(count, root, leaves);
        return 0;
    }

    private @Nullable PbleRun take(int count) {
        int granules = granules(count);
        for (PbleChunk chunk : chunks) {
            int granule = chunk.take(granules);
            if (granule >= 0) {
                free -= (long) granules * GRANULE_PBLES;
                long fpmAddr = chunk.fpmAddr + (long) granule * PbleChunk.GRANULE_BYTES;
                return new PbleRun((int) ((fpmAddr - base) / PBLE_BYTES), count, fpmAddr, chunk, granule);
            }
        }
        return null;
    }

    private void giveBack(PbleRun run) {
        run.chunk().free(run.granule(), run.granules());
        free += (long) run.granules() * GRANULE_PBLES;
    }

    static int granules(int count) {
        return (int) (((long) count + GRANULE_PBLES - 1) / GRANULE_PBLES);
    }

    /**
     * Gives the PBLEs of a list back (rdma:PBLE-10).
     *
     * @param allocation what {@link #get} filled; it holds nothing afterwards
     * @throws IllegalStateException when it holds nothing; nothing changes then
     */
    public synchronized void free(PbleAllocation allocation) {
        PbleRun root = allocation.root();
        allocation.leafRuns().forEach(this::giveBack);
        giveBack(root);
        freed += allocation.count();
        allocationsFreed++;
        allocation.clear();
    }

    // ---- content

    /**
     * Writes an entry, as the driver.
     *
     * @param allocation whose
     * @param pble which, from 0
     * @param dmaAddr the page's address on the bus
     * @throws IndexOutOfBoundsException when the list has no such entry
     */
    public void set(PbleAllocation allocation, int pble, long dmaAddr) {
        memory.putLong(allocation.fpmAddr(pble), dmaAddr);
    }

    /**
     * Where the device reads a PBLE.
     *
     * @param index from the base on
     * @return its address on the bus
     * @throws IllegalArgumentException when that PBLE is not backed
     */
    public long dmaAddr(int index) {
        return memory.dmaAddr(base + (index & 0xffff_ffffL) * PBLE_BYTES);
    }

    /** Where the device reads a PBLE, or {@link HmcMemory#NOWHERE}. */
    long dmaAddrOrNowhere(int index) {
        return memory.dmaAddrOrNowhere(base + (index & 0xffff_ffffL) * PBLE_BYTES);
    }

    /** Reads a PBLE, as the driver. */
    long get(int index) {
        return memory.getLong(base + (index & 0xffff_ffffL) * PBLE_BYTES);
    }

    // ---- counters

    /**
     * PBLEs that are backed.
     *
     * @return taken or free
     */
    public synchronized long totalPbles() {
        return total;
    }

    /**
     * PBLEs that are backed and free.
     *
     * @return in whole granules of 8
     */
    public synchronized long freePbles() {
        return free;
    }

    /**
     * PBLEs that are not backed yet.
     *
     * @return with those that do not fill a page
     */
    public synchronized long unallocatedPbles() {
        return unallocated;
    }

    /**
     * The address of the next PBLE that will be backed.
     *
     * @return FPM address
     */
    public synchronized long nextFpmAddr() {
        return next;
    }

    /**
     * PBLEs that lists asked for and got.
     *
     * @return since the start, freed ones too
     */
    public synchronized long allocatedPbles() {
        return allocated;
    }

    /**
     * PBLEs of lists that were given back.
     *
     * @return since the start
     */
    public synchronized long freedPbles() {
        return freed;
    }

    /**
     * Lists that were made.
     *
     * @return since the start
     */
    public synchronized long allocationsMade() {
        return allocationsMade;
    }

    /**
     * Lists that could not be made.
     *
     * @return since the start
     */
    public synchronized long allocationsFailed() {
        return allocationsFailed;
    }

    /**
     * Lists that were given back.
     *
     * @return since the start
     */
    public synchronized long allocationsFreed() {
        return allocationsFreed;
    }

    /**
     * Growths that the driver's statistics call direct: paged ones are among them, save those that were to be direct
     * and had to do with pages (rdma:PBLE-5).
     *
     * @return since the start
     */
    public synchronized long directSegments() {
        return directSegments;
    }

    /**
     * Growths by pages.
     *
     * @return since the start
     */
    public synchronized long pagedSegments() {
        return pagedSegments;
    }

    /**
     * Granules of a growth.
     *
     * @param chunk which, from the newest, 0, on
     * @return granules, taken or free
     * @throws IndexOutOfBoundsException when there were not so many
     */
    public synchronized int chunkGranules(int chunk) {
        return List.copyOf(chunks).get(Objects.checkIndex(chunk, chunks.size())).granules();
    }
}
