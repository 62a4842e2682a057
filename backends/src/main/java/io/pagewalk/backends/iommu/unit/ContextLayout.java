package io.pagewalk.backends.iommu.unit;

/**
 * Root and context entries in legacy mode: 16 little-endian bytes each, 256 to a table page. Implements iommu:CTX-1 and
 * iommu:CTX-2.
 */
public final class ContextLayout {
    /** Both: the entry counts. */
    public static final long PRESENT = 1;
    /** Context entries: faults are not recorded. */
    public static final long FAULT_DISABLE = 2;
    /** Translation type: through the second-stage tables. */
    public static final int TT_TABLES = 0;
    /** Translation type: as {@link #TT_TABLES}, and the device may translate by itself. */
    public static final int TT_DEVICE_TLB = 1;
    /** Translation type: addresses pass untranslated. */
    public static final int TT_PASS_THROUGH = 2;
    /** Bytes of an entry. */
    public static final int ENTRY_BYTES = 16;

    private static final long POINTER = 0x000f_ffff_ffff_f000L;
    private static final long ROOT_LOW_RESERVED = 0xffeL;
    private static final long CONTEXT_LOW_RESERVED = 0xff0L;
    private static final long CONTEXT_HIGH_RESERVED = 0xffff_ffff_ff00_0080L;

    private ContextLayout() {}

    /**
     * Where a requester's root entry lies.
     *
     * @param rootTable the root table
     * @param requesterId bus, device and function
     * @return the entry's physical address
     */
    public static long rootSlot(long rootTable, int requesterId) {
        return rootTable + (long) (requesterId >>> 8) * ENTRY_BYTES;
    }

    /**
     * Where a requester's context entry lies.
     *
     * @param contextTable the context table of its bus
     * @param requesterId bus, device and function
     * @return the entry's physical address
     */
    public static long contextSlot(long contextTable, int requesterId) {
        return contextTable + (long) (requesterId & 0xff) * ENTRY_BYTES;
    }

    /**
     * Tells whether an entry counts.
     *
     * @param low its low 8 bytes
     * @return the P bit
     */
    public static boolean isPresent(long low) {
        return (low & PRESENT) != 0;
    }

    /**
     * The table that an entry points to.
     *
     * @param low its low 8 bytes
     * @return a physical address
     */
    public static long pointer(long low) {
        return low & POINTER;
    }

    /**
     * Low 8 bytes of a context entry.
     *
     * @param tablePhysAddr the second-stage root, 0 under pass-through
     * @param translationType one of the TT constants
     * @return the bytes, present
     */
    public static long contextLow(long tablePhysAddr, int translationType) {
        return tablePhysAddr | (long) translationType << 2 | PRESENT;
    }

    /**
     * High 8 bytes of a context entry.
     *
     * @param domainId the domain
     * @param agaw the width of its tables
     * @return the bytes
     */
    public static long contextHigh(int domainId, int agaw) {
        return (long) domainId << 8 | agaw;
    }

    /**
     * The translation type.
     *
     * @param low low 8 bytes of a context entry
     * @return 0 to 3
     */
    public static int translationType(long low) {
        return (int) (low >>> 2) & 3;
    }

    /**
     * Tells whether faults go unrecorded.
     *
     * @param low low 8 bytes of a context entry
     * @return the FPD bit
     */
    public static boolean disablesFaults(long low) {
        return (low & FAULT_DISABLE) != 0;
    }

    /**
     * The width of the tables.
     *
     * @param high high 8 bytes of a context entry
     * @return AW, 0 to 7
     */
    public static int agaw(long high) {
        return (int) high & 7;
    }

    /**
     * The domain.
     *
     * @param high high 8 bytes of a context entry
     * @return its id
     */
    public static int domainId(long high) {
        return (int) (high >>> 8) & 0xffff;
    }

    static boolean rootHasReservedBits(long low, long high, long beyondHost) {
        return (low & (ROOT_LOW_RESERVED | beyondHost)) != 0 || high != 0;
    }

    static boolean contextHasReservedBits(long low, long high, long beyondHost) {
        return (low & (CONTEXT_LOW_RESERVED | beyondHost)) != 0 || (high & CONTEXT_HIGH_RESERVED) != 0;
    }
}
