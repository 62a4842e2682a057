package io.pagewalk.rdma.verbs;

/** Flags of a work request, as bits with the values of the verbs. */
public final class SendFlags {
    /** Wait for reads and atomics before it; here they are done already when it begins. */
    public static final int FENCE = 0x1;

    /** Make a completion on success too. */
    public static final int SIGNALED = 0x2;

    /** Ask the peer to be woken. */
    public static final int SOLICITED = 0x4;

    /** The bytes are in the work request; no key is looked at (rdma:DP-5). */
    public static final int INLINE = 0x8;

    private SendFlags() {}
}
