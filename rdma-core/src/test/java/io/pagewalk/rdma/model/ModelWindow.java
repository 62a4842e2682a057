package io.pagewalk.rdma.model;

import io.pagewalk.rdma.verbs.Mw;
import org.jspecify.annotations.Nullable;

/** A window as the specification has it. */
final class ModelWindow {
    final Mw mw;
    final int index;
    final int pd;
    int rkey;
    int access;
    long addr;
    long length;
    boolean valid;

    @Nullable ModelRegion region;

    @Nullable ModelQp qp;

    ModelWindow(Mw mw, int pd) {
        this.mw = mw;
        this.pd = pd;
        index = mw.rkey() >>> 8;
        rkey = mw.rkey();
        valid = isType1();
    }

    boolean isType1() {
        return mw.type() == Mw.TYPE_1;
    }

    void attach(@Nullable ModelRegion next) {
        if (region != null) {
            region.windows--;
        }
        if (next != null) {
            next.windows++;
        }
        region = next;
    }

    /** rdma:RXE-49. */
    void free() {
        attach(null);
        qp = null;
        access = 0;
        addr = 0;
        length = 0;
        valid = false;
    }
}
