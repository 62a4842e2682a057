package io.pagewalk.dma;

/** What a device does to memory. */
public enum Access {
    /** A read. */
    READ,
    /** A write. */
    WRITE,
    /** A fetch-and-add or compare-and-swap: needs both permissions. */
    ATOMIC;

    /**
     * Whether the access writes.
     *
     * @return true for WRITE and ATOMIC
     */
    public boolean writes() {
        return this != READ;
    }

    /**
     * Whether the access reads.
     *
     * @return true for READ and ATOMIC
     */
    public boolean reads() {
        return this != WRITE;
    }
}
