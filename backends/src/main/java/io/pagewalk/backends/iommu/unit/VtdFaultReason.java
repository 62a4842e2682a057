package io.pagewalk.backends.iommu.unit;

/** Why a unit blocked a request: the numbers of legacy mode. Implements iommu:FLT-4. */
public final class VtdFaultReason {
    /** The root entry is not present. */
    public static final int ROOT_NOT_PRESENT = 0x1;
    /** The context entry is not present. */
    public static final int CONTEXT_NOT_PRESENT = 0x2;
    /** The context entry makes no sense. */
    public static final int CONTEXT_INVALID = 0x3;
    /** The address is beyond the width. */
    public static final int BEYOND_WIDTH = 0x4;
    /** Some entry on the way does not allow writes, perhaps because it is not present. */
    public static final int NO_WRITE = 0x5;
    /** Some entry on the way does not allow reads, perhaps because it is not present. */
    public static final int NO_READ = 0x6;
    /** A table pointer leads nowhere. */
    public static final int TABLE_UNREACHABLE = 0x7;
    /** The root table address leads nowhere. */
    public static final int ROOT_UNREACHABLE = 0x8;
    /** A context table pointer leads nowhere. */
    public static final int CONTEXT_UNREACHABLE = 0x9;
    /** A present root entry has reserved bits set. */
    public static final int ROOT_RESERVED = 0xa;
    /** A present context entry has reserved bits set. */
    public static final int CONTEXT_RESERVED = 0xb;
    /** A present paging entry has reserved bits set. */
    public static final int PAGING_RESERVED = 0xc;
    /** The context entry does not allow this kind of request. */
    public static final int BLOCKED = 0xd;
    /** The address, or what it translates to, belongs to interrupts (iommu:FLT-8). */
    public static final int INTERRUPT_RANGE = 0xe;

    /** No fault: a write to the interrupt range is an interrupt request and reaches no memory. */
    public static final int INTERRUPT_REQUEST = 0x200;

    private VtdFaultReason() {}

    /**
     * Says a reason in words.
     *
     * @param reason its number
     * @return a short phrase, after the kernel's
     */
    public static String text(int reason) {
        return switch (reason) {
            case ROOT_NOT_PRESENT -> "root entry not present";
            case CONTEXT_NOT_PRESENT -> "context entry not present";
            case CONTEXT_INVALID -> "invalid context entry";
            case BEYOND_WIDTH -> "access beyond MGAW";
            case NO_WRITE -> "PTE Write access is not set";
            case NO_READ -> "PTE Read access is not set";
            case TABLE_UNREACHABLE -> "next table pointer is invalid";
            case ROOT_UNREACHABLE -> "root table address invalid";
            case CONTEXT_UNREACHABLE -> "context table pointer is invalid";
            case ROOT_RESERVED -> "non-zero reserved fields in root entry";
            case CONTEXT_RESERVED -> "non-zero reserved fields in context entry";
            case PAGING_RESERVED -> "non-zero reserved fields in paging entry";
            case BLOCKED -> "request blocked by context entry";
            case INTERRUPT_RANGE -> "access to the interrupt range";
            case INTERRUPT_REQUEST -> "an interrupt request, which reaches no memory";
            default -> "unknown";
        };
    }
}
