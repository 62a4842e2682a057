package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.spi.BackendOptions;

/**
 * What a unit is built to do.
 *
 * @param widthBits widest device address, 31 to 57; it decides the levels of the tables: 3 up to 39 bits, 4 up to 48, 5
 *     above
 * @param largeLevels sizes of large pages: 0, 1 for 2 MiB, 2 for 1 GiB as well
 * @param hostBits widest physical address that entries may hold, 32 to 52
 * @param iotlb the IOTLB
 * @param pagingCache the paging-structure caches, which hold entries that point to tables
 * @param faultRecords fault recording registers, 1 to 256
 * @param maxAddressMask largest page-selective invalidation, as the binary logarithm of its pages, 0 to 52
 * @param snoopControl whether leaves may ask for snooping (bit 11)
 * @param passThrough whether context entries may let addresses pass
 * @param cachingMode whether what is not present is cached too (iommu:INV-1)
 */
public record VtdFeatures(
        int widthBits,
        int largeLevels,
        int hostBits,
        CacheShape iotlb,
        CacheShape pagingCache,
        int faultRecords,
        int maxAddressMask,
        boolean snoopControl,
        boolean passThrough,
        boolean cachingMode) {
    /**
     * How a cache is built.
     *
     * @param entries how many entries, a power of two, or 0 for a cache that holds nothing
     * @param ways how many of them one address can be in, a power of two, at most all
     */
    public record CacheShape(int entries, int ways) {
        /** No cache. */
        public static final CacheShape NONE = new CacheShape(0, 1);

        private static final int MOST = 1 << 20;

        /** Checks the numbers. */
        public CacheShape {
            require(entries == 0 || isPowerOfTwo(entries, MOST), "a power of two of cache entries, or 0", entries);
            require(isPowerOfTwo(ways, Math.max(entries, 1)), "a power of two of ways, at most all entries", ways);
        }

        private static boolean isPowerOfTwo(int number, int most) {
            return Integer.bitCount(number) == 1 && number > 0 && number <= most;
        }
    }

    /**
     * 48 bits, 2 MiB and 1 GiB pages, 256 IOTLB entries in 4 ways, 32 entries for paging structures in 4 ways, 8 fault
     * records.
     */
    public static final VtdFeatures DEFAULT =
            new VtdFeatures(48, 2, 52, new CacheShape(256, 4), new CacheShape(32, 4), 8, 18, true, true, false);

    /** Checks the numbers. */
    public VtdFeatures {
        require(widthBits >= 31 && widthBits <= 57, "a width of 31 to 57 bits", widthBits);
        require(largeLevels >= 0 && largeLevels <= 2, "0 to 2 sizes of large pages", largeLevels);
        require(hostBits >= 32 && hostBits <= 52, "32 to 52 bits of physical address", hostBits);
        require(iotlb.entries() > 0, "at least one IOTLB entry", iotlb.entries());
        require(faultRecords >= 1 && faultRecords <= 256, "1 to 256 fault records", faultRecords);
        require(maxAddressMask >= 0 && maxAddressMask <= 52, "an address mask of 0 to 52", maxAddressMask);
    }

    private static void require(boolean holds, String what, int value) {
        if (!holds) {
            throw new IllegalArgumentException("a VT-d unit has " + what + ", not " + value);
        }
    }

    /**
     * The same unit with another IOTLB.
     *
     * @param entries how many entries, a power of two
     * @param ways how many of them one page can be in, a power of two
     * @return changed features
     * @throws IllegalArgumentException when a number is not what it should be
     */
    public VtdFeatures withIotlb(int entries, int ways) {
        return with(new CacheShape(entries, ways), pagingCache, passThrough, cachingMode);
    }

    /**
     * The same unit with other paging-structure caches.
     *
     * @param entries how many entries, a power of two, or 0 for none
     * @param ways how many of them one address can be in, a power of two
     * @return changed features
     * @throws IllegalArgumentException when a number is not what it should be
     */
    public VtdFeatures withPagingCache(int entries, int ways) {
        return with(iotlb, new CacheShape(entries, ways), passThrough, cachingMode);
    }

    /**
     * The same unit in caching mode, or not.
     *
     * @param on whether what is not present is cached
     * @return changed features
     */
    public VtdFeatures withCachingMode(boolean on) {
        return with(iotlb, pagingCache, passThrough, on);
    }

    /**
     * The same unit with pass-through, or without.
     *
     * @param on whether context entries may let addresses pass
     * @return changed features
     */
    public VtdFeatures withPassThrough(boolean on) {
        return with(iotlb, pagingCache, on, cachingMode);
    }

    private VtdFeatures with(CacheShape newIotlb, CacheShape newPagingCache, boolean passes, boolean caches) {
        return new VtdFeatures(
                widthBits,
                largeLevels,
                hostBits,
                newIotlb,
                newPagingCache,
                faultRecords,
                maxAddressMask,
                snoopControl,
                passes,
                caches);
    }

    /**
     * Takes what a backend's options say: {@code iommu.widthBits}, {@code iommu.superpages} (0 to 2 sizes),
     * {@code iommu.hostBits}, {@code iommu.iotlbEntries}, {@code iommu.iotlbWays}, {@code iommu.pagingCacheEntries},
     * {@code iommu.pagingCacheWays}, {@code iommu.faultRecords}, {@code iommu.maxAddressMask},
     * {@code iommu.passThrough} (0 for a unit without it), {@code iommu.cachingMode} (1 for a unit with it).
     *
     * @param options the options
     * @return the features
     * @throws IllegalArgumentException when a number is out of range
     */
    public static VtdFeatures of(BackendOptions options) {
        return of(options, 0);
    }

    /**
     * Takes what a backend's options say of one of several units. {@code iommu.unit1.widthBits} says of unit 1 alone
     * what {@code iommu.widthBits} says of all, and so on.
     *
     * @param options the options
     * @param unit the unit's number, from 0
     * @return the features
     * @throws IllegalArgumentException when a number is out of range
     */
    public static VtdFeatures of(BackendOptions options, int unit) {
        Numbers numbers = new Numbers(options, unit);
        return new VtdFeatures(
                numbers.of("widthBits", DEFAULT.widthBits),
                numbers.of("superpages", DEFAULT.largeLevels),
                numbers.of("hostBits", DEFAULT.hostBits),
                numbers.shape("iotlb", DEFAULT.iotlb),
                numbers.shape("pagingCache", DEFAULT.pagingCache),
                numbers.of("faultRecords", DEFAULT.faultRecords),
                numbers.of("maxAddressMask", DEFAULT.maxAddressMask),
                DEFAULT.snoopControl,
                numbers.of("passThrough", 1) != 0,
                numbers.of("cachingMode", 0) != 0);
    }

    /** The options of one unit. */
    private record Numbers(BackendOptions options, int unit) {
        int of(String name, int otherwise) {
            long ofAll = options.number("iommu." + name, otherwise);
            long number = options.number("iommu.unit" + unit + "." + name, ofAll);
            return (int) Math.max(-1, Math.min(Integer.MAX_VALUE, number));
        }

        /** A small cache has no more ways than entries. */
        CacheShape shape(String name, CacheShape otherwise) {
            int entries = of(name + "Entries", otherwise.entries());
            int most = Math.max(1, Math.min(entries, otherwise.ways()));
            return new CacheShape(entries, of(name + "Ways", most));
        }
    }
}
