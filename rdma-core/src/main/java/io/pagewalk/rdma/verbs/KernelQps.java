package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;

/**
 * What is done for queue pairs before and after the provider's part: uses are counted, and one of the kernel's gets
 * regions for rdma_rw. Implements rdma:RW-1 to RW-4, POOL-6, PD-5.
 */
final class KernelQps {
    /*
     * A queue pair that will run contexts first gets room for their work requests; when it stands, its pools are filled:
     * as many regions as contexts, and with signatures as many again that have them. Where no transfer can need a region
     * the pools stay empty. What fails takes the queue pair with it, which takes its pools along.
     */

    private final VerbsDevice device;
    private final RwRules rules;
    private final KernelLog log;
    private final KernelLog.Site leak;

    KernelQps(VerbsDevice device, RwRules rules) {
        this.device = device;
        this.rules = rules;
        log = device.machine().log();
        leak = log.site("ib_destroy_qp");
    }

    /** {@code ib_create_qp} (rdma:RW-1). */
    ErrPtr<Qp> create(Pd pd, QpInit init) {
        QpInit prepared = prepare(pd, init);
        ErrPtr<Qp> made = device.provider().createQp(pd, prepared);
        if (made.isErr()) {
            tellOfExcess(pd, prepared, made.error());
            return made;
        }
        Qp qp = made.value();
        pd.use();
        init.sendCq().use();
        init.recvCq().use();
        qp.setTracked(device.restrack().add(Restrack.Kind.QP, pd.owner(), () -> 0));
        int error = finish(qp);
        if (error != 0) {
            destroy(qp);
            return ErrPtr.err(error);
        }
        return made;
    }

    /** The kernel answers -EINVAL for several limits; which one it was stands in the log. */
    private void tellOfExcess(Pd pd, QpInit init, int error) {
        String excess = init.excessOver(device.attributes());
        if (excess != null) {
            String answer = "a queue pair in " + pd + " is refused: " + Errno.name(error);
            log.message("ib_create_qp", answer + ", as it asks for " + excess);
        }
    }

    /** {@code ib_destroy_qp}. */
    int destroy(Qp qp) {
        int error = beforeDestroy(qp);
        if (error == 0) {
            error = device.provider().destroyQp(qp);
        }
        if (error == 0) {
            qp.markDestroyed();
            device.untrack(qp.tracked());
            qp.init().sendCq().unuse();
            qp.init().recvCq().unuse();
            qp.pd().unuse();
        }
        return error;
    }

    /** {@code rdma_rw_init_qp} (rdma:RW-3). */
    private QpInit prepare(Pd pd, QpInit init) {
        RwInit rw = init.rw();
        if (rw.maxRdmaCtxs() == 0) {
            return init;
        }
        if (pd.owner().pid() != 0) {
            throw new IllegalArgumentException(
                    rw.maxRdmaCtxs() + " contexts of rdma_rw for " + pd.owner() + ": they are the kernel's alone");
        }
        if (rw.portNum() == 0) {
            log.warn("rdma_rw_init_qp", "a queue pair for " + rw.maxRdmaCtxs() + " contexts has no port (rdma:RW-3)");
        }
        return rules.withRoom(init);
    }

    /** {@code rdma_rw_init_mrs}, and what the core notes of a queue pair (rdma:RW-1, RW-4). */
    private int finish(Qp qp) {
        RwInit rw = qp.init().rw();
        int error = rw.maxRdmaCtxs() == 0 ? 0 : initMrs(qp, rw);
        if (error != 0) {
            return error;
        }
        qp.setLimits(
                qp.init().maxSge(),
                Math.min(qp.init().maxSge(), device.attributes().maxSgeRd()));
        return 0;
    }

    private int initMrs(Qp qp, RwInit rw) {
        boolean integrity = rw.hasIntegrity();
        if (!integrity && !rules.canUseMr(rw.portNum())) {
            return 0;
        }
        int count = rw.maxRdmaCtxs();
        int pages = rules.pageListLen(integrity);
        int error = qp.rdmaMrs().init(count, MrType.MEM_REG, pages, 0);
        if (error != 0) {
            log.message("rdma_rw_init_mrs", "failed to allocate " + count + " MRs: " + Errno.name(-error));
            return error;
        }
        error = integrity ? qp.sigMrs().init(count, MrType.INTEGRITY, pages, pages) : 0;
        if (error != 0) {
            log.message("rdma_rw_init_mrs", "failed to allocate " + count + " SIG MRs: " + Errno.name(-error));
            qp.rdmaMrs().destroy();
        }
        return error;
    }

    /** What stands before the provider's part of a destruction: 0, or -EBUSY with nothing changed (rdma:POOL-6). */
    private int beforeDestroy(Qp qp) {
        int used = qp.mrsUsed();
        if (used > 0) {
            leak.warnOnce(() -> qp + " is destroyed while " + used + " regions of its pools are out (rdma:POOL-6)");
        }
        if (qp.useCount() != 0) {
            return -Errno.EBUSY;
        }
        qp.sigMrs().destroy();
        qp.rdmaMrs().destroy();
        return 0;
    }
}
