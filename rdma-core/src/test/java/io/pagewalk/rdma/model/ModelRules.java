package io.pagewalk.rdma.model;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WrOpcode;

/** Whose rules the model follows. */
enum ModelRules {
    /** rxe of Linux 6.12, whose local failures are flushed (rdma:DP-10). */
    RXE,
    /** rxe of Linux 6.12 with the causes of local failures. */
    RXE_IDEAL,
    /** An adapter that checks like rxe of Linux 6.12 but whose regions have two keys. */
    TWO_KEYS,
    /** An adapter whose key 0 is all memory, so that no program may name it. */
    STAGS,
    /** rxe of 5.2 (rdma:RXE-8, RXE-9, RXE-29, RXE-34, RXE-41, RXE-43, DP-9, DP-11). */
    RXE_5;

    boolean isFirst() {
        return this == RXE_5;
    }

    boolean hasTwoKeys() {
        return this == TWO_KEYS;
    }

    /** What a key or range that does not fit gives (rdma:RXE-29, RXE-35). */
    int rangeError() {
        return isFirst() ? -Errno.EFAULT : -Errno.EINVAL;
    }

    /** What a request that has no form on the wire is delivered with (rdma:DP-6, DP-10). */
    WcStatus noWireOpcode() {
        return this == RXE ? WcStatus.WR_FLUSH_ERR : WcStatus.LOC_QP_OP_ERR;
    }

    /** What a request that failed on its own side is delivered with (rdma:DP-9 to DP-11). */
    WcStatus localFailure(WrOpcode opcode, int error) {
        if (this == RXE) {
            return WcStatus.WR_FLUSH_ERR;
        }
        if (opcode == WrOpcode.BIND_MW) {
            return WcStatus.MW_BIND_ERR;
        }
        if (isFirst()) {
            return opcode == WrOpcode.LOCAL_INV ? WcStatus.MW_BIND_ERR : WcStatus.LOC_PROT_ERR;
        }
        return error == -Errno.EFAULT ? WcStatus.LOC_PROT_ERR : WcStatus.LOC_QP_OP_ERR;
    }
}
