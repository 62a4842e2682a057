package io.pagewalk.rdma.mm;

/** The constants of {@code mmap}, {@code mprotect} and {@code madvise}, with x86-64's values. */
public final class Mmap {
    /** Nothing may be done. */
    public static final int PROT_NONE = 0;
    /** May be read. */
    public static final int PROT_READ = 0x1;
    /** May be written. */
    public static final int PROT_WRITE = 0x2;
    /** May be executed. */
    public static final int PROT_EXEC = 0x4;

    /** Writes are seen by all who map it. */
    public static final int MAP_SHARED = 0x1;
    /** Writes are seen by the process alone. */
    public static final int MAP_PRIVATE = 0x2;
    /** At this address, whatever is there. */
    public static final int MAP_FIXED = 0x10;
    /** No file. */
    public static final int MAP_ANONYMOUS = 0x20;
    /** Locked in memory. */
    public static final int MAP_LOCKED = 0x2000;
    /** Huge pages. */
    public static final int MAP_HUGETLB = 0x4_0000;

    /** Drop the pages; what is read afterwards is zeros, or the file again. */
    public static final int MADV_DONTNEED = 4;
    /** Keep it from children. */
    public static final int MADV_DONTFORK = 10;
    /** Take {@link #MADV_DONTFORK} back. */
    public static final int MADV_DOFORK = 11;
    /** Use huge pages where it can be done. */
    public static final int MADV_HUGEPAGE = 14;
    /** Take {@link #MADV_HUGEPAGE} back. */
    public static final int MADV_NOHUGEPAGE = 15;
    /** Give it to children empty. */
    public static final int MADV_WIPEONFORK = 18;
    /** Take {@link #MADV_WIPEONFORK} back. */
    public static final int MADV_KEEPONFORK = 19;
    /** Lose a page, as to a memory error. */
    public static final int MADV_HWPOISON = 100;

    private Mmap() {}
}
