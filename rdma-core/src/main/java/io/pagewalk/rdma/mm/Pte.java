package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;

/**
 * The bits of a page-table entry, where x86-64 has them. A huge page is 512 entries with {@link #HUGE} set, each naming
 * its own frame.
 *
 * <p>Implements rdma:MM-7.
 */
final class Pte {
    /** Nothing is mapped. */
    static final long NONE = 0;

    static final long PRESENT = 1;
    static final long WRITE = 1 << 1;
    static final long ACCESSED = 1 << 5;
    static final long DIRTY = 1 << 6;
    static final long HUGE = 1 << 7;
    /** Mapped, but the process may not touch it: stands instead of {@link #PRESENT}. */
    static final long PROTNONE = 1 << 8;
    /** The frame has no page whose references count: the zero page, or a bare frame number. */
    static final long SPECIAL = 1 << 9;
    /** What was here was lost to a memory error; nothing is mapped. */
    static final long POISON = 1 << 10;

    static final long DEVMAP = 1L << 58;
    private static final int KEY_SHIFT = 59;
    private static final long KEY_MASK = 0xfL << KEY_SHIFT;
    private static final long PFN_MASK = 0x000f_ffff_ffff_f000L;

    private Pte() {}

    static long of(long pfn, int protectionKey, long bits) {
        return (pfn << Addresses.PAGE_SHIFT) | ((long) protectionKey << KEY_SHIFT) | bits;
    }

    static long pfn(long pte) {
        return (pte & PFN_MASK) >>> Addresses.PAGE_SHIFT;
    }

    static long withPfn(long pte, long pfn) {
        return (pte & ~PFN_MASK) | (pfn << Addresses.PAGE_SHIFT);
    }

    static int protectionKey(long pte) {
        return (int) (pte >>> KEY_SHIFT) & 0xf;
    }

    static long withProtectionKey(long pte, int key) {
        return (pte & ~KEY_MASK) | ((long) key << KEY_SHIFT);
    }

    static boolean has(long pte, long bit) {
        return (pte & bit) != 0;
    }

    /** Whether it names a frame at all, touchable or not. */
    static boolean isMapped(long pte) {
        return (pte & (PRESENT | PROTNONE)) != 0;
    }
}
