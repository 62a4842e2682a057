package io.pagewalk.rdma.i40iw;

import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;

/** A window of irdma: a stag of its own. */
final class I40iwMw extends Mw {
    I40iwMw(Pd pd, int type, int stag) {
        super(pd, type);
        setRkey(stag);
    }
}
