package io.pagewalk.dma;

import org.jspecify.annotations.Nullable;

/**
 * A mapping that ends with its {@code try} block. Where the buffer could not be mapped and a {@link MapPolicy} allowed
 * it, the device reaches memory that stands in for the buffer, and syncs and the end copy. Not thread-safe; closing it
 * twice unmaps once.
 */
public final class DmaMapping implements AutoCloseable {
    private final Dma dma;
    private final long dmaAddr;
    private final long sizeBytes;
    private final DmaDirection direction;
    private final @Nullable StandIn standIn;
    private boolean closed;

    DmaMapping(Dma dma, long dmaAddr, long sizeBytes, DmaDirection direction) {
        this.dma = dma;
        this.dmaAddr = dmaAddr;
        this.sizeBytes = sizeBytes;
        this.direction = direction;
        this.standIn = null;
    }

    DmaMapping(Dma dma, StandIn standIn, long sizeBytes, DmaDirection direction) {
        this.dma = dma;
        this.dmaAddr = standIn.dmaAddr();
        this.sizeBytes = sizeBytes;
        this.direction = direction;
        this.standIn = standIn;
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
     * Whether other memory stands in for the buffer, so that each sync copies.
     *
     * @return false for a buffer that was mapped as it lies
     */
    public boolean isStandIn() {
        return standIn != null;
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
        if (standIn == null) {
            dma.syncSingleForCpu(dmaAddr, sizeBytes, direction);
        } else {
            toBuffer(standIn);
        }
    }

    /** What a device may have written comes back; nothing else does. */
    private void toBuffer(StandIn memory) {
        if (direction.deviceWrites()) {
            memory.syncForCpu();
            memory.copyOut();
        }
    }

    /** Gives the bytes to the device again. */
    public void syncForDevice() {
        requireOpen();
        if (standIn == null) {
            dma.syncSingleForDevice(dmaAddr, sizeBytes, direction);
        } else if (direction.deviceReads()) {
            standIn.copyIn();
            standIn.syncForDevice();
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the mapping at 0x" + Long.toHexString(dmaAddr) + " was unmapped");
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (standIn == null) {
            dma.unmapPage(dmaAddr, sizeBytes, direction, DmaAttrs.NONE);
        } else {
            toBuffer(standIn);
            standIn.free();
        }
    }
}
