package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.umem.UmemFailure;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.VerbsProvider;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The driver of rxe, RDMA in software: of Linux 6.12, or of 5.2 on a machine of that kernel.
 *
 * <p>Failure points: {@code rxe.mr}, {@code rxe.mr_pages}, {@code rxe.mw}, {@code rxe.qp}. Implements rdma:RXE-1 to
 * RXE-5, RXE-7, RXE-13 to RXE-22, RXE-45, RXE-52, ACC-5. Thread-safe.
 */
public final class RxeDevice implements VerbsProvider {
    /** The rights that a region may have; others are refused, ON_DEMAND only by ib_umem_get (rdma:RXE-13). */
    static final int ACCESS_SUPPORTED = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.REMOTE_ATOMIC
            | AccessFlags.MW_BIND
            | AccessFlags.ON_DEMAND
            | AccessFlags.FLUSH_GLOBAL
            | AccessFlags.FLUSH_PERSISTENT
            | AccessFlags.OPTIONAL_RANGE;

    private static final int ALL_REMOTE =
            AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;
    private static final int KEY_BYTE_BITS = 8;
    private static final int PAGE_LIST_ENTRY = 8;
    private static final long LONGEST_PAGE_LIST = 1L << 27;

    private final IbDevice ibDevice;
    private final RxeConfig config;
    private final boolean first;
    private final RxeLimits limits;
    private final DeviceAttributes attributes;
    private final Set<ProviderOp> ops;
    private final Umems umems;
    private final UserMemory userMemory;
    private final CpuMemory memory;
    private final long pageListRoom;
    private final KernelLayout layout;
    private final KernelLog.Site tooFar;
    private final FailurePoint mrPoint;
    private final FailurePoint pagesPoint;
    private final FailurePoint mwPoint;
    private final FailurePoint qpPoint;
    private final RxePool mrPool;
    private final RxePool mwPool;
    private final RxePool pdPool;
    private final RxePool qpPool;
    private final RxeKeys keys;
    private final KeyBytes keyBytes;
    private final BitSet indicesSeen = new BitSet();
    private final List<RcQp> qps = new CopyOnWriteArrayList<>();
    private volatile @Nullable UmemFailure lastFailure;

    private RxeDevice(IbDevice ibDevice, RxeConfig config) {
        this.ibDevice = ibDevice;
        this.config = config;
        Machine machine = ibDevice.machine();
        first = machine.kernelModel().hasTheFirstRxe();
        limits = new RxeLimits(first, config);
        attributes = limits.attributes();
        ops = first
                ? Set.copyOf(EnumSet.of(ProviderOp.REG_USER_MR, ProviderOp.ALLOC_MR, ProviderOp.MAP_MR_SG))
                : Set.copyOf(EnumSet.of(
                        ProviderOp.REG_USER_MR,
                        ProviderOp.REREG_USER_MR,
                        ProviderOp.ALLOC_MR,
                        ProviderOp.MAP_MR_SG,
                        ProviderOp.ALLOC_MW));
        umems = Umems.of(machine);
        userMemory = UserMemory.of(machine);
        memory = machine.cpuMemory();
        long ramBytes =
                machine.ram().ranges().stream().mapToLong(PhysRange::sizeBytes).sum();
        pageListRoom = Math.min(ramBytes / PAGE_LIST_ENTRY, LONGEST_PAGE_LIST);
        layout = machine.layout();
        tooFar = machine.log().site("rxe_mr_copy");
        mrPoint = machine.failures().point("rxe.mr");
        pagesPoint = machine.failures().point("rxe.mr_pages");
        mwPoint = machine.failures().point("rxe.mw");
        qpPoint = machine.failures().point("rxe.qp");
        mrPool = limits.mrPool();
        mwPool = limits.mwPool();
        pdPool = limits.pdPool();
        qpPool = limits.qpPool();
        keyBytes = new KeyBytes(first, config.seed());
        keys = new RxeKeys(this, limits, mwPool, config);
    }

    /**
     * Adds an rxe device to a machine: {@code rdma link add}.
     *
     * @param name its name
     * @param machine the machine
     * @return the device, as users of the verbs see it
     */
    public static VerbsDevice add(String name, Machine machine) {
        return add(name, machine, RxeConfig.kernel());
    }

    /**
     * Adds an rxe device that differs from the kernel's.
     *
     * @param name its name
     * @param machine the machine
     * @param config how it differs
     * @return the device, as users of the verbs see it
     */
    public static VerbsDevice add(String name, Machine machine, RxeConfig config) {
        return new VerbsDevice(new RxeDevice(IbDevice.withoutDmaDevice(name, machine), config));
    }

    // ---- what it is

    @Override
    public IbDevice ibDevice() {
        return ibDevice;
    }

    @Override
    public Set<ProviderOp> ops() {
        return ops;
    }

    @Override
    public DeviceCaps caps() {
        return limits.caps();
    }

    @Override
    public boolean hasLocalDmaLkey() {
        return false;
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    /**
     * Its keys.
     *
     * @return what the data path asks
     */
    public MemoryRegions regions() {
        return keys;
    }

    /**
     * How many regions there are, those of in-kernel domains included.
     *
     * @return elements of the pool
     */
    public int mrCount() {
        return mrPool.elements();
    }

    /**
     * How many windows there are.
     *
     * @return elements of the pool
     */
    public int mwCount() {
        return mwPool.elements();
    }

    /**
     * How many domains there are.
     *
     * @return elements of the pool
     */
    public int pdCount() {
        return pdPool.elements();
    }

    /**
     * How many queue pairs there are.
     *
     * @return elements of the pool
     */
    public int qpCount() {
        return qpPool.elements();
    }

    /**
     * Why memory could not be pinned for the latest registration that failed so.
     *
     * @return the cause, or null when none failed so
     */
    public @Nullable UmemFailure lastFailure() {
        return lastFailure;
    }

    boolean isFirst() {
        return first;
    }

    int rkeyOf(int key) {
        return keys.rkeyOf(key);
    }

    CpuMemory memory() {
        return memory;
    }

    /** Where the kernel warns of an address that leads behind the page list. */
    KernelLog.Site tooFar() {
        return tooFar;
    }

    FailurePoint pagesPoint() {
        return pagesPoint;
    }

    /** Whether a page list can be had at all: not when it alone would fill the machine's memory (rdma:RXE-17). */
    boolean hasRoomForPages(long entries) {
        return !Addresses.lessThan(pageListRoom, entries);
    }

    /** The physical address behind one of virtual DMA; a hole where that is no RAM. */
    long physOfVirtual(long virtAddr) {
        long physAddr = layout.virtToPhys(virtAddr);
        return layout.isDirectMap(virtAddr) && memory.isRam(physAddr, 1) ? physAddr : PageList.HOLE;
    }

    boolean isPersistent(long dmaAddr) {
        return layout.isDirectMap(dmaAddr)
                && userMemory.isPersistent(layout.virtToPhys(dmaAddr) >>> Addresses.PAGE_SHIFT);
    }

    // ---- domains

    @Override
    public ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner) {
        int index = pdPool.add();
        return index < 0 ? ErrPtr.err(index) : ErrPtr.of(new RxePd(device, owner, index));
    }

    @Override
    public int deallocPd(Pd pd) {
        pdPool.remove(((RxePd) pd).index());
        return 0;
    }

    // ---- regions

    /** A number for a region, or why there is none; says how many there are when that is why. */
    private int addMr() {
        if (mrPoint.fails()) {
            return -Errno.ENOMEM;
        }
        int index = mrPool.add();
        if (index < 0) {
            ibDevice.machine()
                    .log()
                    .message(
                            "rxe_add_to_pool",
                            ibDevice + ": " + mrPool.elements() + " of " + mrPool.maxElements()
                                    + " regions are in use (rdma:RXE-2)");
        }
        return index;
    }

    private void begin(RxeMr mr, int access) {
        int key = mr.index() << KEY_BYTE_BITS | keyBytes.next();
        mr.giveKey(key, access);
        config.keyListener().keyMade(mr.index(), key, seenBefore(mr.index()));
    }

    private boolean seenBefore(int index) {
        synchronized (indicesSeen) {
            boolean seen = indicesSeen.get(index);
            indicesSeen.set(index);
            return seen;
        }
    }

    @Override
    public ErrPtr<Mr> getDmaMr(Pd pd, int access) {
        int index = addMr();
        if (index < 0) {
            return ErrPtr.err(index);
        }
        RxeMr mr = new RxeMr(this, pd, MrType.DMA, index);
        begin(mr, access);
        return published(mr, RxeMr.VALID);
    }

    private ErrPtr<Mr> published(RxeMr mr, int state) {
        mr.setState(state);
        keys.publish(mr);
        return ErrPtr.of(mr);
    }

    @Override
    public ErrPtr<Mr> regUserMr(
            Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        if (!first && (access & ~ACCESS_SUPPORTED) != 0) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        if (Addresses.lessThan(attributes.maxMrSize(), lengthBytes)) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        int index = addMr();
        if (index < 0) {
            return ErrPtr.err(index);
        }
        boolean done = false;
        try {
            RxeMr mr = new RxeMr(this, pd, MrType.USER, index);
            begin(mr, access);
            int error = pin(mr, cpu, process, userAddr, lengthBytes, virtAddr, access);
            done = error == 0;
            return done ? published(mr, RxeMr.VALID) : ErrPtr.err(error);
        } finally {
            if (!done) {
                mrPool.remove(index);
            }
        }
    }

    private int pin(RxeMr mr, int cpu, Process process, long userAddr, long length, long virtAddr, int access) {
        UmemResult result = new UmemResult();
        int error = umems.get(ibDevice, cpu, process, userAddr, length, access, result);
        if (error != 0) {
            lastFailure = result.failure();
            return first ? -Errno.EINVAL : error;
        }
        Umem umem = result.umem();
        error = pagesPoint.fails() ? -Errno.ENOMEM : checkPersistence(umem, access);
        if (error != 0) {
            umems.release(umem, cpu);
            return error;
        }
        mr.fill(umem);
        mr.setFirstRange(virtAddr, length, umem.offset());
        return 0;
    }

    /** A flush to persistence needs pages that persist (rdma:RXE-15). */
    private int checkPersistence(Umem umem, int access) {
        if (first || (access & AccessFlags.FLUSH_PERSISTENT) == 0) {
            return 0;
        }
        SgTable table = umem.table();
        for (int i = 0; i < table.origNents(); i++) {
            long firstPfn = table.pageAddr(i) >>> Addresses.PAGE_SHIFT;
            long endPfn = firstPfn + (table.lengthBytes(i) >>> Addresses.PAGE_SHIFT);
            for (long pfn = firstPfn; pfn < endPfn; pfn++) {
                if (!userMemory.isPersistent(pfn)) {
                    return -Errno.EINVAL;
                }
            }
        }
        return 0;
    }

    @Override
    public ErrPtr<Mr> reregUserMr(
            Mr mr,
            int flags,
            int cpu,
            Process process,
            long userAddr,
            long lengthBytes,
            long virtAddr,
            int access,
            @Nullable Pd newPd) {
        RxeMr region = (RxeMr) mr;
        if ((flags & ~(ReregFlags.PD | ReregFlags.ACCESS)) != 0) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        int error = Umems.checkRereg(mr.umem(), flags, access);
        if (error != 0) {
            return ErrPtr.err(error);
        }
        boolean newAccess = (flags & ReregFlags.ACCESS) != 0;
        if (newAccess && (access & ~ACCESS_SUPPORTED) != 0) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        synchronized (keys.lock()) {
            if ((flags & ReregFlags.PD) != 0 && newPd != null) {
                region.moveTo(newPd);
            }
            if (newAccess) {
                region.setAccess(access);
            }
        }
        return ErrPtr.of(mr);
    }

    @Override
    public int deregMr(Mr mr, int cpu) {
        RxeMr region = (RxeMr) mr;
        if (config.deregFailsOnPostedReceives() && qps.stream().anyMatch(qp -> qp.receivesInto(mr.lkey()))) {
            return -Errno.EBUSY;
        }
        int error = keys.retire(region);
        if (error != 0) {
            return error;
        }
        if (!region.drain()) {
            ibDevice.machine()
                    .log()
                    .warn("__rxe_cleanup", region + " is still held, and goes nevertheless (rdma:RXE-5)");
        }
        try {
            Umem umem = mr.umem();
            if (umem != null) {
                umems.release(umem, cpu);
            }
        } finally {
            mrPool.remove(region.index());
        }
        return 0;
    }

    @Override
    public ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        if (type != MrType.MEM_REG) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        int index = addMr();
        if (index < 0) {
            return ErrPtr.err(index);
        }
        if (pagesPoint.fails() || !hasRoomForPages(Integer.toUnsignedLong(maxNumSg))) {
            mrPool.remove(index);
            return ErrPtr.err(-Errno.ENOMEM);
        }
        RxeMr mr = new RxeMr(this, pd, index, maxNumSg);
        begin(mr, first ? 0 : ALL_REMOTE);
        if (first) {
            mr.showRkeyAsLkey();
        }
        return published(mr, RxeMr.FREE);
    }

    @Override
    public int mapMrSg(Mr mr, SgTable sg, int firstSegment, int nents, int sgOffset) {
        synchronized (keys.lock()) {
            return ((RxeMr) mr).mapSg(sg, firstSegment, nents, sgOffset);
        }
    }

    // ---- windows

    @Override
    public ErrPtr<Mw> allocMw(Pd pd, int type) {
        if (mwPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int index = mwPool.add();
        if (index < 0) {
            return ErrPtr.err(index);
        }
        int key = index << KEY_BYTE_BITS | keyBytes.next();
        RxeMw mw = new RxeMw(pd, type, index, key);
        config.keyListener().keyMade(index, key, seenBefore(index));
        keys.publish(mw);
        return ErrPtr.of(mw);
    }

    @Override
    public int deallocMw(Mw mw) {
        RxeMw window = (RxeMw) mw;
        keys.retire(window);
        mwPool.remove(window.index());
        return 0;
    }

    // ---- queue pairs

    @Override
    public ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        if (init.excessOver(attributes) != null) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        if (qpPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int number = qpPool.add();
        if (number < 0) {
            return ErrPtr.err(number);
        }
        RcQp qp = new RcQp(pd, init, number, keys, RcQp.statuses(ibDevice.machine(), config.idealStatuses()));
        qps.add(qp);
        return ErrPtr.of(qp);
    }

    @Override
    public int destroyQp(Qp qp) {
        RcQp pair = (RcQp) qp;
        pair.shutDown();
        qps.remove(pair);
        qpPool.remove(qp.qpNum());
        return 0;
    }

    @Override
    public String toString() {
        return "rxe device " + ibDevice;
    }
}
