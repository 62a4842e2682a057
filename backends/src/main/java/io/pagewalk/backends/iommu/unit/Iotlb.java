package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.unit.VtdFeatures.CacheShape;
import io.pagewalk.dma.memory.Addresses;

/**
 * The IOTLB: translations by domain, page and page size, until they are invalidated or displaced. Implements
 * iommu:INV-1 and iommu:INV-3.
 *
 * <p>What it says may differ from the tables: that is what invalidation is for. Thread-safe; allocates nothing.
 */
final class Iotlb {

    /*
     * A look-up tries the page's key for each page size in use. The value is what a walk answers: address, level and permissions.
     * In caching mode a page that is not there is held as well, as a translation of level 1 without any permission.
     */

    /** No translation. */
    static final long MISS = EntryCache.MISS;

    private static final int LEVELS = 3;

    private final EntryCache cache;

    /** Bit n says that level n was ever filled. */
    private volatile int levelsInUse;

    Iotlb(CacheShape shape) {
        this.cache = new EntryCache(shape);
    }

    // ---- using

    /**
     * Finds the translation of a page.
     *
     * @return what {@link SecondStageWalk} answered when it was filled, or {@link #MISS}
     */
    long lookup(int domainId, long iova) {
        int levels = levelsInUse;
        for (int level = 1; levels >>> level != 0; level++) {
            if ((levels >>> level & 1) != 0) {
                long value = cache.lookup(key(domainId, iova, level));
                if (value != MISS) {
                    return value;
                }
            }
        }
        return MISS;
    }

    /** Keeps a translation, unless somebody else is writing its place. */
    void fill(int domainId, long iova, long translation) {
        int level = SecondStageWalk.level(translation);
        if ((levelsInUse >>> level & 1) == 0) {
            noteLevel(level);
        }
        cache.fill(key(domainId, iova, level), translation);
    }

    private synchronized void noteLevel(int level) {
        levelsInUse |= 1 << level;
    }

    // ---- invalidating

    void invalidateAll() {
        TranslationKeys.dropAll(cache);
    }

    void invalidateDomain(int domainId) {
        TranslationKeys.dropDomain(cache, domainId);
    }

    /** Drops what overlaps 2^addressMask pages, larger pages that hold them included (iommu:INV-3). */
    void invalidatePages(int domainId, long iova, int addressMask) {
        long sizeBytes = TranslationKeys.bytesOf(addressMask);
        if (sizeBytes != 0 && 1L << addressMask <= cache.entries() / 2) {
            invalidateFew(domainId, Addresses.alignDown(iova, sizeBytes), sizeBytes);
        } else {
            TranslationKeys.dropTouching(cache, domainId, iova, addressMask, 0);
        }
    }

    private void invalidateFew(int domainId, long first, long sizeBytes) {
        int levels = levelsInUse;
        for (int level = 1; level <= LEVELS; level++) {
            long step = SecondStageWalk.pageBytes(level);
            for (long offset = 0; (levels >>> level & 1) != 0 && offset < sizeBytes; offset += step) {
                cache.dropKey(key(domainId, first + offset, level));
            }
        }
    }

    /** How many translations are held; exact only while nothing is filled or dropped. */
    int held() {
        return cache.held();
    }

    private static long key(int domainId, long iova, int level) {
        return TranslationKeys.key(domainId, iova & -SecondStageWalk.pageBytes(level), level);
    }
}
