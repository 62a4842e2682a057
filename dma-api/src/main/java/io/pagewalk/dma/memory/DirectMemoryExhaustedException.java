package io.pagewalk.dma.memory;

/**
 * The JVM has no direct memory left to back a chunk of emulated RAM. The emulated machine is not out of memory: the JVM
 * running it is, and {@code -XX:MaxDirectMemorySize} is the flag that gives it more.
 */
public final class DirectMemoryExhaustedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Bytes of direct memory that backed RAM then. */
    private final long residentBytes;

    DirectMemoryExhaustedException(long physAddr, long sizeBytes, long residentBytes, Throwable cause) {
        super(
                "no direct memory to back RAM at " + Addresses.hexRange(physAddr, sizeBytes) + ": " + residentBytes
                        + " bytes of RAM are resident already; raise the limit with -XX:MaxDirectMemorySize,"
                        + " or touch or keep less memory",
                cause);
        this.residentBytes = residentBytes;
    }

    /**
     * Gives how much was in use.
     *
     * @return bytes of direct memory that backed RAM when more was wanted
     */
    public long residentBytes() {
        return residentBytes;
    }
}
