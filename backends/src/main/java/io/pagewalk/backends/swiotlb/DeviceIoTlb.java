package io.pagewalk.backends.swiotlb;

/**
 * Which bounce allocator a device uses, {@code dma_io_tlb_mem}: the machine's default one, even when that has no
 * memory, until a restricted pool replaces it.
 *
 * <p>Implements dma-core:DEV-9, SWX-2. Thread-safe, but a device must have nothing mapped when its allocator changes,
 * and calls of other threads have to be ordered after the change.
 */
public final class DeviceIoTlb {
    /** Plain, as each call reads it, and only an idle device's changes. */
    private SwiotlbPool mem;

    /**
     * Makes the link.
     *
     * @param mem the allocator to begin with
     */
    public DeviceIoTlb(SwiotlbPool mem) {
        this.mem = mem;
    }

    /**
     * The allocator.
     *
     * @return the present one
     */
    public SwiotlbPool mem() {
        return mem;
    }

    void use(SwiotlbPool newMem) {
        mem = newMem;
    }
}
