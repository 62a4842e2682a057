package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.backends.iommu.unit.VtdFeatures.CacheShape;

/**
 * The paging-structure caches: entries of levels 2 to 4 that point to tables, by domain and address, so that a walk can
 * start below them. Implements their part of iommu:INV-1 and iommu:INV-3.
 *
 * <p>A value is the address of the table with the permissions of the way to it (bit 0 read, bit 1 write). Thread-safe;
 * allocates nothing.
 */
final class PagingCache {
    /** No entry. */
    static final long MISS = EntryCache.MISS;

    /** Entries above this level are read anew by each walk: there are too few to gain anything. */
    static final int HIGHEST_LEVEL = 4;

    /*
     * A walk that uses an entry reads a table that may be unlinked already, and what it finds there may be a translation that is
     * gone; it would come back into the IOTLB, or a lower entry into this cache, after an invalidation has passed by. So while one is
     * at work, walks do without this cache: the accesses that do not yet are waited for, and those that follow read only tables
     * that are linked.
     */

    private final EntryCache cache;
    private final boolean present;
    private volatile boolean bypassed;

    PagingCache(CacheShape shape) {
        this.present = shape.entries() != 0;
        this.cache = new EntryCache(shape);
    }

    /** Whether it can hold anything at all. */
    boolean isPresent() {
        return present;
    }

    /** Whether a walk may use and fill it. */
    boolean isUsable() {
        return present && !bypassed;
    }

    /** Keeps accesses that begin from now on away, or lets them in again. */
    void bypass(boolean on) {
        bypassed = on;
    }

    /**
     * Finds an entry.
     *
     * @param level of the entry, 2 to 4; what it leads to is a table of one level less
     * @return the table's address and the permissions, or {@link #MISS}
     */
    long lookup(int domainId, long iova, int level) {
        return cache.lookup(key(domainId, iova, level));
    }

    void fill(int domainId, long iova, int level, long tableAndPermissions) {
        cache.fill(key(domainId, iova, level), tableAndPermissions);
    }

    void invalidateAll() {
        TranslationKeys.dropAll(cache);
    }

    void invalidateDomain(int domainId) {
        TranslationKeys.dropDomain(cache, domainId);
    }

    /** Drops the entries through which any of 2^addressMask pages is reached. */
    void invalidatePages(int domainId, long iova, int addressMask) {
        TranslationKeys.dropTouching(cache, domainId, iova, addressMask, 1);
    }

    /** How many entries are held; exact only while nothing is filled or dropped. */
    int held() {
        return cache.held();
    }

    /** The addresses that an entry of a level leads to. */
    private static long spanBytes(int level) {
        return VtdPteLayout.bytesAt(level);
    }

    private static long key(int domainId, long iova, int level) {
        return TranslationKeys.key(domainId, iova & -spanBytes(level), level - 1);
    }
}
