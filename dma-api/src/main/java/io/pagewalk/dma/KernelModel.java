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

    /**
     * Whether pages of a shared file mapping with dirty tracking cannot be pinned for long and for writing (rdma:GUP-8,
     * step 5a; QRK-2).
     *
     * @return false for a 5.x kernel
     */
    public boolean refusesLongtermWritesToTrackedFiles() {
        return this != LINUX_5;
    }

    /**
     * Whether a read-only pin first replaces a page that is not the process's own by one that is (rdma:GUP-10, QRK-4).
     *
     * @return false for a 5.x kernel
     */
    public boolean unsharesBeforeReadOnlyPins() {
        return this != LINUX_5;
    }

    /**
     * Whether fork gives the child a copy of a pinned page at once (rdma:MM-14, QRK-3), and a write fault takes other
     * references than its own mapping for an owner.
     *
     * @return false for a 5.x kernel, whose parent may lose a pinned page on its next write
     */
    public boolean keepsPinnedPagesWithTheParent() {
        return this != LINUX_5;
    }

    /**
     * Whether pins of the shared zero page are counted like those of other pages (rdma:MM-15, QRK-4).
     *
     * @return true for a 5.x kernel
     */
    public boolean countsPinsOfTheZeroPage() {
        return this == LINUX_5;
    }

    /**
     * Whether a registration is refused for rights that have no name yet and are not optional, and one on demand gets
     * -EOPNOTSUPP where the device cannot do it (rdma:ACC-2, ACC-3).
     *
     * @return false for a 5.x kernel, which ignores such bits and answers -EINVAL on demand
     */
    public boolean refusesUnknownAccess() {
        return this != LINUX_5;
    }

    /**
     * Whether rxe is the one of 5.2, which checked less, had other limits and made keys in another way (rdma:RXE-4,
     * RXE-8 to RXE-10, RXE-18 to RXE-22, RXE-26, RXE-29, RXE-34, RXE-41, RXE-43, DP-9, DP-11).
     *
     * @return true for a 5.x kernel
     */
    public boolean hasTheFirstRxe() {
        return this == LINUX_5;
    }

    /**
     * Whether a transfer of rdma_rw that finds no region free goes on with plain segments where it can (rdma:RW-12,
     * QRK-7).
     *
     * @return false for a 5.x kernel, where it fails with -EAGAIN
     */
    public boolean transfersWithoutRegions() {
        return this != LINUX_5;
    }
}
