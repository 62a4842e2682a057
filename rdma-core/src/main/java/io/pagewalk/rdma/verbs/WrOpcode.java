package io.pagewalk.rdma.verbs;

/** What a work request asks for, with the numbers of the verbs (rdma:DP-2). */
public enum WrOpcode {
    /** Write to the peer's memory. */
    RDMA_WRITE(0, WcOpcode.RDMA_WRITE),
    /** Write to the peer's memory, and complete a receive with four bytes. */
    RDMA_WRITE_WITH_IMM(1, WcOpcode.RDMA_WRITE),
    /** Send a message to a posted receive. */
    SEND(2, WcOpcode.SEND),
    /** Send a message with four bytes for the completion. */
    SEND_WITH_IMM(3, WcOpcode.SEND),
    /** Read the peer's memory. */
    RDMA_READ(4, WcOpcode.RDMA_READ),
    /** Compare eight bytes of the peer's memory and swap them. */
    ATOMIC_CMP_AND_SWP(5, WcOpcode.COMP_SWAP),
    /** Add to eight bytes of the peer's memory. */
    ATOMIC_FETCH_AND_ADD(6, WcOpcode.FETCH_ADD),
    /** Take a key out of use. */
    LOCAL_INV(7, WcOpcode.LOCAL_INV),
    /** Bind a window. */
    BIND_MW(8, WcOpcode.BIND_MW),
    /** Send a message, after which the peer takes a key out of use. */
    SEND_WITH_INV(9, WcOpcode.SEND),
    /** Read and take a key of this side out of use; rxe has no form on the wire for it (rdma:DP-6). */
    RDMA_READ_WITH_INV(11, WcOpcode.RDMA_READ),
    /** Fast registration: puts a mapped region to use under a key. */
    REG_MR(0x20, WcOpcode.REG_MR),
    /** Fast registration of a region with signatures, which only devices with such regions know. */
    REG_MR_INTEGRITY(0x21, WcOpcode.REG_MR);

    private final int value;
    private final WcOpcode completion;

    WrOpcode(int value, WcOpcode completion) {
        this.value = value;
        this.completion = completion;
    }

    /**
     * The number.
     *
     * @return as in the verbs
     */
    public int value() {
        return value;
    }

    /**
     * What a completion calls it (rdma:DP-32).
     *
     * @return the completion's opcode
     */
    public WcOpcode completion() {
        return completion;
    }

    /**
     * Whether the peer's receive queue is asked for the message's place.
     *
     * @return true for the sends
     */
    public boolean isSend() {
        return this == SEND || this == SEND_WITH_IMM || this == SEND_WITH_INV;
    }

    /**
     * Whether the peer's memory is written.
     *
     * @return true for the writes
     */
    public boolean isWrite() {
        return this == RDMA_WRITE || this == RDMA_WRITE_WITH_IMM;
    }

    /**
     * Whether eight bytes are exchanged.
     *
     * @return true for the atomics
     */
    public boolean isAtomic() {
        return this == ATOMIC_CMP_AND_SWP || this == ATOMIC_FETCH_AND_ADD;
    }

    /**
     * Whether four bytes go to the peer's completion.
     *
     * @return true for those with immediate
     */
    public boolean hasImmediate() {
        return this == SEND_WITH_IMM || this == RDMA_WRITE_WITH_IMM;
    }

    /**
     * Whether it is done here, without the peer (rdma:DP-8).
     *
     * @return true for key operations
     */
    public boolean isLocal() {
        return this == LOCAL_INV || this == BIND_MW || this == REG_MR || this == REG_MR_INTEGRITY;
    }
}
