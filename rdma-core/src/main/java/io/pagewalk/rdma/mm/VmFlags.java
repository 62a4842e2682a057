package io.pagewalk.rdma.mm;

/** The flags of a range of an address space, with the kernel's values (rdma:MM-4). */
public final class VmFlags {
    /** The process may read. */
    public static final long READ = 0x1;
    /** The process may write. */
    public static final long WRITE = 0x2;
    /** The process may execute. */
    public static final long EXEC = 0x4;
    /** Writes are seen by all who map it. */
    public static final long SHARED = 0x8;
    /** {@link #READ} may be granted. */
    public static final long MAYREAD = 0x10;
    /** {@link #WRITE} may be granted. */
    public static final long MAYWRITE = 0x20;
    /** {@link #EXEC} may be granted. */
    public static final long MAYEXEC = 0x40;
    /** Mapped as shared, even where nothing can be written (rdma:MM-5). */
    public static final long MAYSHARE = 0x80;
    /** Bare frame numbers, without pages. */
    public static final long PFNMAP = 0x400;
    /** Locked in memory. */
    public static final long LOCKED = 0x2000;
    /** Registers or memory of a device. */
    public static final long IO = 0x4000;
    /** A child does not get it. */
    public static final long DONTCOPY = 0x2_0000;
    /** Huge pages of hugetlbfs. */
    public static final long HUGETLB = 0x40_0000;
    /** A child gets it empty. */
    public static final long WIPEONFORK = 0x200_0000;
    /** Bare frame numbers among pages. */
    public static final long MIXEDMAP = 0x1000_0000;
    /** Huge pages are welcome. */
    public static final long HUGEPAGE = 0x2000_0000;

    static final long ACCESS = READ | WRITE | EXEC;

    private VmFlags() {}

    static boolean isCowMapping(long flags) {
        return (flags & (SHARED | MAYWRITE)) == MAYWRITE;
    }
}
