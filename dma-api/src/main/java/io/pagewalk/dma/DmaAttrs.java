package io.pagewalk.dma;

/**
 * The attribute bits of mapping and allocation calls.
 *
 * <p>Source: dma-core:ATTR-1 to ATTR-11. Bits that are not named here are never rejected by map, unmap or alloc
 * (ATTR-10).
 */
public final class DmaAttrs {
    /** No attribute. */
    public static final int NONE = 0;
    /** Ignored by the core; a hint to the architecture. */
    public static final int WEAK_ORDERING = 1 << 1;
    /** Asks for write-combined CPU mappings of coherent memory of a device that is not coherent. */
    public static final int WRITE_COMBINE = 1 << 2;
    /** The caller needs no kernel mapping of the memory. */
    public static final int NO_KERNEL_MAPPING = 1 << 4;
    /** No cache maintenance, and no copy back at unmap; the copy into a bounce buffer at map stays (SWB-6). */
    public static final int SKIP_CPU_SYNC = 1 << 5;
    /** Coherent memory must be contiguous physically. */
    public static final int FORCE_CONTIGUOUS = 1 << 6;
    /** A hint to use single pages. */
    public static final int ALLOC_SINGLE_PAGES = 1 << 7;
    /** No message when the allocation or the pool fails. */
    public static final int NO_WARN = 1 << 8;
    /** Pages only privileged accesses of the device may reach. */
    public static final int PRIVILEGED = 1 << 9;

    private DmaAttrs() {}
}
