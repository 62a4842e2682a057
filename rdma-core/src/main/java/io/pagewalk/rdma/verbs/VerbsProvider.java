package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Process;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A driver below the verbs: the kernel's {@code struct ib_device_ops}, as far as memory and queue pairs are concerned.
 * {@link VerbsDevice} calls it after its own checks and does the book-keeping around it (use counts, restrack), so that
 * a provider only makes, changes and destroys what it extends of {@link Mr}, {@link Mw}, {@link Qp}.
 *
 * <p>A call that fails leaves nothing behind. Calls come from any thread; a provider does its own locking. What it does
 * not have, it leaves out of {@link #ops}, and need not override.
 *
 * <p>How a provider gets its data path is its own business: one in software can take {@link io.pagewalk.rdma.qp}, which
 * asks for keys through {@link io.pagewalk.rdma.qp.MemoryRegions}, and so can one that models an adapter, with regions
 * that reach memory through the device's bus.
 */
public interface VerbsProvider {
    /**
     * The device below, which decides how DMA addresses are made.
     *
     * @return always the same
     */
    IbDevice ibDevice();

    /**
     * The calls that the provider has.
     *
     * @return always the same
     */
    Set<ProviderOp> ops();

    /**
     * What rights it can give.
     *
     * @return always the same
     */
    DeviceCaps caps();

    /**
     * Whether it has the kernel capability LOCAL_DMA_LKEY; the key is that of its attributes (rdma:PD-2).
     *
     * @return false when the core has to make a region for each in-kernel domain
     */
    boolean hasLocalDmaLkey();

    /**
     * Its limits.
     *
     * @return always the same
     */
    DeviceAttributes attributes();

    /**
     * {@code rdma_protocol_iwarp}: whether a port speaks iWARP, where the sink of a read is a region that the peer
     * writes.
     *
     * @param port its number, from 1
     * @return false for InfiniBand and RoCE
     */
    default boolean isIwarp(int port) {
        return false;
    }

    /**
     * {@code alloc_pd}.
     *
     * @param device whose it is
     * @param owner who asks
     * @return the domain, or a negated errno
     */
    ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner);

    /**
     * {@code dealloc_pd}.
     *
     * @param pd the domain
     * @return 0, or a negated errno with nothing changed
     */
    int deallocPd(Pd pd);

    /**
     * {@code get_dma_mr}: a region of all memory, by DMA address. A provider with LOCAL_DMA_LKEY is asked only for
     * domains with {@link Pd#UNSAFE_GLOBAL_RKEY}.
     *
     * @param pd the domain
     * @param access rights, of {@link io.pagewalk.rdma.AccessFlags}
     * @return the region, or a negated errno
     */
    default ErrPtr<Mr> getDmaMr(Pd pd, int access) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code reg_user_mr}. The core sets address and length afterwards (rdma:MR-1).
     *
     * @param pd the domain
     * @param cpu on which the process runs
     * @param process whose memory it is
     * @param userAddr its first byte
     * @param lengthBytes length, unsigned
     * @param virtAddr the address that it gets for the peer
     * @param access rights
     * @return the region, or a negated errno
     */
    default ErrPtr<Mr> regUserMr(
            Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code rereg_user_mr}.
     *
     * @param mr the region
     * @param flags what changes, of {@link io.pagewalk.rdma.ReregFlags}
     * @param cpu on which the process runs
     * @param process whose memory it is
     * @param userAddr its first byte
     * @param lengthBytes length, unsigned
     * @param virtAddr the address that it gets for the peer
     * @param access the new rights
     * @param newPd the new domain, or null when it stays; the provider moves the region there
     * @return the same region when it was changed, another that takes its place, or a negated errno with nothing
     *     changed
     */
    default ErrPtr<Mr> reregUserMr(
            Mr mr,
            int flags,
            int cpu,
            Process process,
            long userAddr,
            long lengthBytes,
            long virtAddr,
            int access,
            @Nullable Pd newPd) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code dereg_mr}.
     *
     * @param mr the region
     * @param cpu who calls
     * @return 0, or a negated errno with nothing changed
     */
    int deregMr(Mr mr, int cpu);

    /**
     * {@code alloc_mr}.
     *
     * @param pd the domain
     * @param type the kind; never INTEGRITY
     * @param maxNumSg how many pages it shall hold; not checked by the core
     * @return the region, or a negated errno
     */
    default ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code alloc_mr_integrity}.
     *
     * @param pd the domain
     * @param maxDataEntries entries of data
     * @param maxMetaEntries entries of metadata, not 0
     * @return the region, or a negated errno
     */
    default ErrPtr<Mr> allocMrIntegrity(Pd pd, int maxDataEntries, int maxMetaEntries) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code map_mr_sg}; usually {@link io.pagewalk.rdma.SgToPages} with a page setter of the region's.
     *
     * @param mr the region, its page size set already
     * @param sg a mapped list
     * @param first the first of its segments that counts
     * @param nents how many of them
     * @param sgOffset where to begin in the first one
     * @return how many segments the region covers, or a negated errno
     */
    default int mapMrSg(Mr mr, SgTable sg, int first, int nents, int sgOffset) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * {@code map_mr_sg_pi}.
     *
     * @param mr the region, of type INTEGRITY
     * @param data mapped list of data, or null
     * @param dataNents how many of its segments
     * @param meta mapped list of metadata, or null
     * @param metaNents how many of its segments
     * @return 0, or a negated errno
     */
    default int mapMrSgPi(Mr mr, @Nullable SgTable data, int dataNents, @Nullable SgTable meta, int metaNents) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * {@code check_mr_status}.
     *
     * @param mr the region
     * @param mask what to check
     * @return 0, or a negated errno
     */
    default int checkMrStatus(Mr mr, int mask) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * {@code alloc_mw}.
     *
     * @param pd the domain
     * @param type {@link Mw#TYPE_1} or {@link Mw#TYPE_2}
     * @return the window, or a negated errno
     */
    default ErrPtr<Mw> allocMw(Pd pd, int type) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code dealloc_mw}.
     *
     * @param mw the window
     * @return 0, or a negated errno with nothing changed
     */
    default int deallocMw(Mw mw) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * {@code advise_mr}.
     *
     * @param pd the domain
     * @param advice what to do
     * @param flags how
     * @param numSge for how many segments, not 0
     * @return 0, or a negated errno
     */
    default int adviseMr(Pd pd, int advice, int flags, int numSge) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * {@code reg_user_mr_dmabuf}.
     *
     * @param pd the domain
     * @param fd the buffer
     * @param offset the first byte in it
     * @param lengthBytes length, unsigned
     * @param iova the address that it gets for the peer; the provider sets it (rdma:UV-7)
     * @param access rights
     * @return the region, or a negated errno
     */
    default ErrPtr<Mr> regDmabufMr(Pd pd, int fd, long offset, long lengthBytes, long iova, int access) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code create_qp}.
     *
     * @param pd the domain
     * @param init how it shall be
     * @return the queue pair, or a negated errno
     */
    default ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        return ErrPtr.err(-Errno.EOPNOTSUPP);
    }

    /**
     * {@code destroy_qp}.
     *
     * @param qp the queue pair
     * @return 0, or a negated errno with nothing changed
     */
    default int destroyQp(Qp qp) {
        return -Errno.EOPNOTSUPP;
    }
}
