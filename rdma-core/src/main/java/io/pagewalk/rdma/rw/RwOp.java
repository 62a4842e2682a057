package io.pagewalk.rdma.rw;

import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WrOpcode;
import org.jspecify.annotations.Nullable;

/** One operation of a transfer: its work request, and with a region those that prepare it. Reused. Not thread-safe. */
final class RwOp {
    final SendWr inv = new SendWr();
    final SendWr reg = new SendWr();
    final SendWr rdma = new SendWr();

    @Nullable Mr mr;

    private boolean invalidates;

    /** Begins anew; with a region that was used before, by an invalidation of its present key (rdma:RW-17). */
    void begin(@Nullable Mr region) {
        mr = region;
        invalidates = region != null && region.needsInvalidation();
        if (region != null && invalidates) {
            inv.localInv(0, region.lkey()).then(reg);
        }
    }

    /** How many places of the send queue it takes. */
    int workRequests() {
        if (mr == null) {
            return 1;
        }
        return invalidates ? 3 : 2;
    }

    SendWr first() {
        if (mr == null) {
            return rdma;
        }
        return invalidates ? inv : reg;
    }

    /** The region gets its next key, by which the registration and the transfer name it from now on (rdma:RW-18). */
    void rotateKey() {
        Mr region = mr;
        if (region == null) {
            return;
        }
        region.setNeedsInvalidation(rdma.opcode() != WrOpcode.RDMA_READ_WITH_INV);
        FastReg.updateFastRegKey(region, FastReg.incRkey(region.lkey()));
        reg.regMr(0, region, region.lkey(), reg.access()).then(rdma);
        rdma.segments().setLkey(0, region.lkey());
    }
}
