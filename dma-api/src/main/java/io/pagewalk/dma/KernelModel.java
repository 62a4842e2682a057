package io.pagewalk.dma;

/** Which kernel's rules hold where two generations differ. */
public enum KernelModel {
    /** A 5.x kernel, with the registration rules that rdma.md calls G5. */
    LINUX_5,
    /** Linux 6.12, the reference of everything here. */
    LINUX_6_12
}
