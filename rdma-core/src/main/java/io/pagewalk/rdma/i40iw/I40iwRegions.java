package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.umem.BlockIterator;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.umem.UmemFailure;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Pd;
import org.jspecify.annotations.Nullable;

/**
 * How the drivers make, change and end regions. Implements rdma:STAG-4, STAG-5, IRD-1, IRD-2, IRD-6, IRD-8, IRD-9.
 *
 * <p>Differs from Linux: there is no driver data of user space that could be too short or unreadable (IRD-6); a
 * re-registration that fails leaves the region in its domain, as the core expects; and a region that it left without
 * memory (QRK-24) gets other rights or another domain only together with other memory, as the adapter would else be
 * told of pages that were given back.
 */
final class I40iwRegions {
    /*
     * A region takes, in this order, a structure, a stag, page buffers, and a command that tells the adapter; one of a
     * process takes its memory and page buffers first, and gives the buffers back when the pages follow each other. What
     * fails gives back what was taken, in reverse.
     */

    private static final int KEY = 0xff;
    private static final long NO_BUFFERS = -1L;
    private static final long MAX_LENGTH = 1L << 45;
    private static final long SIZES = Addresses.PAGE_SIZE | 2L << 20;
    private static final long GIGABYTE = 1L << 30;
    private static final int REREG_FLAGS = ReregFlags.TRANS | ReregFlags.PD | ReregFlags.ACCESS;

    private final I40iwConfig config;
    private final boolean first;
    private final IbDevice ibDevice;
    private final StagTable stags;
    private final PbleManager pbles;
    private final AdapterStags adapter;
    private final Umems umems;
    private final FailurePoint mrPoint;
    private volatile @Nullable UmemFailure lastFailure;

    I40iwRegions(I40iwConfig config, IbDevice ibDevice, StagTable stags, PbleManager pbles, AdapterStags adapter) {
        this.config = config;
        first = config.generation() == Generation.I40IW;
        this.ibDevice = ibDevice;
        this.stags = stags;
        this.pbles = pbles;
        this.adapter = adapter;
        umems = Umems.of(ibDevice.machine());
        mrPoint = ibDevice.machine().failures().point("i40iw.mr");
    }

    @Nullable UmemFailure lastFailure() {
        return lastFailure;
    }

    // ---- fast registration

    /** {@code i40iw_alloc_mr} (rdma:IRD-1) and {@code irdma_alloc_mr} (rdma:IRD-2). The kind is not looked at. */
    ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        if (mrPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int stag = stags.create();
        if (stag == 0) {
            return ErrPtr.err(first ? -Errno.EOVERFLOW : -Errno.ENOMEM);
        }
        I40iwMr mr = new I40iwMr(pd, type, first ? stag & ~KEY : stag, pbles, maxNumSg);
        int error = maxNumSg < 0 ? -Errno.ENOMEM : pbles.get(maxNumSg, PbleManager.ANY_LEVEL, mr.list());
        if (error == 0 && first && mr.list().level() != 1) {
            error = -Errno.ENOMEM;
        }
        if (error == 0) {
            error = adapter.allocStag(pd, mr.stag(), maxNumSg * Addresses.PAGE_SIZE);
        }
        if (error != 0) {
            giveBack(mr);
            return ErrPtr.err(error);
        }
        if (first) {
            ((I40iwPd) pd).driverUse();
        }
        return registered(mr);
    }

    private static ErrPtr<Mr> registered(I40iwMr mr) {
        mr.setRegistered(true);
        return ErrPtr.of(mr);
    }

    /** Page buffers and stag, as far as they were taken. */
    private void giveBack(I40iwMr mr) {
        freeList(mr);
        stags.free(mr.stag());
    }

    private void freeList(I40iwMr mr) {
        if (mr.list().level() != 0) {
            pbles.free(mr.list());
        }
    }

    // ---- all memory

    /** {@code get_dma_mr} (rdma:IRD-8, IRD-9). */
    ErrPtr<Mr> getDmaMr(Pd pd, int access) {
        if (mrPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int stag = stags.create();
        if (stag == 0) {
            return ErrPtr.err(first ? -Errno.EOVERFLOW : -Errno.ENOMEM);
        }
        I40iwMr mr = new I40iwMr(pd, MrType.DMA, stag, pbles, 0);
        int error = adapter.registerAll(pd, stag, access);
        if (error != 0) {
            giveBack(mr);
            return ErrPtr.err(error);
        }
        return registered(mr);
    }

    // ---- memory of processes

    /** {@code reg_user_mr} (rdma:IRD-6). */
    ErrPtr<Mr> regUserMr(Pd pd, int cpu, Process process, long userAddr, long length, long virtAddr, int access) {
        if (Addresses.lessThan(MAX_LENGTH, length)) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        UmemResult result = new UmemResult();
        int error = umems.get(ibDevice, cpu, process, userAddr, length, access, result);
        if (error != 0) {
            lastFailure = result.failure();
            return ErrPtr.err(error);
        }
        PbleAllocation list = new PbleAllocation();
        boolean done = false;
        try {
            ErrPtr<Mr> made = describe(pd, result.umem(), list, length, virtAddr, access);
            done = !made.isErr();
            return made;
        } finally {
            if (!done) {
                umems.release(result.umem(), cpu);
            }
        }
    }

    private ErrPtr<Mr> describe(Pd pd, Umem umem, PbleAllocation list, long length, long virtAddr, int access) {
        if (mrPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        long pageSize = pageSize(umem, virtAddr);
        if (pageSize == 0) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        long firstAddr = fill(umem, pageSize, list);
        if (firstAddr == NO_BUFFERS) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int stag = stags.create();
        if (stag == 0) {
            freeIfHeld(list);
            return ErrPtr.err(-Errno.ENOMEM);
        }
        I40iwMr mr = new I40iwMr(pd, stag, pbles, list);
        mr.setAccess(access);
        mr.hold(umem, pageSize, firstAddr);
        int error = adapter.register(mr, pd, virtAddr, length);
        if (error != 0) {
            giveBack(mr);
            return ErrPtr.err(error);
        }
        return registered(mr);
    }

    private void freeIfHeld(PbleAllocation list) {
        if (list.level() != 0) {
            pbles.free(list);
        }
    }

    /** The block size of a region; i40iw knows pages of 4 KiB alone (rdma:IRD-9). */
    private long pageSize(Umem umem, long virtAddr) {
        if (first) {
            return Addresses.PAGE_SIZE;
        }
        return umem.findBestPgsz(SIZES | (config.gigabytePages() ? GIGABYTE : 0), virtAddr);
    }

    /**
     * Writes page buffers, unless the pages follow each other; says the first one's address, or that there were none.
     */
    private long fill(Umem umem, long pageSize, PbleAllocation list) {
        long count = umem.numDmaBlocks(pageSize);
        boolean single = count == 1;
        int levels = first ? PbleManager.ANY_LEVEL : PbleManager.LEVEL_1_OR_2;
        if (!single && (count > Integer.MAX_VALUE || pbles.get((int) count, levels, list) != 0)) {
            return NO_BUFFERS;
        }
        BlockIterator blocks = new BlockIterator().start(umem, pageSize);
        long firstAddr = blocks.next() ? blocks.dmaAddr() : 0;
        boolean together = true;
        if (!single) {
            pbles.set(list, 0, firstAddr);
        }
        for (int i = 1; blocks.next(); i++) {
            pbles.set(list, i, blocks.dmaAddr());
            together &= blocks.dmaAddr() == firstAddr + i * pageSize;
        }
        if (together) {
            freeIfHeld(list);
        }
        return firstAddr;
    }

    /** {@code rereg_user_mr} (rdma:IRD-8, QRK-24). */
    ErrPtr<Mr> reregUserMr(
            I40iwMr mr,
            int flags,
            int cpu,
            Process process,
            long userAddr,
            long length,
            long virtAddr,
            int access,
            @Nullable Pd newPd) {
        if (Addresses.lessThan(MAX_LENGTH, length)) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        if ((flags & ~REREG_FLAGS) != 0) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        if (mr.type() != MrType.USER) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        boolean moves = (flags & ReregFlags.TRANS) != 0;
        if (!moves && !holdsMemory(mr)) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        int error = Umems.checkRereg(mr.umem(), flags, access);
        if (error == 0) {
            error = unregister(mr);
        }
        if (error != 0) {
            return ErrPtr.err(error);
        }
        if ((flags & ReregFlags.ACCESS) != 0) {
            mr.setAccess(access);
        }
        Pd pd = (flags & ReregFlags.PD) != 0 && newPd != null ? newPd : mr.pd();
        error = moves
                ? pinAnew(mr, pd, cpu, process, userAddr, length, virtAddr)
                : adapter.register(mr, pd, mr.iova(), mr.lengthBytes());
        if (error != 0) {
            return ErrPtr.err(error);
        }
        mr.moveTo(pd);
        return registered(mr);
    }

    /** Other memory under the same stag; what fails leaves the region with none. */
    private int pinAnew(I40iwMr mr, Pd pd, int cpu, Process process, long userAddr, long length, long virtAddr) {
        freeList(mr);
        releaseMemory(mr, cpu);
        UmemResult result = new UmemResult();
        int error = umems.get(ibDevice, cpu, process, userAddr, length, mr.access(), result);
        if (error != 0) {
            lastFailure = result.failure();
            return error;
        }
        Umem umem = result.umem();
        error = -Errno.EOPNOTSUPP;
        long pageSize = pageSize(umem, virtAddr);
        if (pageSize != 0) {
            long firstAddr = fill(umem, pageSize, mr.list());
            mr.hold(umem, pageSize, firstAddr);
            error = firstAddr == NO_BUFFERS ? -Errno.ENOMEM : adapter.register(mr, pd, virtAddr, length);
        }
        if (error != 0) {
            freeList(mr);
            umems.release(umem, cpu);
        }
        return error;
    }

    // ---- the end

    /** {@code dereg_mr} (rdma:IRD-8, IRD-9). */
    int deregMr(I40iwMr mr, int cpu) {
        int error = unregister(mr);
        if (error != 0) {
            return error;
        }
        giveBack(mr);
        if (first && mr.type() != MrType.USER && mr.type() != MrType.DMA) {
            ((I40iwPd) mr.pd()).driverUnuse();
        }
        releaseMemory(mr, cpu);
        return 0;
    }

    /** Tells the adapter, unless a failed re-registration did (rdma:QRK-24). */
    private int unregister(I40iwMr mr) {
        int error = mr.isRegistered() ? adapter.deallocStag(mr.stag()) : 0;
        if (error == 0) {
            mr.setRegistered(false);
        }
        return error;
    }

    /** Not after a re-registration that released the old memory and got no new one. */
    private static boolean holdsMemory(I40iwMr mr) {
        Umem umem = mr.umem();
        return umem != null && !umem.isReleased();
    }

    private void releaseMemory(I40iwMr mr, int cpu) {
        Umem umem = mr.umem();
        if (umem != null && !umem.isReleased()) {
            umems.release(umem, cpu);
        }
    }
}
