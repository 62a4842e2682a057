package io.pagewalk.dma;

/** Which kernel's rules hold where two generations differ. Each difference is one predicate. */
public enum KernelModel {
    /** A 5.x kernel, with the registration rules that rdma.md calls G5. */
    LINUX_5,
    /** Linux 6.12, the reference of everything here. */
    LINUX_6_12;

    /**
     * Whether a registration pins its pages for writing whatever its rights are, and forces where it only reads
     * (rdma:UMEM-11, UMEM-12, QRK-1).
     *
     * @return true for a 5.x kernel
     */
    public boolean forcesReadOnlyRegistrations() {
        return this == LINUX_5;
    }

    /**
     * Whether -EREMOTEIO is one of the errors that mapping a list may give (rdma:DMA-10, QRK-18).
     *
     * @return false for a 5.x kernel, where it is unexpected and becomes -EIO
     */
    public boolean mapsListsWithRemoteError() {
        return this != LINUX_5;
    }
}
