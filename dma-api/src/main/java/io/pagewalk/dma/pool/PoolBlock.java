package io.pagewalk.dma.pool;

/** A block of a {@link DmaPool}: filled in by an allocation, and reused by its caller. Not thread-safe. */
public final class PoolBlock {
    private long cpuAddr;
    private long dmaAddr;

    /** Makes a block that is nothing yet. */
    public PoolBlock() {}

    void set(long newCpuAddr, long newDmaAddr) {
        cpuAddr = newCpuAddr;
        dmaAddr = newDmaAddr;
    }

    /**
     * The CPU's address.
     *
     * @return of the first byte, 0 before an allocation
     */
    public long cpuAddr() {
        return cpuAddr;
    }

    /**
     * The device's address.
     *
     * @return of the first byte
     */
    public long dmaAddr() {
        return dmaAddr;
    }
}
