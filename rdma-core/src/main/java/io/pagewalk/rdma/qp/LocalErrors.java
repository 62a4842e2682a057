package io.pagewalk.rdma.qp;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WrOpcode;

/** What a request that fails on its own side completes with (rdma:DP-9 to DP-11). */
public enum LocalErrors {
    /** Linux 6.12: the queue pair is in error before the completion is made, so that it is flushed like the rest. */
    FLUSHED,
    /** What a reader of the verbs expects: the cause. */
    CAUSE,
    /** A 5.x kernel: the cause, which is one and the same for all that is wrong with a source. */
    CAUSE_OF_LINUX_5;

    /** The cause of a failure (rdma:DP-9). */
    WcStatus cause(WrOpcode opcode, int error) {
        if (opcode == WrOpcode.BIND_MW) {
            return WcStatus.MW_BIND_ERR;
        }
        if (this == CAUSE_OF_LINUX_5) {
            return causeOfLinux5(opcode);
        }
        return error == -Errno.EFAULT ? WcStatus.LOC_PROT_ERR : WcStatus.LOC_QP_OP_ERR;
    }

    /** One cause for all that fills a packet; what has no packet, or none on the wire, keeps its own (rdma:DP-6). */
    private static WcStatus causeOfLinux5(WrOpcode opcode) {
        return switch (opcode) {
            case LOCAL_INV -> WcStatus.MW_BIND_ERR;
            case REG_MR, REG_MR_INTEGRITY, RDMA_READ_WITH_INV -> WcStatus.LOC_QP_OP_ERR;
            default -> WcStatus.LOC_PROT_ERR;
        };
    }
}
