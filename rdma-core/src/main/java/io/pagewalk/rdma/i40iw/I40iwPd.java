package io.pagewalk.rdma.i40iw;

import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.concurrent.atomic.AtomicInteger;

/** A domain, with the uses that the driver of i40iw counts beside the core's (rdma:IRD-1, IRD-2). Thread-safe. */
public final class I40iwPd extends Pd {
    private final AtomicInteger driverUses = new AtomicInteger();

    I40iwPd(VerbsDevice device, Owner owner) {
        super(device, owner);
    }

    /**
     * How many fast regions the driver of i40iw has counted here.
     *
     * @return regions; 0 under irdma
     */
    public int driverUses() {
        return driverUses.get();
    }

    void driverUse() {
        driverUses.incrementAndGet();
    }

    void driverUnuse() {
        driverUses.decrementAndGet();
    }
}
