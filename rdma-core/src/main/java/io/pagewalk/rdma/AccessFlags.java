package io.pagewalk.rdma;

/**
 * Rights that a registration gives, as bits with the values of the verbs (rdma:ACC-1). Reading by the owner is always
 * implied and has no bit.
 */
public final class AccessFlags {

    /** The owner's own requests may write. Remote writes and atomics need it as well. */
    public static final int LOCAL_WRITE = 0x1;

    /** The peer may write. */
    public static final int REMOTE_WRITE = 0x2;

    /** The peer may read. */
    public static final int REMOTE_READ = 0x4;

    /** The peer may do atomic operations. */
    public static final int REMOTE_ATOMIC = 0x8;

    /** Memory windows may be bound to the region. */
    public static final int MW_BIND = 0x10;

    /** Addresses count from the start of the region instead of from a virtual address. */
    public static final int ZERO_BASED = 0x20;

    /** Pages are not pinned but faulted in when the device asks for them. */
    public static final int ON_DEMAND = 0x40;

    /** Pages are huge ones; only registrations on demand look at it. */
    public static final int HUGETLB = 0x80;

    /** The peer may flush to global visibility. */
    public static final int FLUSH_GLOBAL = 0x100;

    /** The peer may flush to persistence. */
    public static final int FLUSH_PERSISTENT = 0x200;

    /** The device may reorder its accesses. */
    public static final int RELAXED_ORDERING = 0x100000;

    /** Bits that a device may ignore. */
    public static final int OPTIONAL_RANGE = 0x3ff00000;

    /** Every bit that a registration may carry. */
    public static final int SUPPORTED = 0x3ff003ff;

    private static final int WRITABLE = LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC | MW_BIND;

    private AccessFlags() {}

    /**
     * Says whether a registration with these rights must be able to write its pages (rdma:UMEM-2). Binding windows
     * counts, since a window may be bound for writing.
     *
     * @param access rights, the constants of this class
     * @return true if any of them writes
     */
    public static boolean writable(int access) {
        return (access & WRITABLE) != 0;
    }
}
