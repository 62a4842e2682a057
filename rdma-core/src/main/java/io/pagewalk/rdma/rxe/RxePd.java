package io.pagewalk.rdma.rxe;

import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.VerbsDevice;

/** A domain of rxe, which is a number in a pool. */
final class RxePd extends Pd {
    private final int index;

    RxePd(VerbsDevice device, Owner owner, int index) {
        super(device, owner);
        this.index = index;
    }

    int index() {
        return index;
    }
}
