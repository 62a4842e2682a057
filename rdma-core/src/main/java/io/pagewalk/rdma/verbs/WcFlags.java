package io.pagewalk.rdma.verbs;

/** Flags of a completion, as bits with the values of the verbs (rdma:DP-32). */
public final class WcFlags {
    /** A global routing header came along; always so on rxe. */
    public static final int GRH = 0x1;

    /** The immediate is valid. */
    public static final int WITH_IMM = 0x2;

    /** The invalidated key is valid. */
    public static final int WITH_INVALIDATE = 0x8;

    private WcFlags() {}
}
