package io.pagewalk.rdma.i40iw;

/** Which of the two drivers a device has: they share their tables and differ in some rules. */
public enum Generation {
    /** X722 under {@code i40iw}. */
    I40IW,
    /** X722 and its successors under {@code irdma} of Linux 6.12. */
    IRDMA
}
