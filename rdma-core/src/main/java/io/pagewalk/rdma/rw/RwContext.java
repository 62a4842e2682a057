package io.pagewalk.rdma.rw;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDma;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrPool;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.RwRules;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SigDomains;
import io.pagewalk.rdma.verbs.SigType;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A transfer between a scatterlist and a peer's memory, {@code struct rdma_rw_ctx}: it maps the list, and makes the
 * work requests that move its bytes. Owned and reused by its caller: {@link #init}, {@link #post}, and when the
 * completion came {@link #destroy}, which must get the same list and direction.
 *
 * <p>Failure points: {@code rdma_rw.wrs}, {@code rdma_rw.sges}, {@code rdma_rw.regs}, {@code rdma_rw.signature}.
 *
 * <p>Implements rdma:RW-11 to RW-22. Not thread-safe. Once it has been as large as it gets, it allocates nothing.
 */
public final class RwContext {
    /*
     * There are two ways. Plain segments: one work request, or as many as the list needs at the queue pair's number of
     * segments each, by the key of all memory. Regions: each work request names a region that was taken from the queue
     * pair's pool and describes up to 256 pages of the list; it is registered right before, and invalidated before that
     * if a peer or an earlier transfer may still know it. Writes go the first way; reads go the second where the wire
     * wants it (iWARP), or where the device likes long reads better in one piece; if no region is free they go the first
     * way after all, unless the wire forbids it (RW-12).
     *
     * A region's key changes when the transfer is posted and not before (RW-18). The invalidation was made at init, and
     * so names the key by which the device still knows the region.
     */

    private enum Kind {
        NONE,
        SINGLE,
        MULTI,
        REGIONS,
        SIGNATURE
    }

    private static final int PAGE_BYTES = (int) Addresses.PAGE_SIZE;
    private static final long U32 = 0xffff_ffffL;

    private final VerbsDevice device;
    private final RwRules rules;
    private final boolean mayDoWithout;
    private final KernelLog log;
    private final FailurePoint wrsPoint;
    private final FailurePoint sgesPoint;
    private final FailurePoint regsPoint;
    private final FailurePoint signaturePoint;
    private final List<RwOp> ops = new ArrayList<>();
    private Kind kind = Kind.NONE;
    private int opCount;

    /**
     * Makes a context that transfers nothing.
     *
     * @param device on whose queue pairs it will be
     */
    public RwContext(VerbsDevice device) {
        this.device = Objects.requireNonNull(device, "device");
        rules = device.rwRules();
        mayDoWithout = device.machine().kernelModel().transfersWithoutRegions();
        log = device.machine().log();
        wrsPoint = device.machine().failures().point("rdma_rw.wrs");
        sgesPoint = device.machine().failures().point("rdma_rw.sges");
        regsPoint = device.machine().failures().point("rdma_rw.regs");
        signaturePoint = device.machine().failures().point("rdma_rw.signature");
    }

    // ---- plain transfers

    /**
     * {@code rdma_rw_ctx_init}: maps a list and prepares its transfer.
     *
     * @param qp the queue pair
     * @param cpu who calls
     * @param port the port, from 1
     * @param sg the list, all of whose entries are mapped
     * @param sgOffset bytes of the list that are left out, unsigned 32-bit
     * @param remoteAddr where in the peer's memory
     * @param rkey the peer's key
     * @param direction TO_DEVICE to write the peer's memory, else it is read
     * @return how many places of the send queue the transfer takes; with nothing held what mapping gave, -EIO when the
     *     offset leaves nothing, -ENOMEM, -EAGAIN when no region is free, -EINVAL when a region cannot hold its part
     * @throws IllegalStateException when it was not destroyed since the latest init; nothing changes then
     * @throws IllegalArgumentException when the offset needs more than 32 bits, or the queue pair is another device's;
     *     nothing changes then
     */
    public int init(
            Qp qp, int cpu, int port, SgTable sg, long sgOffset, long remoteAddr, int rkey, DmaDirection direction) {
        requireIdle(qp);
        if ((sgOffset & ~U32) != 0) {
            throw new IllegalArgumentException("offset " + Addresses.hex(sgOffset) + " is not a 32-bit number");
        }
        IbDma dma = device.ibDevice().dma(cpu);
        int error = dma.mapSgTable(sg, direction, 0);
        if (error != 0) {
            return error;
        }
        int result = -Errno.EIO;
        try {
            result = prepare(qp, port, sg, sgOffset, remoteAddr, rkey, direction);
        } finally {
            if (result < 0) {
                dma.unmapSgTable(sg, direction, 0);
            }
        }
        return result;
    }

    private void requireIdle(Qp qp) {
        if (qp.pd().device() != device) {
            throw new IllegalArgumentException(qp + " is not of " + device);
        }
        if (kind != Kind.NONE) {
            throw new IllegalStateException("a context of " + opCount + " operations has to be destroyed first");
        }
    }

    private int prepare(Qp qp, int port, SgTable sg, long sgOffset, long remoteAddr, int rkey, DmaDirection direction) {
        int first = 0;
        long offset = sgOffset;
        while (first < sg.nents() && !Addresses.lessThan(offset, sg.dmaLengthBytes(first))) {
            offset -= sg.dmaLengthBytes(first);
            first++;
        }
        int count = sg.nents() - first;
        if (count == 0) {
            log.warn(
                    "rdma_rw_ctx_init",
                    "offset " + Addresses.hex(sgOffset) + " leaves nothing of " + sg.nents()
                            + " segments (rdma:RW-11)");
            return -Errno.EIO;
        }
        if (rules.ioNeedsMr(port, direction, count)) {
            int result = withRegions(qp, port, sg, first, count, offset, remoteAddr, rkey, direction);
            if (result != -Errno.EAGAIN || !mayDoWithout || rules.isIwarp(port) || rules.forcesMr()) {
                return result;
            }
        }
        return count == 1
                ? single(qp, sg, first, offset, remoteAddr, rkey, direction)
                : multi(qp, sg, first, count, offset, remoteAddr, rkey, direction);
    }

    // ---- by segments

    /** rdma:RW-14. */
    private int single(Qp qp, SgTable sg, int segment, long offset, long remoteAddr, int rkey, DmaDirection direction) {
        RwOp op = nextOp(null);
        transfer(op.rdma, remoteAddr, rkey, direction);
        addSegment(op.rdma, qp, sg, segment, offset);
        return ready(Kind.SINGLE);
    }

    /** rdma:RW-15. */
    private int multi(
            Qp qp, SgTable sg, int first, int count, long offset, long remoteAddr, int rkey, DmaDirection direction) {
        int each = direction == DmaDirection.TO_DEVICE ? qp.maxWriteSge() : qp.maxReadSge();
        if (each == 0) {
            throw new KernelBugException("divide error: " + qp + " has no segments for " + direction + " (rdma:RW-15)");
        }
        if (wrsPoint.fails() || sgesPoint.fails()) {
            return -Errno.ENOMEM;
        }
        long total = 0;
        int segment = first;
        int end = first + count;
        long skipped = offset;
        while (segment < end) {
            RwOp op = nextOp(null);
            transfer(op.rdma, remoteAddr + total, rkey, direction);
            int stop = (int) Math.min((long) segment + each, end);
            for (; segment < stop; segment++) {
                addSegment(op.rdma, qp, sg, segment, skipped);
                skipped = 0;
            }
            total = (total + op.rdma.segments().totalBytes()) & U32;
        }
        return ready(Kind.MULTI);
    }

    private static void transfer(SendWr wr, long remoteAddr, int rkey, DmaDirection direction) {
        if (direction == DmaDirection.TO_DEVICE) {
            wr.write(0, remoteAddr, rkey);
        } else {
            wr.read(0, remoteAddr, rkey);
        }
    }

    private static void addSegment(SendWr wr, Qp qp, SgTable sg, int segment, long offset) {
        wr.sge(
                sg.dmaAddr(segment) + offset,
                sg.dmaLengthBytes(segment) - offset,
                qp.pd().localDmaLkey());
    }

    // ---- by regions

    /** rdma:RW-16. */
    private int withRegions(
            Qp qp,
            int port,
            SgTable sg,
            int first,
            int count,
            long offset,
            long remoteAddr,
            int rkey,
            DmaDirection direction) {
        int each = rules.pageListLen(qp.isIntegrityEnabled());
        if (each == 0) {
            throw new KernelBugException("divide error: regions of " + device + " hold no page (rdma:RW-16)");
        }
        if (regsPoint.fails()) {
            return -Errno.ENOMEM;
        }
        boolean prepared = false;
        try {
            long skipped = offset;
            long remote = remoteAddr;
            for (int done = 0; done < count; done += each) {
                int part = Math.min(count - done, each);
                int error = withRegion(qp, port, sg, first + done, part, skipped, remote, rkey, direction);
                if (error != 0) {
                    return error;
                }
                remote += lengthOfLast();
                skipped = 0;
            }
            prepared = true;
            return ready(Kind.REGIONS);
        } finally {
            if (!prepared) {
                undoRegions(qp.rdmaMrs());
            }
        }
    }

    /** rdma:RW-17. */
    private int withRegion(
            Qp qp,
            int port,
            SgTable sg,
            int first,
            int count,
            long offset,
            long remoteAddr,
            int rkey,
            DmaDirection direction) {
        Mr mr = qp.rdmaMrs().get();
        if (mr == null) {
            return -Errno.EAGAIN;
        }
        RwOp op = nextOp(mr);
        if (FastReg.mapMrSg(mr, sg, first, count, (int) offset, PAGE_BYTES) < count) {
            return -Errno.EINVAL;
        }
        boolean iwarp = rules.isIwarp(port);
        op.reg.regMr(0, mr, mr.lkey(), AccessFlags.LOCAL_WRITE | (iwarp ? AccessFlags.REMOTE_WRITE : 0));
        if (iwarp && direction != DmaDirection.TO_DEVICE) {
            op.rdma.readWithInv(0, remoteAddr, rkey, mr.lkey());
        } else {
            transfer(op.rdma, remoteAddr, rkey, direction);
        }
        op.rdma.sge(mr.iova(), mr.lengthBytes() & U32, mr.lkey());
        op.reg.then(op.rdma);
        return 0;
    }

    private long lengthOfLast() {
        return Objects.requireNonNull(ops.get(opCount - 1).mr).lengthBytes();
    }

    /** The last one first, so that the pool is in the order that it had. */
    private void undoRegions(MrPool pool) {
        while (opCount > 0) {
            opCount--;
            pool.put(Objects.requireNonNull(ops.get(opCount).mr));
        }
    }

    private void putRegions(MrPool pool) {
        for (int i = 0; i < opCount; i++) {
            pool.put(Objects.requireNonNull(ops.get(i).mr));
        }
        opCount = 0;
    }

    // ---- with signatures

    /**
     * {@code rdma_rw_ctx_signature_init}: maps data and signatures, and prepares their transfer through one region.
     *
     * @param qp the queue pair, made with {@link io.pagewalk.rdma.verbs.RwInit#INTEGRITY_EN}
     * @param cpu who calls
     * @param port the port, from 1
     * @param sg the data
     * @param prot the signatures, or null when they lie among the data or there are none
     * @param domains where there are signatures
     * @param remoteAddr where in the peer's memory
     * @param rkey the peer's key
     * @param direction TO_DEVICE to write the peer's memory, else it is read
     * @return how many places of the send queue the transfer takes; with nothing held -EINVAL for more entries than a
     *     region holds, what mapping gave, -ENOMEM, -EAGAIN when no region is free, or what the provider answered
     * @throws IllegalStateException when it was not destroyed since the latest init; nothing changes then
     */
    public int initSignature(
            Qp qp,
            int cpu,
            int port,
            SgTable sg,
            @Nullable SgTable prot,
            SigDomains domains,
            long remoteAddr,
            int rkey,
            DmaDirection direction) {
        requireIdle(qp);
        Objects.requireNonNull(domains, "domains");
        int most = rules.pageListLen(qp.isIntegrityEnabled());
        int protCount = prot == null ? 0 : prot.origNents();
        if (sg.origNents() > most || protCount > most) {
            log.message(
                    "rdma_rw_ctx_signature_init",
                    "SG count too large: " + sg.origNents() + " and " + protCount + " of " + most + " (rdma:RW-22)");
            return -Errno.EINVAL;
        }
        IbDma dma = device.ibDevice().dma(cpu);
        int result = dma.mapSgTable(sg, direction, 0);
        if (result != 0) {
            return result;
        }
        SgTable meta = protCount == 0 ? null : prot;
        result = meta == null ? 0 : dma.mapSgTable(meta, direction, 0);
        if (result != 0) {
            dma.unmapSgTable(sg, direction, 0);
            return result;
        }
        result = -Errno.EINVAL;
        try {
            result = signature(qp, sg, meta, domains, remoteAddr, rkey, direction);
        } finally {
            if (result < 0) {
                undoRegions(qp.sigMrs());
                unmap(dma, sg, meta, direction);
            }
        }
        return result;
    }

    private static void unmap(IbDma dma, SgTable sg, @Nullable SgTable prot, DmaDirection direction) {
        if (prot != null) {
            dma.unmapSgTable(prot, direction, 0);
        }
        dma.unmapSgTable(sg, direction, 0);
    }

    private int signature(
            Qp qp,
            SgTable sg,
            @Nullable SgTable prot,
            SigDomains domains,
            long remoteAddr,
            int rkey,
            DmaDirection direction) {
        if (signaturePoint.fails()) {
            return -Errno.ENOMEM;
        }
        Mr mr = qp.sigMrs().get();
        if (mr == null) {
            return -Errno.EAGAIN;
        }
        RwOp op = nextOp(mr);
        mr.setSigDomains(domains);
        int error = FastReg.mapMrSgPi(mr, sg, sg.nents(), prot, prot == null ? 0 : prot.nents(), PAGE_BYTES);
        if (error != 0) {
            return error < 0 ? error : -Errno.EINVAL;
        }
        long length = mr.lengthBytes();
        if (domains.wire() == SigType.NONE) {
            length -= Integer.toUnsignedLong(mr.metaLengthBytes());
        }
        op.reg.regMr(0, mr, mr.lkey(), AccessFlags.LOCAL_WRITE);
        transfer(op.rdma, remoteAddr, rkey, direction);
        op.rdma.sge(mr.iova(), length & U32, mr.lkey());
        op.reg.then(op.rdma);
        return ready(Kind.SIGNATURE);
    }

    // ---- operations

    private RwOp nextOp(@Nullable Mr mr) {
        if (opCount == ops.size()) {
            ops.add(new RwOp());
        }
        RwOp op = ops.get(opCount++);
        op.begin(mr);
        return op;
    }

    /** Chains the operations; says how many places of the send queue they take. */
    private int ready(Kind newKind) {
        kind = newKind;
        int places = 0;
        for (int i = 0; i < opCount; i++) {
            RwOp op = ops.get(i);
            places += op.workRequests();
            op.rdma.then(i + 1 < opCount ? ops.get(i + 1).first() : null);
        }
        return places;
    }

    /**
     * {@code rdma_rw_ctx_wrs}: the work requests, ready to post. Regions get their next key each time (rdma:RW-18,
     * RW-21).
     *
     * @param wrId what the completion of the last one says
     * @param chain requests of the caller's behind them, of which he asks the completion; null to have the last one
     *     completed (rdma:RW-19)
     * @return the first one
     * @throws IllegalStateException when nothing was prepared
     */
    public SendWr wrs(long wrId, @Nullable SendWr chain) {
        requirePrepared();
        for (int i = 0; i < opCount; i++) {
            ops.get(i).rotateKey();
        }
        SendWr last = ops.get(opCount - 1).rdma;
        last.then(chain);
        if (chain == null) {
            last.id(wrId).signaled();
        }
        return ops.get(0).first();
    }

    /**
     * {@code rdma_rw_ctx_post}.
     *
     * @param qp the queue pair
     * @param wrId what the completion says
     * @param chain requests of the caller's behind the transfer, or null
     * @return what the post returned
     * @throws IllegalStateException when nothing was prepared
     */
    public int post(Qp qp, long wrId, @Nullable SendWr chain) {
        return qp.postSend(wrs(wrId, chain));
    }

    private void requirePrepared() {
        if (kind == Kind.NONE) {
            throw new IllegalStateException("nothing was prepared, or it was destroyed");
        }
    }

    // ---- the end

    /**
     * {@code rdma_rw_ctx_destroy}: gives regions back to their pool and unmaps the list.
     *
     * @param qp the queue pair of the init
     * @param cpu who calls
     * @param sg the list of the init
     * @param direction the direction of the init
     * @throws KernelBugException for a context with signatures (rdma:RW-20)
     * @throws IllegalStateException when nothing was prepared
     */
    public void destroy(Qp qp, int cpu, SgTable sg, DmaDirection direction) {
        requirePrepared();
        if (kind == Kind.SIGNATURE) {
            throw new KernelBugException("a context with signatures is destroyed as one without (rdma:RW-20)");
        }
        IbDma dma = device.ibDevice().dma(cpu);
        if (kind == Kind.REGIONS) {
            putRegions(qp.rdmaMrs());
        }
        forget();
        dma.unmapSgTable(sg, direction, 0);
    }

    /**
     * {@code rdma_rw_ctx_destroy_signature}. A context without signatures is left as it is, with a warning.
     *
     * @param qp the queue pair of the init
     * @param cpu who calls
     * @param sg the data of the init
     * @param prot the signatures of the init, or null
     * @param direction the direction of the init
     */
    public void destroySignature(Qp qp, int cpu, SgTable sg, @Nullable SgTable prot, DmaDirection direction) {
        if (kind != Kind.SIGNATURE) {
            log.warn("rdma_rw_ctx_destroy_signature", "a context without signatures (rdma:RW-22)");
            return;
        }
        IbDma dma = device.ibDevice().dma(cpu);
        putRegions(qp.sigMrs());
        forget();
        unmap(dma, sg, prot == null || prot.origNents() == 0 ? null : prot, direction);
    }

    private void forget() {
        kind = Kind.NONE;
        opCount = 0;
    }

    /**
     * How many operations the transfer has.
     *
     * @return {@code nr_ops}; 0 when nothing is prepared
     */
    public int operations() {
        return opCount;
    }
}
