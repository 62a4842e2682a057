package io.pagewalk.backends.iommu.unit;

/**
 * Descriptors of the invalidation queue in legacy mode: 16 little-endian bytes, a low and a high half. Implements
 * iommu:INV-2 and iommu:INV-4 to INV-7.
 */
public final class InvalidationLayout {
    /** Type: context cache. */
    public static final int CONTEXT = 1;
    /** Type: IOTLB. */
    public static final int IOTLB = 2;
    /** Type: device-TLB. */
    public static final int DEVICE_TLB = 3;
    /** Type: interrupt entries. */
    public static final int INTERRUPT_ENTRY = 4;
    /** Type: wait until all before it is done. */
    public static final int WAIT = 5;

    /** Granularity: everything. */
    public static final int GLOBAL = 1;
    /** Granularity: one domain. */
    public static final int DOMAIN = 2;
    /** Granularity of the context cache: one device. */
    public static final int DEVICE = 3;
    /** Granularity of the IOTLB: pages of one domain. */
    public static final int PAGES = 3;

    /** What Linux has written as the status of a wait: done. */
    public static final int DONE = 2;
    /** Bytes of a descriptor. */
    public static final int DESCRIPTOR_BYTES = 16;

    private static final long DRAINS = 1 << 6 | 1 << 7;
    private static final long STATUS_WRITE = 1 << 5;
    private static final long LEAF_ONLY = 1 << 6;

    private InvalidationLayout() {}

    /**
     * Low half of a context-cache invalidation (iommu:INV-6).
     *
     * @param granularity global, domain or device
     * @param domainId the domain
     * @param requesterId the device
     * @return the bytes; the high half is 0
     */
    public static long context(int granularity, int domainId, int requesterId) {
        return CONTEXT | (long) granularity << 4 | (long) domainId << 16 | (long) requesterId << 32;
    }

    /**
     * Low half of an IOTLB invalidation that drains reads and writes (iommu:INV-5).
     *
     * @param granularity global, domain or pages
     * @param domainId the domain
     * @return the bytes
     */
    public static long iotlb(int granularity, int domainId) {
        return IOTLB | (long) granularity << 4 | DRAINS | (long) domainId << 16;
    }

    /**
     * High half of a page-selective IOTLB invalidation (iommu:INV-5).
     *
     * @param iova first page
     * @param addressMask binary logarithm of the pages
     * @param leafOnly whether only leaves have changed (IH)
     * @return the bytes
     */
    public static long pages(long iova, int addressMask, boolean leafOnly) {
        return (iova & ~0xfffL) | (leafOnly ? LEAF_ONLY : 0) | addressMask;
    }

    /**
     * Low half of a wait that writes a status word (iommu:INV-7); the high half is the word's address.
     *
     * @param status what is written
     * @return the bytes
     */
    public static long waitWriting(int status) {
        return WAIT | STATUS_WRITE | (long) status << 32;
    }

    /**
     * Which device did not answer.
     *
     * @param iqer the error register of the queue
     * @return its requester id
     */
    public static int timedOutRequester(long iqer) {
        return (int) (iqer >>> 32) & 0xffff;
    }

    static long timedOut(int requesterId) {
        return (long) requesterId << 32;
    }

    static int type(long low) {
        return (int) low & 0xf;
    }

    static int granularity(long low) {
        return (int) (low >>> 4) & 3;
    }

    static int domainId(long low) {
        return (int) (low >>> 16) & 0xffff;
    }

    static int requesterId(long low) {
        return (int) (low >>> 32) & 0xffff;
    }

    static int functionMask(long low) {
        return (int) (low >>> 48) & 3;
    }

    static boolean leafOnly(long high) {
        return (high & LEAF_ONLY) != 0;
    }

    static int addressMask(long high) {
        return (int) high & 0x3f;
    }

    static long address(long high) {
        return high & ~0xfffL;
    }

    static boolean writesStatus(long low) {
        return (low & STATUS_WRITE) != 0;
    }

    static int status(long low) {
        return (int) (low >>> 32);
    }
}
