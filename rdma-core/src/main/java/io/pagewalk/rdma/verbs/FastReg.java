package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Fast registration as users of the verbs in the kernel see it: a region is allocated once, described by a mapped list
 * each time it is used, and put to use by a work request. Implements rdma:FR-1 to FR-8.
 *
 * <p>Differs from Linux: a page size that is no power of two is refused here, for every device. There rxe refuses what
 * neither divides 4 KiB nor is a multiple of it, by tests that are right for powers of two alone (rdma:RXE-23), the
 * adapters refuse nothing (rdma:IRD-4), and both go on with masks that mean no page.
 */
public final class FastReg {
    private static final int KEY_BYTE = 0xff;

    private FastReg() {}

    /**
     * {@code ib_alloc_mr}: a region for fast registration.
     *
     * @param pd the domain
     * @param type the kind
     * @param maxNumSg how many pages it shall hold; not checked here (rdma:FR-1)
     * @return the region; -EOPNOTSUPP of a provider without such; -EINVAL for INTEGRITY, with a warning; or what the
     *     provider answered
     */
    public static ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        VerbsDevice device = pd.device();
        device.requireUsable(pd);
        Objects.requireNonNull(type, "type");
        if (!device.provider().ops().contains(ProviderOp.ALLOC_MR)) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        if (type == MrType.INTEGRITY) {
            device.machine().log().warn("ib_alloc_mr", "a region of type INTEGRITY is asked for (rdma:FR-1)");
            return ErrPtr.err(-Errno.EINVAL);
        }
        ErrPtr<Mr> made = device.provider().allocMr(pd, type, maxNumSg);
        if (!made.isErr()) {
            device.track(made.value());
        }
        return made;
    }

    /**
     * {@code ib_alloc_mr_integrity}: a region with signatures.
     *
     * @param pd the domain
     * @param maxDataEntries entries of data
     * @param maxMetaEntries entries of metadata
     * @return the region; -EOPNOTSUPP of a provider without such; -EINVAL without metadata; -ENOMEM; or what the
     *     provider answered
     */
    public static ErrPtr<Mr> allocMrIntegrity(Pd pd, int maxDataEntries, int maxMetaEntries) {
        VerbsDevice device = pd.device();
        device.requireUsable(pd);
        if (!device.provider().ops().contains(ProviderOp.ALLOC_MR_INTEGRITY)
                || !device.provider().ops().contains(ProviderOp.MAP_MR_SG_PI)) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        if (maxMetaEntries == 0) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        if (device.sigPoint().fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        ErrPtr<Mr> made = device.provider().allocMrIntegrity(pd, maxDataEntries, maxMetaEntries);
        if (!made.isErr()) {
            made.value().setSigAttrs(new SigAttrs(maxDataEntries, maxMetaEntries));
            device.track(made.value());
        }
        return made;
    }

    /**
     * {@code ib_map_mr_sg}: describes a region by the first segments of a mapped list.
     *
     * @param mr the region
     * @param sg the list
     * @param nents how many of its segments
     * @param sgOffset where to begin in the first one, unsigned 32-bit; {@link Mr#sgOffset} says afterwards where to go
     *     on
     * @param pageBytes the page size, unsigned 32-bit; the region has it afterwards even if it is refused
     * @return how many segments the region covers; -EOPNOTSUPP; -EINVAL for a page size that is no power of two, with
     *     nothing else changed; or what the provider answered
     * @throws IllegalArgumentException when the list has fewer segments; nothing changes then
     */
    public static int mapMrSg(Mr mr, SgTable sg, int nents, int sgOffset, int pageBytes) {
        return mapMrSg(mr, sg, 0, nents, sgOffset, pageBytes);
    }

    /**
     * {@code ib_map_mr_sg}: describes a region by segments in the middle of a mapped list.
     *
     * @param mr the region
     * @param sg the list
     * @param first the first segment that counts
     * @param nents how many segments from there on
     * @param sgOffset where to begin in the first one, unsigned 32-bit
     * @param pageBytes the page size, unsigned 32-bit; the region has it afterwards even if it is refused
     * @return how many segments the region covers; -EOPNOTSUPP; -EINVAL for a page size that is no power of two, with
     *     nothing else changed; or what the provider answered
     * @throws IllegalArgumentException when the list has fewer segments; nothing changes then
     */
    public static int mapMrSg(Mr mr, SgTable sg, int first, int nents, int sgOffset, int pageBytes) {
        VerbsDevice.requireAlive(mr.isDestroyed(), mr);
        VerbsProvider provider = mr.pd().device().provider();
        if (first < 0 || nents > sg.entries() - first) {
            throw new IllegalArgumentException(nents + " segments" + (first == 0 ? "" : " from " + first + " on")
                    + " of a list of " + sg.entries());
        }
        if (!provider.ops().contains(ProviderOp.MAP_MR_SG)) {
            return -Errno.EOPNOTSUPP;
        }
        mr.setPageBytes(pageBytes);
        return isPageSize(pageBytes) ? provider.mapMrSg(mr, sg, first, nents, sgOffset) : -Errno.EINVAL;
    }

    /** A power of two, of 32 bits. */
    private static boolean isPageSize(int pageBytes) {
        return Integer.bitCount(pageBytes) == 1;
    }

    /**
     * {@code ib_map_mr_sg_zbva}: as {@link #mapMrSg}, after which addresses count from 0, whatever came of it
     * (rdma:FR-5).
     *
     * @param mr the region
     * @param sg the list
     * @param nents how many of its segments
     * @param sgOffset where to begin in the first one
     * @param pageBytes the page size
     * @return as {@link #mapMrSg}
     */
    public static int mapMrSgZbva(Mr mr, SgTable sg, int nents, int sgOffset, int pageBytes) {
        int covered = mapMrSg(mr, sg, nents, sgOffset, pageBytes);
        mr.setIova(0);
        return covered;
    }

    /**
     * {@code ib_map_mr_sg_pi}: describes an integrity region.
     *
     * @param mr the region
     * @param data mapped list of data, or null
     * @param dataNents how many of its segments
     * @param meta mapped list of metadata, or null
     * @param metaNents how many of its segments
     * @param pageBytes the page size
     * @return 0; -EOPNOTSUPP of a provider without such, or for another kind of region, with a warning; -EINVAL for a
     *     page size that is no power of two; or what the provider answered
     */
    public static int mapMrSgPi(
            Mr mr, @Nullable SgTable data, int dataNents, @Nullable SgTable meta, int metaNents, int pageBytes) {
        VerbsDevice.requireAlive(mr.isDestroyed(), mr);
        VerbsProvider provider = mr.pd().device().provider();
        if (!provider.ops().contains(ProviderOp.MAP_MR_SG_PI)) {
            return -Errno.EOPNOTSUPP;
        }
        if (mr.type() != MrType.INTEGRITY) {
            mr.pd().device().machine().log().warn("ib_map_mr_sg_pi", mr + " is no integrity region (rdma:FR-6)");
            return -Errno.EOPNOTSUPP;
        }
        mr.setPageBytes(pageBytes);
        return isPageSize(pageBytes) ? provider.mapMrSgPi(mr, data, dataNents, meta, metaNents) : -Errno.EINVAL;
    }

    /**
     * {@code ib_check_mr_status}.
     *
     * @param mr the region
     * @param mask what to check
     * @return 0, -EOPNOTSUPP, or what the provider answered
     */
    public static int checkMrStatus(Mr mr, int mask) {
        VerbsProvider provider = mr.pd().device().provider();
        return provider.ops().contains(ProviderOp.CHECK_MR_STATUS)
                ? provider.checkMrStatus(mr, mask)
                : -Errno.EOPNOTSUPP;
    }

    /**
     * {@code ib_update_fast_reg_key}: changes the low byte of a region's public keys. The device learns of it from the
     * next REG_MR (rdma:FR-7, RXE-11).
     *
     * @param mr the region
     * @param newKey the byte
     */
    public static void updateFastRegKey(Mr mr, int newKey) {
        mr.setKeys(withKeyByte(mr.lkey(), newKey), withKeyByte(mr.rkey(), newKey));
    }

    /**
     * {@code ib_inc_rkey}: the next key of the same object.
     *
     * @param rkey a key
     * @return the key with its low byte one higher, modulo 256
     */
    public static int incRkey(int rkey) {
        return withKeyByte(rkey, rkey + 1);
    }

    private static int withKeyByte(int key, int newByte) {
        return (key & ~KEY_BYTE) | (newByte & KEY_BYTE);
    }
}
