package io.pagewalk.rdma.rxe;

import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import org.jspecify.annotations.Nullable;

/** A window of rxe: what it is bound to. Changed under the device's lock of keys, read without. */
public final class RxeMw extends Mw {
    private final int index;
    private volatile @Nullable RxeMr mr;
    private volatile @Nullable Qp qp;
    private volatile int access;
    private volatile long addr;
    private volatile long lengthBytes;
    private volatile boolean valid;

    RxeMw(Pd pd, int type, int index, int key) {
        super(pd, type);
        this.index = index;
        valid = type == TYPE_1;
        setRkey(key);
    }

    /**
     * Its number in the pool: what its key begins with.
     *
     * @return above those of regions
     */
    public int index() {
        return index;
    }

    /**
     * What it is bound to.
     *
     * @return the region, or null
     */
    public @Nullable RxeMr mr() {
        return mr;
    }

    /**
     * Which queue pair may use it.
     *
     * @return the one that bound it, for type 2; else null
     */
    public @Nullable Qp qp() {
        return qp;
    }

    /**
     * What it allows.
     *
     * @return bits of {@link io.pagewalk.rdma.AccessFlags}
     */
    public int access() {
        return access;
    }

    /**
     * Where it begins.
     *
     * @return the address it was bound with
     */
    public long addr() {
        return addr;
    }

    /**
     * How long it is; accesses are held to the region and not to this (rdma:RXE-51).
     *
     * @return bytes, unsigned
     */
    public long lengthBytes() {
        return lengthBytes;
    }

    /**
     * Whether it is in use: type 1 always, type 2 while it is bound.
     *
     * @return true in the state VALID
     */
    public boolean isValid() {
        return valid;
    }

    /** Binds it (rdma:RXE-48). */
    void bind(@Nullable RxeMr newMr, @Nullable Qp newQp, int key, int newAccess, long newAddr, long newLength) {
        setRkey(key);
        access = newAccess;
        addr = newAddr;
        lengthBytes = newLength;
        swapMr(newMr);
        qp = newQp;
        valid = true;
    }

    /** Takes it out of use (rdma:RXE-49). */
    void invalidate() {
        valid = false;
        swapMr(null);
        qp = null;
        access = 0;
        addr = 0;
        lengthBytes = 0;
    }

    /** Lets go of everything (rdma:RXE-52). */
    void detach() {
        valid = false;
        swapMr(null);
        qp = null;
    }

    private void swapMr(@Nullable RxeMr newMr) {
        RxeMr old = mr;
        if (old != null) {
            old.changeWindows(-1);
        }
        mr = newMr;
        if (newMr != null) {
            newMr.changeWindows(1);
        }
    }
}
