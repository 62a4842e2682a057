package io.pagewalk.backends.iommu.unit;

/** What a unit says of itself in its capability registers. Implements iommu:VTD-1 and iommu:VTD-2. */
public final class VtdCapability {
    private static final long CAP_CM = 1L << 7;
    private static final long CAP_PSI = 1L << 39;
    private static final long ECAP_COHERENT = 1;
    private static final long ECAP_QI = 1L << 1;
    private static final long ECAP_PT = 1L << 6;
    private static final long ECAP_SC = 1L << 7;
    private static final long DRAINS = 1L << 54 | 1L << 55;
    private static final int HIGHEST_AGAW = 3;
    private static final int DOMAIN_ID_BITS_CODE = 6;

    private VtdCapability() {}

    /**
     * The CAP register of a unit.
     *
     * @param features what it can do
     * @return its value
     */
    public static long cap(VtdFeatures features) {
        return DOMAIN_ID_BITS_CODE
                | 1L << (8 + agawOfWidth(features.widthBits()))
                | ((features.widthBits() - 1L) << 16)
                | (((long) VtdRegisters.FRCD / 16) << 24)
                | (((1L << features.largeLevels()) - 1) << 34)
                | CAP_PSI
                | (features.cachingMode() ? CAP_CM : 0)
                | (features.faultRecords() - 1L) << 40
                | (long) features.maxAddressMask() << 48
                | DRAINS;
    }

    /**
     * The ECAP register of a unit.
     *
     * @param features what it can do
     * @return its value
     */
    public static long ecap(VtdFeatures features) {
        return ECAP_COHERENT
                | ECAP_QI
                | (((long) VtdRegisters.IVA / 16) << 8)
                | (features.snoopControl() ? ECAP_SC : 0)
                | (features.passThrough() ? ECAP_PT : 0);
    }

    /**
     * The address width of tables of an adjusted guest address width.
     *
     * @param agaw 0 to 3
     * @return bits (iommu:VTD-1)
     */
    public static int widthOfAgaw(int agaw) {
        return Math.min(30 + 9 * agaw, 64);
    }

    /**
     * The adjusted guest address width that holds an address width.
     *
     * @param widthBits bits, 30 at least
     * @return 0 to 3 (iommu:VTD-1)
     */
    public static int agawOfWidth(int widthBits) {
        return (widthBits - 30 + 8) / 9;
    }

    /**
     * How many levels tables have.
     *
     * @param agaw 1 to 3
     * @return 3 to 5
     */
    public static int levelsOfAgaw(int agaw) {
        return agaw + 2;
    }

    /**
     * The width of tables that software uses with a unit (iommu:VTD-3).
     *
     * @param cap the CAP register
     * @return the highest supported agaw of at most 3
     * @throws IllegalArgumentException when the unit supports none
     */
    public static int highestAgaw(long cap) {
        for (int agaw = HIGHEST_AGAW; agaw > 0; agaw--) {
            if (supportsAgaw(cap, agaw)) {
                return agaw;
            }
        }
        throw new IllegalArgumentException("CAP 0x" + Long.toHexString(cap) + " supports no table width");
    }

    /**
     * Whether a unit walks tables of a width.
     *
     * @param cap the CAP register
     * @param agaw 0 to 7
     * @return true when its SAGAW has the bit
     */
    public static boolean supportsAgaw(long cap, int agaw) {
        return agaw < 5 && (cap >>> (8 + agaw) & 1) != 0;
    }

    /**
     * The highest address width of a unit.
     *
     * @param cap the CAP register
     * @return MGAW in bits
     */
    public static int mgaw(long cap) {
        return (int) (cap >>> 16 & 0x3f) + 1;
    }

    /**
     * How many domain ids there are.
     *
     * @param cap the CAP register
     * @return ids from 0
     */
    public static int domainIds(long cap) {
        return 1 << (4 + 2 * (int) (cap & 7));
    }

    /**
     * How many sizes of large pages a unit knows (iommu:VTD-5).
     *
     * @param cap the CAP register
     * @return 0, 1 for 2 MiB, 2 for 1 GiB as well
     */
    public static int largeLevels(long cap) {
        int sizes = (int) (cap >>> 34) & 3;
        return 32 - Integer.numberOfLeadingZeros(sizes);
    }

    /**
     * Whether a unit lets addresses pass where a context entry says so.
     *
     * @param ecap the ECAP register
     * @return PT
     */
    public static boolean passThrough(long ecap) {
        return (ecap & ECAP_PT) != 0;
    }

    /**
     * Whether a unit also caches what is not present, so that software must invalidate after each map (iommu:CORE-3).
     *
     * @param cap the CAP register
     * @return CM
     */
    public static boolean cachingMode(long cap) {
        return (cap & CAP_CM) != 0;
    }

    /**
     * Whether ranges of pages can be invalidated.
     *
     * @param cap the CAP register
     * @return PSI
     */
    public static boolean pageSelective(long cap) {
        return (cap & CAP_PSI) != 0;
    }

    /**
     * The largest range that can be invalidated.
     *
     * @param cap the CAP register
     * @return MAMV, the binary logarithm in pages
     */
    public static int maxAddressMask(long cap) {
        return (int) (cap >>> 48) & 0x3f;
    }

    /**
     * How many fault records there are.
     *
     * @param cap the CAP register
     * @return NFR
     */
    public static int faultRecords(long cap) {
        return (int) (cap >>> 40 & 0xff) + 1;
    }

    /**
     * Where the fault records are.
     *
     * @param cap the CAP register
     * @return the offset of the first
     */
    public static int faultRecordOffset(long cap) {
        return (int) (cap >>> 24 & 0x3ff) * 16;
    }
}
