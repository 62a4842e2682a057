package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.spi.BackendOptions;

/**
 * What a unit is built to do.
 *
 * @param widthBits widest device address, 31 to 57; it decides the levels of the tables: 3 up to 39 bits, 4 up to 48, 5
 *     above
 * @param largeLevels sizes of large pages: 0, 1 for 2 MiB, 2 for 1 GiB as well
 * @param hostBits widest physical address that entries may hold, 32 to 52
 * @param iotlbEntries entries of the IOTLB, a power of two
 * @param faultRecords fault recording registers, 1 to 256
 * @param maxAddressMask largest page-selective invalidation, as the binary logarithm of its pages, 0 to 52
 * @param snoopControl whether leaves may ask for snooping (bit 11)
 * @param passThrough whether context entries may let addresses pass
 */
public record VtdFeatures(
        int widthBits,
        int largeLevels,
        int hostBits,
        int iotlbEntries,
        int faultRecords,
        int maxAddressMask,
        boolean snoopControl,
        boolean passThrough) {
    /** 48 bits, 2 MiB and 1 GiB pages, 256 IOTLB entries, 8 fault records. */
    public static final VtdFeatures DEFAULT = new VtdFeatures(48, 2, 52, 256, 8, 18, true, true);

    /** Checks the numbers. */
    public VtdFeatures {
        require(widthBits >= 31 && widthBits <= 57, "a width of 31 to 57 bits", widthBits);
        require(largeLevels >= 0 && largeLevels <= 2, "0 to 2 sizes of large pages", largeLevels);
        require(hostBits >= 32 && hostBits <= 52, "32 to 52 bits of physical address", hostBits);
        require(Integer.bitCount(iotlbEntries) == 1, "a power of two of IOTLB entries", iotlbEntries);
        require(faultRecords >= 1 && faultRecords <= 256, "1 to 256 fault records", faultRecords);
        require(maxAddressMask >= 0 && maxAddressMask <= 52, "an address mask of 0 to 52", maxAddressMask);
    }

    private static void require(boolean holds, String what, int value) {
        if (!holds) {
            throw new IllegalArgumentException("a VT-d unit has " + what + ", not " + value);
        }
    }

    /**
     * Takes what a backend's options say: {@code iommu.widthBits}, {@code iommu.superpages} (0 to 2 sizes),
     * {@code iommu.hostBits}, {@code iommu.iotlbEntries}, {@code iommu.faultRecords}, {@code iommu.maxAddressMask},
     * {@code iommu.passThrough} (0 for a unit without it).
     *
     * @param options the options
     * @return the features
     * @throws IllegalArgumentException when a number is out of range
     */
    public static VtdFeatures of(BackendOptions options) {
        return new VtdFeatures(
                number(options, "iommu.widthBits", DEFAULT.widthBits),
                number(options, "iommu.superpages", DEFAULT.largeLevels),
                number(options, "iommu.hostBits", DEFAULT.hostBits),
                number(options, "iommu.iotlbEntries", DEFAULT.iotlbEntries),
                number(options, "iommu.faultRecords", DEFAULT.faultRecords),
                number(options, "iommu.maxAddressMask", DEFAULT.maxAddressMask),
                DEFAULT.snoopControl,
                number(options, "iommu.passThrough", 1) != 0);
    }

    private static int number(BackendOptions options, String name, int otherwise) {
        return (int) Math.max(-1, Math.min(Integer.MAX_VALUE, options.number(name, otherwise)));
    }
}
