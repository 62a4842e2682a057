package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;

/**
 * What the front end refuses of one handle's calls: bad arguments, and what the kernel WARNs about once at each place
 * (dma-core:TYP-6, FE-1, FE-3, FE-10, FE-11, FE-14, FE-50, FE-54, FE-64).
 */
final class DmaChecks {
    private final Device device;
    private final FailureSlot failure;

    DmaChecks(Device device, FailureSlot failure) {
        this.device = device;
        this.failure = failure;
    }

    static void requireDirection(DmaDirection direction) {
        if (Objects.requireNonNull(direction, "direction") == DmaDirection.NONE) {
            throw new KernelBugException("direction NONE in a mapping call (dma-core:TYP-6)");
        }
    }

    static void requireEntries(SgTable sg, int nents) {
        if (nents < 0 || nents > sg.entries()) {
            throw new IllegalArgumentException(nents + " entries of a list of " + sg.entries());
        }
    }

    long withoutMask(String call) {
        failure.record(FailureReason.NO_MASK, Errno.EIO, 0, 0, 0, 0);
        site(call).warnOnce(() -> device.name() + " has no DMA mask (dma-core:FE-1)");
        return Dma.DMA_MAPPING_ERROR;
    }

    /** 0, which dma_map_sgtable takes for a success (FE-13). */
    int sgWithoutMask() {
        if (!hasDma()) {
            return -Errno.EOPNOTSUPP;
        }
        withoutMask("dma_map_sg");
        return 0;
    }

    private boolean hasDma() {
        return device.machine().kernelConfig().hasDma();
    }

    long vmallocAddress(long virtAddr) {
        failure.record(FailureReason.VMALLOC_ADDRESS, Errno.EINVAL, virtAddr, 0, 0, 0);
        site("dma_map_single")
                .warnOnce(() -> device.name() + ": vmalloc address " + Addresses.hex(virtAddr) + " (dma-core:FE-3)");
        return Dma.DMA_MAPPING_ERROR;
    }

    /** -EREMOTEIO, of a kernel that knows it as a result (rdma:DMA-10). */
    boolean isRemoteError(int result) {
        return result == -Errno.EREMOTEIO && device.machine().kernelModel().mapsListsWithRemoteError();
    }

    /** An empty list ends here too: 0 is none of the errors that map_sg may give (FE-11). */
    int unexpectedResult(int nents, int result) {
        if (result == -Errno.EOPNOTSUPP && !hasDma()) {
            return result;
        }
        if (result == 0) {
            failure.record(FailureReason.INVALID_LIST, Errno.EIO, nents, 0, 0, 0);
        } else {
            failure.answer(Errno.EIO);
        }
        site("dma_map_sg: result")
                .warnOnce(() -> device.name() + ": " + nents + " entries gave " + result + " (dma-core:FE-11)");
        return -Errno.EIO;
    }

    /** {@code __GFP_COMP}. */
    boolean refusesCompound(String call, int gfp, int attrs, String rule) {
        return Gfp.has(gfp, Gfp.COMP) && refuse(call + ": compound", "compound pages", gfp, attrs, rule);
    }

    /** What {@code dma_alloc_pages} refuses (FE-54). */
    boolean refusesPages(int gfp) {
        if (device.coherentMask() == 0) {
            return refuse("dma_alloc_pages: mask", "a coherent mask of 0", gfp, 0, "FE-54");
        }
        if (Gfp.choosesZone(gfp)) {
            return refuse("dma_alloc_pages: zone", "a zone", gfp, 0, "FE-54");
        }
        return refusesCompound("dma_alloc_pages", gfp, 0, "FE-54");
    }

    /** Any attribute but ALLOC_SINGLE_PAGES (FE-64). */
    boolean refusesAttrs(int gfp, int attrs) {
        return (attrs & ~DmaAttrs.ALLOC_SINGLE_PAGES) != 0
                && refuse("dma_alloc_noncontiguous: attrs", "attributes", gfp, attrs, "FE-64");
    }

    private boolean refuse(String site, String what, int gfp, int attrs, String rule) {
        failure.record(FailureReason.INVALID_FLAGS, Errno.EINVAL, gfp, attrs, 0, 0);
        site(site)
                .warnOnce(() -> device.name() + " allocates with " + what + ": gfp 0x" + Integer.toHexString(gfp)
                        + ", attrs 0x" + Integer.toHexString(attrs) + " (dma-core:" + rule + ")");
        return true;
    }

    private KernelLog.Site site(String name) {
        return device.machine().log().site(name);
    }
}
