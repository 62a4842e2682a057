package io.pagewalk.rdma.model;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;

/** A region as the specification has it: keys, rights and state over a byte array. */
final class ModelRegion {
    final Mr mr;
    final int index;
    final int remoteIndex;
    final MrType type;
    int pd;
    /** The keys that lookups compare, which the public ones may be ahead of (rdma:RXE-11). */
    int lkey;

    int rkey;
    int access;
    boolean valid;
    int windows;
    long iova;
    long length;
    /** What lies behind it, and where in that the region begins. */
    byte[] bytes;

    int first;

    ModelRegion(ModelRules rules, Mr mr, int pd, byte[] bytes) {
        this.mr = mr;
        this.index = mr.lkey() >>> 8;
        this.remoteIndex = rules.hasTwoKeys() ? mr.rkey() >>> 8 : index;
        this.type = mr.type();
        this.pd = pd;
        this.bytes = bytes;
        lkey = mr.lkey();
        rkey = mr.rkey();
    }

    void place(long newIova, long newLength, int newFirst) {
        iova = newIova;
        length = newLength;
        first = newFirst;
    }

    /** rdma:RXE-29 and RXE-30. */
    boolean holds(long addr, long size) {
        return Long.compareUnsigned(addr, iova) >= 0
                && Long.compareUnsigned(size, length) <= 0
                && Long.compareUnsigned(addr - iova, length - size) <= 0;
    }

    int write(ModelRules rules, long addr, byte[] src, int from, int size) {
        if (!holds(addr, size)) {
            return rules.rangeError();
        }
        System.arraycopy(src, from, bytes, at(addr), size);
        return 0;
    }

    int read(ModelRules rules, long addr, byte[] dst, int to, int size) {
        if (!holds(addr, size)) {
            return rules.rangeError();
        }
        System.arraycopy(bytes, at(addr), dst, to, size);
        return 0;
    }

    int at(long addr) {
        return first + (int) (addr - iova);
    }

    /** rdma:RXE-40 and RXE-41. */
    int fastRegister(ModelRules rules, int pdOfQp, int key, int newAccess) {
        if (!rules.isFirst() && (type != MrType.MEM_REG || valid || pd != pdOfQp || key >>> 8 != lkey >>> 8)) {
            return -Errno.EINVAL;
        }
        access = newAccess;
        lkey = key;
        rkey = rules.hasTwoKeys() ? (rkey & ~0xff) | (key & 0xff) : key;
        valid = true;
        return 0;
    }
}
