package io.pagewalk.rdma.model;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.LocalErrors;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
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
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An adapter as small as one can be: it checks keys as rxe of Linux 6.12 does, but a region's two keys differ, memory
 * is reached by DMA address through the bus, and a request that fails tells its cause.
 */
final class BusProvider implements VerbsProvider, MemoryRegions {
    private static final int REMOTE = AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;
    private static final int WINDOW_RIGHTS = REMOTE | AccessFlags.LOCAL_WRITE | AccessFlags.ZERO_BASED;
    private static final int REMOTE_INDEX = 0x4000;

    private final IbDevice ibDevice;
    private final DeviceBus bus;
    private final Umems umems;
    private final Map<Integer, BusMr> local = new HashMap<>();
    private final Map<Integer, BusMr> remote = new HashMap<>();
    private final Map<Integer, BusMw> windows = new HashMap<>();
    private int nextIndex = 1;
    private int nextQp = 16;

    private BusProvider(Device device) {
        ibDevice = IbDevice.withDmaDevice("bus0", device);
        bus = device.bus();
        umems = Umems.of(device.machine());
    }

    static VerbsDevice add(Device device) {
        return new VerbsDevice(new BusProvider(device));
    }

    // ---- the device

    @Override
    public IbDevice ibDevice() {
        return ibDevice;
    }

    @Override
    public Set<ProviderOp> ops() {
        return Set.of(ProviderOp.REG_USER_MR, ProviderOp.ALLOC_MR, ProviderOp.MAP_MR_SG, ProviderOp.ALLOC_MW);
    }

    @Override
    public DeviceCaps caps() {
        return new DeviceCaps(false, false, false);
    }

    @Override
    public boolean hasLocalDmaLkey() {
        return true;
    }

    @Override
    public DeviceAttributes attributes() {
        return new DeviceAttributes(
                -1L, -1, 0, 99, 99, 99, 99, 64, 8, 8, 0, 99, 0, 512, 1 << 31, 99, 128, 1, 1, 0x7fffff00);
    }

    @Override
    public ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner) {
        return ErrPtr.of(new Pd(device, owner));
    }

    @Override
    public int deallocPd(Pd pd) {
        return 0;
    }

    @Override
    public ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        return ErrPtr.of(new RcQp(pd, init, nextQp++, this, LocalErrors.CAUSE));
    }

    @Override
    public int destroyQp(Qp qp) {
        ((RcQp) qp).shutDown();
        return 0;
    }

    // ---- regions and windows

    private synchronized BusMr add(Pd pd, MrType type, int maxPages) {
        int index = nextIndex++;
        BusMr mr = new BusMr(pd, type, bus, maxPages, index << 8 | 0x11, (index + REMOTE_INDEX) << 8 | 0x22);
        local.put(index, mr);
        remote.put(index + REMOTE_INDEX, mr);
        return mr;
    }

    @Override
    public ErrPtr<Mr> regUserMr(
            Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        UmemResult result = new UmemResult();
        int error = umems.get(ibDevice, cpu, process, userAddr, lengthBytes, access, result);
        if (error != 0) {
            return ErrPtr.err(error);
        }
        BusMr mr = add(pd, MrType.USER, (int) result.umem().numDmaBlocks(Addresses.PAGE_SIZE));
        mr.hold(result.umem());
        mr.access = access;
        mr.valid = true;
        return ErrPtr.of(mr);
    }

    @Override
    public ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        return ErrPtr.of(add(pd, type, maxNumSg));
    }

    @Override
    public int mapMrSg(Mr mr, SgTable sg, int first, int nents, int sgOffset) {
        return ((BusMr) mr).map(sg, first, nents, sgOffset);
    }

    @Override
    public synchronized int deregMr(Mr mr, int cpu) {
        BusMr known = (BusMr) mr;
        if (known.windows > 0) {
            return -Errno.EINVAL;
        }
        local.remove(known.privateLkey >>> 8);
        remote.remove(known.privateRkey >>> 8);
        if (known.umem() != null) {
            umems.release(known.umem(), cpu);
        }
        return 0;
    }

    @Override
    public synchronized ErrPtr<Mw> allocMw(Pd pd, int type) {
        int index = 2 * REMOTE_INDEX + nextIndex++;
        BusMw mw = new BusMw(pd, type, index << 8 | 0x33);
        windows.put(index, mw);
        return ErrPtr.of(mw);
    }

    @Override
    public synchronized int deallocMw(Mw mw) {
        ((BusMw) mw).attach(null);
        windows.remove(mw.rkey() >>> 8);
        return 0;
    }

    // ---- keys

    private static boolean grants(BusMr mr, Pd pd, int access) {
        return mr.valid && mr.pd() == pd && (mr.access & access) == access;
    }

    @Override
    public synchronized @Nullable Region lookupLocal(Pd pd, int lkey, int access) {
        BusMr mr = local.get(lkey >>> 8);
        return mr != null && mr.privateLkey == lkey && grants(mr, pd, access) ? mr : null;
    }

    @Override
    public synchronized boolean lookupRemote(Qp qp, int rkey, int access, RemoteRef into) {
        BusMw mw = windows.get(rkey >>> 8);
        if (mw != null) {
            return mw.rkey() == rkey
                    && mw.pd() == qp.pd()
                    && (mw.isType1() || mw.qp == qp)
                    && mw.bound
                    && (mw.access & access) == access
                    && found(mw, into);
        }
        BusMr mr = remote.get(rkey >>> 8);
        if (mr == null || mr.privateRkey != rkey || !grants(mr, qp.pd(), access)) {
            return false;
        }
        into.set(mr, 0);
        return true;
    }

    @Override
    public synchronized boolean lookupAgain(int rkey, RemoteRef into) {
        BusMw mw = windows.get(rkey >>> 8);
        if (mw != null) {
            return mw.rkey() == rkey && mw.bound && found(mw, into);
        }
        BusMr mr = remote.get(rkey >>> 8);
        if (mr == null || mr.privateRkey != rkey || !mr.valid) {
            return false;
        }
        into.set(mr, 0);
        return true;
    }

    private static boolean found(BusMw mw, RemoteRef into) {
        into.set(Objects.requireNonNull(mw.mr), (mw.access & AccessFlags.ZERO_BASED) == 0 ? 0 : mw.addr);
        return true;
    }

    @Override
    public synchronized int registerFast(Qp qp, Mr mr, int key, int access) {
        BusMr known = (BusMr) mr;
        if (known.valid || known.pd() != qp.pd() || known.privateLkey >>> 8 != key >>> 8) {
            return -Errno.EINVAL;
        }
        known.use(key, access);
        return 0;
    }

    @Override
    public synchronized int invalidate(Qp qp, int key) {
        BusMw mw = windows.get(key >>> 8);
        if (mw != null) {
            if (mw.rkey() != key || mw.isType1() || !mw.bound) {
                return -Errno.EINVAL;
            }
            mw.attach(null);
            return 0;
        }
        boolean isRemote = remote.containsKey(key >>> 8);
        BusMr mr = isRemote ? remote.get(key >>> 8) : local.get(key >>> 8);
        if (mr == null
                || isRemote != ((mr.access & REMOTE) != 0)
                || key != (isRemote ? mr.privateRkey : mr.privateLkey)
                || mr.windows > 0
                || mr.type() != MrType.MEM_REG) {
            return -Errno.EINVAL;
        }
        mr.valid = false;
        return 0;
    }

    @Override
    public synchronized int bindWindow(
            Qp qp, int mwRkey, int newRkey, int mrLkey, long addr, long lengthBytes, int access) {
        BusMw mw = windows.get(mwRkey >>> 8);
        BusMr mr = lengthBytes == 0 ? null : local.get(mrLkey >>> 8);
        if (mw == null || mw.rkey() != mwRkey || (lengthBytes != 0 && (mr == null || mr.privateLkey != mrLkey))) {
            return -Errno.EINVAL;
        }
        if ((access & ~WINDOW_RIGHTS) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        boolean zeroBased = (access & AccessFlags.ZERO_BASED) != 0;
        if (mw.pd() != qp.pd()
                || (mw.isType1() ? zeroBased : mw.bound || mr == null)
                || (mr != null && !mayHold(mr, qp, addr, lengthBytes, access, zeroBased))) {
            return -Errno.EINVAL;
        }
        mw.attach(mr);
        mw.rekey(newRkey);
        mw.qp = qp;
        mw.access = access;
        mw.addr = addr;
        mw.length = lengthBytes;
        return 0;
    }

    private static boolean mayHold(BusMr mr, Qp qp, long addr, long length, int access, boolean zeroBased) {
        boolean changes = (access & (AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC)) != 0;
        boolean inside = zeroBased ? mr.checkRange(mr.iova(), length) == 0 : mr.checkRange(addr, length) == 0;
        return mr.pd() == qp.pd()
                && (mr.access & AccessFlags.MW_BIND) != 0
                && (!changes || (mr.access & AccessFlags.LOCAL_WRITE) != 0)
                && inside;
    }
}
