package io.pagewalk.rdma.model;

import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import org.jspecify.annotations.Nullable;

/** A window of {@link BusProvider}. */
final class BusMw extends Mw {
    @Nullable BusMr mr;

    @Nullable Qp qp;

    int access;
    long addr;
    long length;
    boolean bound;

    BusMw(Pd pd, int type, int key) {
        super(pd, type);
        setRkey(key);
    }

    boolean isType1() {
        return type() == TYPE_1;
    }

    void rekey(int key) {
        setRkey((rkey() & ~0xff) | (key & 0xff));
    }

    void attach(@Nullable BusMr next) {
        if (mr != null) {
            mr.windows--;
        }
        if (next != null) {
            next.windows++;
        }
        mr = next;
        bound = next != null;
    }
}
