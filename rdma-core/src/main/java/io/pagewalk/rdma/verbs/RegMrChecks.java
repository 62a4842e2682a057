package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.AccessFlags;

/**
 * What a registration from user space has to pass before its driver sees it. Kernel callers pass none of this
 * (rdma:MR-1). Implements rdma:UV-1 as far as memory is concerned, ACC-2 to ACC-4.
 */
public final class RegMrChecks {
    private static final int REMOTE_WRITES = AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;

    private RegMrChecks() {}

    /**
     * Checks what {@code reg_mr} of uverbs checks: the offset in the page, then the rights (rdma:UV-1).
     *
     * @param caps what the device can do
     * @param model whose rules hold
     * @param userAddr the first byte of the memory
     * @param iova the address that it gets for the peer
     * @param access rights, of {@link AccessFlags}
     * @return 0, -EINVAL or -EOPNOTSUPP
     */
    public static int check(DeviceCaps caps, KernelModel model, long userAddr, long iova, int access) {
        int error = checkPageOffset(userAddr, iova);
        return error == 0 ? checkAccess(caps, model, access) : error;
    }

    /**
     * Checks that memory and the address for the peer begin at the same place in a page: without that, what is given
     * back would not be what was charged (rdma:UMEM-23).
     *
     * @param userAddr the first byte of the memory
     * @param iova the address that it gets for the peer
     * @return 0 or -EINVAL
     */
    public static int checkPageOffset(long userAddr, long iova) {
        return ((userAddr ^ iova) & ~Addresses.PAGE_MASK) == 0 ? 0 : -Errno.EINVAL;
    }

    /**
     * {@code ib_check_mr_access}: which rights go together, and which ones the device has (rdma:ACC-2).
     *
     * @param caps what the device can do
     * @param model whose rules hold: a 5.x kernel does not look at unknown bits and answers differently on demand
     *     (rdma:ACC-3)
     * @param access rights, of {@link AccessFlags}; unknown ones of the optional range are ignored (rdma:ACC-4)
     * @return 0, -EINVAL or -EOPNOTSUPP
     */
    public static int checkAccess(DeviceCaps caps, KernelModel model, int access) {
        if ((access & REMOTE_WRITES) != 0 && (access & AccessFlags.LOCAL_WRITE) == 0) {
            return -Errno.EINVAL;
        }
        if (model.refusesUnknownAccess() && (access & ~AccessFlags.SUPPORTED) != 0) {
            return -Errno.EINVAL;
        }
        if ((access & AccessFlags.ON_DEMAND) != 0 && !caps.onDemandPaging()) {
            return model.refusesUnknownAccess() ? -Errno.EOPNOTSUPP : -Errno.EINVAL;
        }
        return lacksFlush(caps, access) ? -Errno.EOPNOTSUPP : 0;
    }

    private static boolean lacksFlush(DeviceCaps caps, int access) {
        return ((access & AccessFlags.FLUSH_GLOBAL) != 0 && !caps.flushGlobal())
                || ((access & AccessFlags.FLUSH_PERSISTENT) != 0 && !caps.flushPersistent());
    }
}
