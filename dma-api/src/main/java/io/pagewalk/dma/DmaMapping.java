package io.pagewalk.dma;

/** A mapping that ends with its {@code try} block. Not thread-safe; closing it twice unmaps once. */
public final class DmaMapping implements AutoCloseable {
    private final Dma dma;
    private final long dmaAddr;
    private final long sizeBytes;
    private final DmaDirection direction;
    private boolean closed;

    DmaMapping(Dma dma, long dmaAddr, long sizeBytes, DmaDirection direction) {
        this.dma = dma;
        this.dmaAddr = dmaAddr;
        this.sizeBytes = sizeBytes;
        this.direction = direction;
    }

    /**
     * The address to give to the device.
     *
     * @return of the first byte
     * @throws IllegalStateException when it was unmapped
     */
    public long dmaAddr() {
        requireOpen();
        return dmaAddr;
    }

    /**
     * The length.
     *
     * @return bytes
     */
    public long sizeBytes() {
        return sizeBytes;
    }

    /**
     * The direction.
     *
     * @return as mapped
     */
    public DmaDirection direction() {
        return direction;
    }

    /**
     * Says who the mapping is for ({@link Dma#tag(long, String)}).
     *
     * @param owner a word for the owner
     * @return this
     */
    public DmaMapping ownedBy(String owner) {
        requireOpen();
        dma.tag(dmaAddr, owner);
        return this;
    }

    /** Gives the bytes to the CPU for the moment. */
    public void syncForCpu() {
        requireOpen();
        dma.syncSingleForCpu(dmaAddr, sizeBytes, direction);
    }

    /** Gives the bytes to the device again. */
    public void syncForDevice() {
        requireOpen();
        dma.syncSingleForDevice(dmaAddr, sizeBytes, direction);
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the mapping at 0x" + Long.toHexString(dmaAddr) + " was unmapped");
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            dma.unmapPage(dmaAddr, sizeBytes, direction, DmaAttrs.NONE);
        }
    }
}
