package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.WcStatus;

/** What the responder answers to a packet, with the numbers of the wire (rdma:DP-3). */
final class Syndrome {
    static final int NO_ANSWER = 0;
    static final int ACK = 0x1f;
    static final int RNR_NAK = 0x20;
    static final int INVALID_REQUEST = 0x61;
    static final int REMOTE_ACCESS = 0x62;
    static final int REMOTE_OPERATIONAL = 0x63;

    private Syndrome() {}

    /** What the requester's completion says (rdma:DP-14). */
    static WcStatus atRequester(int nak) {
        return switch (nak) {
            case INVALID_REQUEST -> WcStatus.REM_INV_REQ_ERR;
            case REMOTE_ACCESS -> WcStatus.REM_ACCESS_ERR;
            default -> WcStatus.REM_OP_ERR;
        };
    }

    /** What a receive that was taken completes with (rdma:DP-29). */
    static WcStatus atResponder(int nak) {
        return switch (nak) {
            case INVALID_REQUEST -> WcStatus.REM_INV_REQ_ERR;
            case REMOTE_ACCESS -> WcStatus.REM_ACCESS_ERR;
            default -> WcStatus.LOC_QP_OP_ERR;
        };
    }
}
