package io.pagewalk.rdma.verbs;

/** States of a queue pair, as far as the data path needs them. */
public enum QpState {
    /** Nothing can be posted. */
    RESET,
    /** Receives can be posted. */
    INIT,
    /** Ready to receive. */
    RTR,
    /** Ready to send as well. */
    RTS,
    /** Everything posted is flushed. */
    ERR;

    /**
     * {@code ib_modify_qp_is_ok}, as far as there are states.
     *
     * @param next the wanted state
     * @return whether a queue pair may go there from here
     */
    public boolean mayBecome(QpState next) {
        return switch (next) {
            case RESET, ERR -> true;
            case INIT -> this == RESET || this == INIT;
            case RTR -> this == INIT;
            case RTS -> this == RTR || this == RTS;
        };
    }

    /**
     * Whether it answers its peer.
     *
     * @return true when it is ready to receive
     */
    public boolean receives() {
        return this == RTR || this == RTS;
    }
}
