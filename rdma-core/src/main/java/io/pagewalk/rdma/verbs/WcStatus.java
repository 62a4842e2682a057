package io.pagewalk.rdma.verbs;

/** How a work request ended, with the numbers of the verbs (rdma:DP-1). */
public enum WcStatus {
    /** Done. */
    SUCCESS(0),
    /** A message did not fit; rxe never says so. */
    LOC_LEN_ERR(1),
    /** The queue pair could not do it. */
    LOC_QP_OP_ERR(2),
    /** A key or a range of this side is wrong. */
    LOC_PROT_ERR(4),
    /** The queue pair was in error. */
    WR_FLUSH_ERR(5),
    /** A window could not be bound. */
    MW_BIND_ERR(6),
    /** The peer's answer made no sense. */
    BAD_RESP_ERR(7),
    /** A protection error of a receive; rxe never says so. */
    LOC_ACCESS_ERR(8),
    /** The peer found the request invalid. */
    REM_INV_REQ_ERR(9),
    /** The peer's memory may not be reached so. */
    REM_ACCESS_ERR(10),
    /** The peer could not do it. */
    REM_OP_ERR(11),
    /** The peer did not answer. */
    RETRY_EXC_ERR(12),
    /** The peer had no receive posted. */
    RNR_RETRY_EXC_ERR(13),
    /** The queue pair is broken. */
    FATAL_ERR(19),
    /** Something else. */
    GENERAL_ERR(21);

    private final int value;

    WcStatus(int value) {
        this.value = value;
    }

    /**
     * The number.
     *
     * @return as in the verbs
     */
    public int value() {
        return value;
    }
}
