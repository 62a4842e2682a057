package io.pagewalk.rdma.verbs;

/** What a completion is of, with the numbers of the verbs (rdma:DP-31, DP-32). */
public enum WcOpcode {
    /** A send. */
    SEND(0),
    /** A write. */
    RDMA_WRITE(1),
    /** A read. */
    RDMA_READ(2),
    /** A compare and swap. */
    COMP_SWAP(3),
    /** An addition. */
    FETCH_ADD(4),
    /** A window bound. */
    BIND_MW(5),
    /** A key taken out of use. */
    LOCAL_INV(6),
    /** A fast registration; user space does not know it. */
    REG_MR(0x20),
    /** A message received. */
    RECV(0x80),
    /** A write with immediate received. */
    RECV_RDMA_WITH_IMM(0x81);

    private final int value;

    WcOpcode(int value) {
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
