package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What process memory knows about page frames beyond their references: what kind of folio a page belongs to, how large
 * it is, how often it is mapped, and which pages are anonymous and exclusive. Sparse, 512 frames at a time.
 *
 * <p>The page of a large folio names its head by its own number, since folios are naturally aligned. Not thread-safe:
 * the lock of {@link UserMemory} guards it. Implements rdma:MM-7.
 */
final class Folios {
    /** A process's own page. */
    static final int ANON = 1;
    /** A page of a file, in memory or on a disk. */
    static final int FILE = 1 << 1;

    static final int SHMEM = 1 << 2;
    static final int HUGETLB = 1 << 3;
    static final int SECRETMEM = 1 << 4;
    /**
     * An anonymous page that nobody else maps: writing it needs no copy. Kept for each page, of hugetlb at the head.
     */
    static final int EXCLUSIVE = 1 << 5;
    /** Looked at lately. */
    static final int REFERENCED = 1 << 6;
    /** In memory of a device that the CPU can reach but which cannot be pinned for long. */
    static final int DEVICE_COHERENT = 1 << 7;
    /** In a block of pages that is being taken out of use. */
    static final int ISOLATED = 1 << 8;

    /** In a contiguous memory area or in ZONE_MOVABLE. */
    static final int MOVABLE = 1 << 9;

    /** In memory that keeps its bytes without power. */
    static final int PERSISTENT = 1 << 10;

    /** What a folio must not have if it is to be pinned for long (rdma:GUP-13). */
    static final int NOT_LONGTERM_PINNABLE = DEVICE_COHERENT | ISOLATED | MOVABLE;

    private static final int ORDER_SHIFT = 16;
    private static final int ORDER_MASK = 0xf << ORDER_SHIFT;

    private static final int GROUP_SHIFT = 9;
    private static final int GROUP_FRAMES = 1 << GROUP_SHIFT;
    private static final int LEAF_SHIFT = 9;
    private static final long END_OF_FRAMES = 1L << (52 - Addresses.PAGE_SHIFT);

    private static final class Group {
        final int[] states = new int[GROUP_FRAMES];
        final int[] mapCounts = new int[GROUP_FRAMES];
    }

    private @Nullable Group[] @Nullable [] leaves = new Group[1][];

    /** The group that was asked for last: a walk stays in it for 512 pages. */
    private long lastKey = -1;

    private Group last = new Group();

    /** Whether there can be such a frame at all: addresses have 52 bits, the most that x86 has. */
    static boolean isFrame(long pfn) {
        return Addresses.lessThan(pfn, END_OF_FRAMES);
    }

    /** Refuses what cannot be a frame. */
    static long requireFrame(long pfn) {
        if (!isFrame(pfn)) {
            throw new IllegalArgumentException("there is no page frame " + Addresses.hex(pfn));
        }
        return pfn;
    }

    /** The state of one page: its bits and its order; 0 when it is none of these. */
    int state(long pfn) {
        return groupOf(pfn).states[slotOf(pfn)];
    }

    static boolean isLarge(int state) {
        return (state & ORDER_MASK) != 0;
    }

    static int orderOf(int state) {
        return (state & ORDER_MASK) >>> ORDER_SHIFT;
    }

    /** The first page of the folio that a page belongs to. */
    long head(long pfn) {
        return headOf(pfn, state(pfn));
    }

    static long headOf(long pfn, int state) {
        return Addresses.alignDown(pfn, 1L << orderOf(state));
    }

    boolean has(long pfn, int bit) {
        return (state(pfn) & bit) != 0;
    }

    /** Makes a folio of frames that belonged to none. */
    void create(long headPfn, int order, int bits) {
        for (long pfn = headPfn; pfn < headPfn + (1L << order); pfn++) {
            groupOf(pfn).states[slotOf(pfn)] = bits | (order << ORDER_SHIFT);
        }
    }

    /** Forgets a folio that goes back to the page allocator. */
    void forget(long headPfn, int order) {
        for (long pfn = headPfn; pfn < headPfn + (1L << order); pfn++) {
            Group group = groupOf(pfn);
            group.states[slotOf(pfn)] = 0;
            group.mapCounts[slotOf(pfn)] = 0;
        }
    }

    void set(long pfn, int bit) {
        groupOf(pfn).states[slotOf(pfn)] |= bit;
    }

    /** Sets a bit on every page of the folio that a page belongs to, so that each can be judged alone. */
    void setOnFolio(long pfn, int bit) {
        int state = state(pfn);
        long head = headOf(pfn, state);
        for (long page = head; page < head + (1L << orderOf(state)); page++) {
            set(page, bit);
        }
    }

    void clear(long pfn, int bit) {
        groupOf(pfn).states[slotOf(pfn)] &= ~bit;
    }

    // ---- anonymous and exclusive

    boolean isExclusive(long pfn) {
        return has(exclusivePageOf(pfn), EXCLUSIVE);
    }

    void setExclusive(long pfn) {
        set(exclusivePageOf(pfn), EXCLUSIVE);
    }

    void clearExclusive(long pfn) {
        clear(exclusivePageOf(pfn), EXCLUSIVE);
    }

    private long exclusivePageOf(long pfn) {
        int state = state(pfn);
        return (state & HUGETLB) != 0 ? headOf(pfn, state) : pfn;
    }

    // ---- mappings

    /** How many entries of page tables name the folio; a huge mapping of hugetlb counts once. */
    int mapCount(long headPfn) {
        return groupOf(headPfn).mapCounts[slotOf(headPfn)];
    }

    void addMapCount(long headPfn, int delta) {
        groupOf(headPfn).mapCounts[slotOf(headPfn)] += delta;
    }

    // ---- groups

    private Group groupOf(long pfn) {
        long key = pfn >>> GROUP_SHIFT;
        return key == lastKey ? last : find(key);
    }

    private Group find(long key) {
        int leafIndex = (int) (key >>> LEAF_SHIFT);
        if (leafIndex >= leaves.length) {
            leaves = Arrays.copyOf(leaves, Math.max(leafIndex + 1, leaves.length * 2));
        }
        if (leaves[leafIndex] == null) {
            leaves[leafIndex] = new Group[1 << LEAF_SHIFT];
        }
        int index = (int) key & ((1 << LEAF_SHIFT) - 1);
        Group group = leaves[leafIndex][index];
        if (group == null) {
            group = new Group();
            leaves[leafIndex][index] = group;
        }
        lastKey = key;
        last = group;
        return group;
    }

    private static int slotOf(long pfn) {
        return (int) pfn & (GROUP_FRAMES - 1);
    }
}
