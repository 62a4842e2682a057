package io.pagewalk.rdma.mm;

/** What stands behind a file that processes map (rdma:MM-4, GUP-9). */
public enum FileKind {
    /** tmpfs, memfd and shared anonymous memory. */
    SHMEM(false),
    /** A file of ext4, xfs or the like: writes are noticed, pages are written back. */
    REGULAR(true),
    /** A file whose file system neither wants to know of writes nor writes back. */
    REGULAR_UNTRACKED(false),
    /** Huge pages. */
    HUGETLB(false),
    /** A file in persistent memory, mapped without a page cache. */
    FSDAX(true),
    /** Persistent memory as a character device. */
    DEVICE_DAX(false),
    /** memfd_secret: not even the kernel looks at it. */
    SECRETMEM(false),
    /** Pages of the kernel itself, as [vdso] maps them (rdma:MM-20). */
    KERNEL_PAGES(false);

    private final boolean tracksDirtyPages;

    FileKind(boolean tracksDirtyPages) {
        this.tracksDirtyPages = tracksDirtyPages;
    }

    /**
     * Whether a shared writable mapping needs to notice writes (rdma:GUP-9).
     *
     * @return false for memory that is never written back
     */
    public boolean tracksDirtyPages() {
        return tracksDirtyPages;
    }

    /** Whether the pages are mapped as device memory. */
    boolean isDax() {
        return this == FSDAX || this == DEVICE_DAX;
    }

    /** What the folios of such a file are. */
    int folioBits() {
        return switch (this) {
            case SHMEM -> Folios.FILE | Folios.SHMEM;
            case HUGETLB -> Folios.FILE | Folios.HUGETLB;
            case SECRETMEM -> Folios.FILE | Folios.SECRETMEM;
            case FSDAX, DEVICE_DAX -> Folios.FILE | Folios.PERSISTENT;
            case REGULAR, REGULAR_UNTRACKED, KERNEL_PAGES -> Folios.FILE;
        };
    }
}
