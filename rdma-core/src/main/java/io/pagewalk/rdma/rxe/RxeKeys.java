package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one rxe device: what they lead to, and what work requests do to them.
 *
 * <p>Implements rdma:RXE-5, RXE-6, RXE-34, RXE-40 to RXE-44, RXE-46 to RXE-51. Lookups take no lock and allocate
 * nothing. What changes keys holds one lock of the device's, below which no other is taken but a pool's.
 */
final class RxeKeys implements MemoryRegions {
    private static final int KEY_BYTE_BITS = 8;
    private static final int KEY_BYTE = 0xff;
    private static final int REMOTE_WRITES = AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;

    /** A bit that no number reaches: what an rkey has more than its lkey when both shall differ (case H7). */
    static final int DISTINCT = 1 << 31;

    /** Rights that a window may have (rdma:RXE-13). */
    private static final int MW_ACCESS = RxeDevice.ACCESS_SUPPORTED | AccessFlags.ZERO_BASED;

    private final KeyListener listener;
    private final boolean first;
    private final boolean distinct;
    private final IndexTable<RxeMr> mrs;
    private final IndexTable<RxeMw> mws;
    private final RxePool mwPool;
    private final Object lock = new Object();

    RxeKeys(RxeDevice device, RxeLimits limits, RxePool mwPool, RxeConfig config) {
        this.mwPool = mwPool;
        listener = config.keyListener();
        first = device.isFirst();
        distinct = config.distinctKeys();
        mrs = new IndexTable<>(1, limits.lastMr());
        mws = new IndexTable<>(limits.firstMw(), limits.lastMw());
    }

    /** Guards what keys lead to. */
    Object lock() {
        return lock;
    }

    int rkeyOf(int key) {
        return distinct ? key | DISTINCT : key;
    }

    /** The number that a key begins with. */
    private int indexOf(int key) {
        return (distinct ? key & ~DISTINCT : key) >>> KEY_BYTE_BITS;
    }

    void publish(RxeMr mr) {
        mrs.put(mr.index(), mr);
    }

    void publish(RxeMw mw) {
        mws.put(mw.index(), mw);
    }

    void forget(RxeMr mr) {
        mrs.remove(mr.index());
        listener.keyGone(mr.index(), mr.privateLkey());
    }

    void forget(RxeMw mw) {
        mws.remove(mw.index());
        listener.keyGone(mw.index(), mw.rkey());
    }

    // ---- lookups

    @Override
    public @Nullable Region lookupLocal(Pd pd, int lkey, int access) {
        RxeMr mr = mrs.get(lkey >>> KEY_BYTE_BITS);
        if (mr == null || !mr.tryGet()) {
            return null;
        }
        if (mr.privateLkey() == lkey && fits(mr, pd, access)) {
            return mr;
        }
        mr.put();
        return null;
    }

    private boolean fits(RxeMr mr, Pd pd, int access) {
        return mr.pd() == pd && allows(mr.access(), access) && mr.isValid();
    }

    /** All rights that are asked for; in a 5.x kernel any of them (rdma:RXE-34, QRK-9). */
    private boolean allows(int granted, int asked) {
        return first ? asked == 0 || (asked & granted) != 0 : (asked & granted) == asked;
    }

    @Override
    public boolean lookupRemote(Qp qp, int rkey, int access, RemoteRef into) {
        int index = indexOf(rkey);
        return mwPool.covers(index)
                ? lookupWindow(qp, mws.get(index), rkey, access, into)
                : lookupRegion(qp.pd(), mrs.get(index), rkey, access, into);
    }

    private boolean lookupRegion(Pd pd, @Nullable RxeMr mr, int rkey, int access, RemoteRef into) {
        if (mr == null || !mr.tryGet()) {
            return false;
        }
        if (mr.privateRkey() == rkey && fits(mr, pd, access)) {
            into.set(mr, 0);
            return true;
        }
        mr.put();
        return false;
    }

    /** Through a window: its own rights count, and the region's bounds (rdma:RXE-50, RXE-51). */
    private boolean lookupWindow(Qp qp, @Nullable RxeMw mw, int rkey, int access, RemoteRef into) {
        if (mw == null || mw.rkey() != rkey || mw.pd() != qp.pd() || (mw.type() == Mw.TYPE_2 && mw.qp() != qp)) {
            return false;
        }
        RxeMr mr = mw.mr();
        if (mw.lengthBytes() == 0 || !allows(mw.access(), access) || !mw.isValid() || mr == null || !mr.tryGet()) {
            return false;
        }
        into.set(mr, (mw.access() & AccessFlags.ZERO_BASED) != 0 ? mw.addr() : 0);
        return true;
    }

    @Override
    public boolean lookupAgain(int rkey, RemoteRef into) {
        int index = indexOf(rkey);
        return mwPool.covers(index) ? windowAgain(mws.get(index), rkey, into) : regionAgain(mrs.get(index), rkey, into);
    }

    private static boolean regionAgain(@Nullable RxeMr mr, int rkey, RemoteRef into) {
        if (mr == null || !mr.tryGet()) {
            return false;
        }
        if (mr.privateRkey() == rkey && mr.isValid()) {
            into.set(mr, 0);
            return true;
        }
        mr.put();
        return false;
    }

    private static boolean windowAgain(@Nullable RxeMw mw, int rkey, RemoteRef into) {
        if (mw == null || mw.rkey() != rkey || !mw.isValid()) {
            return false;
        }
        RxeMr mr = mw.mr();
        if (mr == null || !mr.tryGet()) {
            return false;
        }
        into.set(mr, (mw.access() & AccessFlags.ZERO_BASED) != 0 ? mw.addr() : 0);
        return true;
    }

    // ---- fast registration

    @Override
    public int registerFast(Qp qp, Mr mr, int key, int access) {
        if (!(mr instanceof RxeMr region) || region.pd().device() != qp.pd().device() || region.isDestroyed()) {
            return -Errno.EINVAL;
        }
        int plain = distinct ? key & ~DISTINCT : key;
        synchronized (lock) {
            if (!first && refusesRegistration(region, qp, plain)) {
                return -Errno.EINVAL;
            }
            int old = region.privateLkey();
            boolean seen = region.register(plain, access);
            if (old != plain) {
                listener.keyRotated(region.index(), old, plain, seen);
            }
        }
        return 0;
    }

    /** rdma:RXE-40, in its order. */
    private static boolean refusesRegistration(RxeMr mr, Qp qp, int key) {
        return !mr.isFree() || mr.pd() != qp.pd() || (key ^ mr.privateLkey()) >>> KEY_BYTE_BITS != 0;
    }

    // ---- invalidation

    @Override
    public int invalidate(Qp qp, int key) {
        int index = indexOf(key);
        synchronized (lock) {
            return mwPool.covers(index) ? invalidateWindow(mws.get(index), key) : invalidateRegion(mrs.get(index), key);
        }
    }

    /** rdma:RXE-42, in its order; RXE-43. */
    private int invalidateRegion(@Nullable RxeMr mr, int key) {
        if (mr == null) {
            return -Errno.EINVAL;
        }
        if (!first && refusesInvalidation(mr, key)) {
            return -Errno.EINVAL;
        }
        mr.setState(RxeMr.FREE);
        return 0;
    }

    private static boolean refusesInvalidation(RxeMr mr, int key) {
        int own = mr.hasRemoteAccess() ? mr.privateRkey() : mr.privateLkey();
        return key != own || mr.boundWindows() > 0 || mr.type() != MrType.MEM_REG;
    }

    /** rdma:RXE-49. */
    private static int invalidateWindow(@Nullable RxeMw mw, int key) {
        if (mw == null || mw.rkey() != key || mw.type() == Mw.TYPE_1) {
            return -Errno.EINVAL;
        }
        if (mw.mr() == null) {
            throw new KernelBugException("null pointer: " + mw + " is invalidated and bound to nothing (rdma:RXE-49)");
        }
        mw.invalidate();
        return 0;
    }

    // ---- windows

    @Override
    public int bindWindow(Qp qp, int mwRkey, int newRkey, int mrLkey, long addr, long lengthBytes, int access) {
        synchronized (lock) {
            RxeMw mw = mws.get(indexOf(mwRkey));
            if (mw == null || mw.rkey() != mwRkey) {
                return -Errno.EINVAL;
            }
            RxeMr mr = lengthBytes == 0 ? null : mrs.get(mrLkey >>> KEY_BYTE_BITS);
            if (lengthBytes != 0 && (mr == null || mr.privateLkey() != mrLkey)) {
                return -Errno.EINVAL;
            }
            if ((access & ~MW_ACCESS) != 0) {
                return -Errno.EOPNOTSUPP;
            }
            if (refusesBind(qp, mw, mr, addr, lengthBytes, access)) {
                return -Errno.EINVAL;
            }
            int old = mw.rkey();
            int key = (old & ~KEY_BYTE) | (newRkey & KEY_BYTE);
            mw.bind(mr, mw.type() == Mw.TYPE_2 ? qp : null, key, access, addr, lengthBytes);
            listener.keyRotated(mw.index(), old, key, false);
            return 0;
        }
    }

    /** rdma:RXE-47. */
    private static boolean refusesBind(Qp qp, RxeMw mw, @Nullable RxeMr mr, long addr, long length, int access) {
        if (mw.type() == Mw.TYPE_1) {
            if (!mw.isValid() || (access & AccessFlags.ZERO_BASED) != 0) {
                return true;
            }
        } else if (mw.isValid() || mr == null) {
            return true;
        }
        return qp.pd() != mw.pd() || (mr != null && refusesRegion(qp, mr, addr, length, access));
    }

    private static boolean refusesRegion(Qp qp, RxeMr mr, long addr, long length, int access) {
        boolean writesUnwritable = (access & REMOTE_WRITES) != 0 && (mr.access() & AccessFlags.LOCAL_WRITE) == 0;
        return qp.pd() != mr.pd()
                || (mr.access() & AccessFlags.ZERO_BASED) != 0
                || (mr.access() & AccessFlags.MW_BIND) == 0
                || writesUnwritable
                || isOutside(mr, addr, length, (access & AccessFlags.ZERO_BASED) != 0);
    }

    /** The sums may wrap. */
    private static boolean isOutside(RxeMr mr, long addr, long length, boolean zeroBased) {
        if (zeroBased) {
            return Addresses.lessThan(mr.lengthBytes(), length);
        }
        return Addresses.lessThan(addr, mr.iova()) || Addresses.lessThan(mr.iova() + mr.lengthBytes(), addr + length);
    }

    // ---- destruction

    /** Whether a region may go; takes it out of sight if so (rdma:RXE-22). */
    int retire(RxeMr mr) {
        synchronized (lock) {
            if (!first && mr.boundWindows() > 0) {
                return -Errno.EINVAL;
            }
            forget(mr);
            mr.setState(first ? RxeMr.ZOMBIE : RxeMr.INVALID);
            return 0;
        }
    }

    void retire(RxeMw mw) {
        synchronized (lock) {
            forget(mw);
            mw.detach();
        }
    }
}
