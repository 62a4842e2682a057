package io.pagewalk.rdma;

/** What a re-registration changes: bits with the values of the verbs (rdma:UV-2). */
public final class ReregFlags {
    /** Where the region lies: address, length and device address. */
    public static final int TRANS = 0x1;

    /** The protection domain it belongs to. */
    public static final int PD = 0x2;

    /** Its rights. */
    public static final int ACCESS = 0x4;

    private ReregFlags() {}
}
