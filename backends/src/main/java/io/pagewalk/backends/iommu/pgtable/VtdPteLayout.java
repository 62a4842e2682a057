package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.backends.iommu.api.IommuProt;

/**
 * The layout of VT-d second-stage entries: 8 little-endian bytes each, 512 to a table page. Implements iommu:VTD-9 to
 * VTD-11 and iommu:VTD-13.
 *
 * <p>Levels count from 1, the level whose entries map 4 KiB each. A {@code pfn} is an address divided by 4096.
 */
public final class VtdPteLayout {
    /** The device may read. */
    public static final long READ = 1;
    /** The device may write. */
    public static final long WRITE = 2;
    /** Present is what has one of these. */
    public static final long PERMISSIONS = READ | WRITE;
    /** Above level 1: the entry maps memory itself (bit 7, PS). */
    public static final long LARGE = 1 << 7;
    /** The access snoops the CPU's caches (bit 11, SNP). */
    public static final long SNOOP = 1 << 11;
    /** The address as software takes it, with no upper limit. */
    public static final long ADDRESS = ~0xfffL;
    /** The address as hardware takes it. */
    public static final long HARDWARE_ADDRESS = 0x000f_ffff_ffff_f000L;
    /** Entries of a table. */
    public static final int ENTRIES = 512;
    /** Bytes of a table. */
    public static final int TABLE_BYTES = 4096;

    private static final int BITS_PER_LEVEL = 9;
    private static final int PAGE_SHIFT = 12;

    private VtdPteLayout() {}

    /**
     * Tells whether an entry points anywhere.
     *
     * @param entry its value
     * @return true when it allows reads or writes
     */
    public static boolean isPresent(long entry) {
        return (entry & PERMISSIONS) != 0;
    }

    /**
     * Tells whether an entry above level 1 maps memory itself.
     *
     * @param entry its value
     * @return true for a 2 MiB or 1 GiB leaf
     */
    public static boolean isLarge(long entry) {
        return (entry & LARGE) != 0;
    }

    /**
     * What an entry points to, as software reads it.
     *
     * @param entry its value
     * @return a physical address
     */
    public static long address(long entry) {
        return entry & ADDRESS;
    }

    /**
     * An entry that points to a table of the next lower level (iommu:VTD-10).
     *
     * @param tablePhysAddr the table
     * @return its value
     */
    public static long tableEntry(long tablePhysAddr) {
        return tablePhysAddr | PERMISSIONS;
    }

    /**
     * The low bits of a leaf (iommu:VTD-11): what may be written may be read as well.
     *
     * @param prot bits of {@link IommuProt}, READ or WRITE among them
     * @param level 1, or 2 and 3 for large pages
     * @return everything but the address
     */
    public static long leafBits(int prot, int level) {
        long permissions = (prot & PERMISSIONS) | READ;
        return level == 1 ? permissions : permissions | LARGE;
    }

    /**
     * Where the entry for a page stands in a table.
     *
     * @param pfn the page
     * @param level the table's level
     * @return 0 to 511
     */
    public static int index(long pfn, int level) {
        return (int) (pfn >>> levelShift(level)) & (ENTRIES - 1);
    }

    /**
     * Where the entry for a page lies.
     *
     * @param tablePhysAddr the table
     * @param pfn the page
     * @param level the table's level
     * @return the entry's physical address
     */
    public static long slot(long tablePhysAddr, long pfn, int level) {
        return tablePhysAddr + 8L * index(pfn, level);
    }

    /**
     * By how much an entry's span exceeds a page.
     *
     * @param level the entry's level
     * @return the binary logarithm of {@link #pagesAt}
     */
    public static int levelShift(int level) {
        return BITS_PER_LEVEL * (level - 1);
    }

    /**
     * How many pages an entry spans.
     *
     * @param level its level
     * @return 1, 512, 512 * 512, ...
     */
    public static long pagesAt(int level) {
        return 1L << levelShift(level);
    }

    /**
     * How many bytes an entry spans.
     *
     * @param level its level
     * @return 4 KiB, 2 MiB, 1 GiB, ...
     */
    public static long bytesAt(int level) {
        return 1L << (PAGE_SHIFT + levelShift(level));
    }

    /**
     * Tells whether tables of so many levels have an entry for a page.
     *
     * @param pfn the page
     * @param levels how many levels there are
     * @return true when the page lies within their width
     */
    public static boolean reaches(long pfn, int levels) {
        return pfn >>> (BITS_PER_LEVEL * levels) == 0;
    }
}
