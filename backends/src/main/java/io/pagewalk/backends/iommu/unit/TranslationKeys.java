package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.dma.memory.Addresses;

/**
 * Keys of cached entries: page number, domain and a class of 1 to 3 in one word, and which of them an invalidation
 * covers.
 */
final class TranslationKeys {
    private static final int CLASS_BITS = 2;
    private static final int CLASS_MASK = 3;
    private static final int DOMAIN_BITS = 16;

    /** Where the page number begins. */
    static final int PAGE_SHIFT = CLASS_BITS + DOMAIN_BITS;

    private TranslationKeys() {}

    /** A key; the address is one of a multiple of 4 KiB below 2^58. */
    static long key(int domainId, long iova, int keyClass) {
        return (iova >>> 12 << PAGE_SHIFT) | (long) domainId << CLASS_BITS | keyClass;
    }

    private static int domainOf(long key) {
        return (int) (key >>> CLASS_BITS) & 0xffff;
    }

    private static int classOf(long key) {
        return (int) key & CLASS_MASK;
    }

    private static long iovaOf(long key) {
        return key >>> PAGE_SHIFT << 12;
    }

    /** Bytes of 2^addressMask pages; 0 stands for the whole address space. */
    static long bytesOf(int addressMask) {
        return addressMask < Long.SIZE - 12 ? 1L << (12 + addressMask) : 0;
    }

    /** Whether the span of a key overlaps a range of {@link #bytesOf} bytes, aligned to them. */
    private static boolean touches(long key, long spanBytes, long firstIova, long sizeBytes) {
        return sizeBytes == 0 || Addresses.overlaps(iovaOf(key), spanBytes, firstIova, sizeBytes);
    }

    /** Drops all of one domain. */
    static void dropDomain(EntryCache cache, int domainId) {
        for (int entry = 0; entry < cache.entries(); entry++) {
            long key = cache.keyAt(entry);
            if (key != 0 && domainOf(key) == domainId) {
                cache.drop(entry);
            }
        }
    }

    /**
     * Drops what overlaps 2^addressMask pages of a domain; a key covers what an entry of its class and so many levels
     * above covers.
     */
    static void dropTouching(EntryCache cache, int domainId, long iova, int addressMask, int levelsAboveClass) {
        long sizeBytes = bytesOf(addressMask);
        long first = iova & -sizeBytes;
        for (int entry = 0; entry < cache.entries(); entry++) {
            long key = cache.keyAt(entry);
            if (key != 0
                    && domainOf(key) == domainId
                    && touches(key, VtdPteLayout.bytesAt(classOf(key) + levelsAboveClass), first, sizeBytes)) {
                cache.drop(entry);
            }
        }
    }

    /** Drops everything. */
    static void dropAll(EntryCache cache) {
        for (int entry = 0; entry < cache.entries(); entry++) {
            cache.drop(entry);
        }
    }
}
