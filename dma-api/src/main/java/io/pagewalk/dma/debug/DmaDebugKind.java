package io.pagewalk.dma.debug;

/** What a report is about, with the kernel's words for it. */
public enum DmaDebugKind {
    /** {@code dma_map_single} of an address that is none of the direct map (dma-core:DBG-10). */
    INVALID_AREA("device driver maps memory from invalid area", Rule.LIMITED),
    /** {@code dma_map_single} of a vmalloc address (dma-core:DBG-10). */
    VMALLOC_AREA("device driver maps memory from vmalloc area", Rule.LIMITED),
    /** A buffer on the stack (dma-core:DBG-16). */
    STACK("device driver maps memory from stack", Rule.LIMITED),
    /** A buffer in kernel text or read-only data (dma-core:DBG-17). */
    KERNEL_TEXT("device driver maps memory from kernel text or rodata", Rule.LIMITED),
    /** A mapping that begins in the cacheline of another one (dma-core:DBG-22). */
    CACHELINE_EEXIST("cacheline tracking EEXIST, overlapping mappings aren't supported", Rule.LIMITED),
    /** More mappings of one cacheline than can be counted; once (dma-core:DBG-21). */
    CACHELINE_EXCEEDED("exceeded 7 overlapping mappings of cacheline", Rule.ONCE),
    /** A segment longer than the device says it takes (dma-core:DBG-25). */
    SEGMENT_TOO_LONG("mapping sg segment longer than device claims to support", Rule.LIMITED),
    /** A segment across the boundary that the device says it needs (dma-core:DBG-25). */
    SEGMENT_ACROSS_BOUNDARY("mapping sg segment across boundary", Rule.LIMITED),
    /** An unmap of the error value (dma-core:DBG-40). */
    INVALID_ADDRESS("device driver tries to free an invalid DMA memory address", Rule.LIMITED),
    /** An unmap of what is not mapped: never, not any more, or not clear which (dma-core:DBG-41). */
    NOT_ALLOCATED("device driver tries to free DMA memory it has not allocated", Rule.LIMITED),
    /** An unmap of another size (dma-core:DBG-42). */
    DIFFERENT_SIZE("device driver frees DMA memory with different size", Rule.LIMITED),
    /** An unmap by the call of another family (dma-core:DBG-43). */
    WRONG_FUNCTION("device driver frees DMA memory with wrong function", Rule.LIMITED),
    /** A free with another CPU address (dma-core:DBG-44). */
    DIFFERENT_CPU_ADDRESS("device driver frees DMA memory with different CPU address", Rule.LIMITED),
    /** An unmap of a list by another count (dma-core:DBG-45). */
    DIFFERENT_ENTRY_COUNT("device driver frees DMA sg list with different entry count", Rule.LIMITED),
    /** An unmap in another direction (dma-core:DBG-46). */
    DIFFERENT_DIRECTION("device driver frees DMA memory with different direction", Rule.LIMITED),
    /** A mapping that nobody asked {@code dma_mapping_error} about (dma-core:DBG-31, DBG-47). */
    MAP_ERROR_NOT_CHECKED("device driver failed to check map error", Rule.LIMITED),
    /** A sync of what is not mapped, or not wholly (dma-core:DBG-60). */
    SYNC_NOT_ALLOCATED("device driver tries to sync DMA memory it has not allocated", Rule.LIMITED),
    /** A sync in another direction (dma-core:DBG-62). */
    SYNC_DIFFERENT_DIRECTION("device driver syncs DMA memory with different direction", Rule.LIMITED),
    /** A sync for the CPU of what the device only reads (dma-core:DBG-63). */
    SYNC_READ_ONLY("device driver syncs device read-only DMA memory for cpu", Rule.LIMITED),
    /** A sync for the device of what it only writes (dma-core:DBG-64). */
    SYNC_WRITE_ONLY("device driver syncs device write-only DMA memory to device", Rule.LIMITED),
    /** A sync of a list by another count (dma-core:DBG-65). */
    SYNC_DIFFERENT_ENTRY_COUNT("device driver syncs DMA sg list with different entry count", Rule.LIMITED),
    /** Mappings left when the driver goes (dma-core:DBG-70). */
    LEAK("device driver has pending DMA allocations while released from device", Rule.LIMITED),
    /** A page goes back to the page allocator while a device can reach it; no kernel's dma-debug looks. */
    PAGE_FREED_WHILE_MAPPED("page is freed while a device still maps it", Rule.EXTRA),
    /** The CPU touches a cacheline that a device may write; 6.12 no longer looks. */
    CPU_TOUCHES_MAPPING("cpu touching an active dma mapped cacheline", Rule.EXTRA);

    /** How a kind is limited and counted. */
    private enum Rule {
        LIMITED,
        ONCE,
        EXTRA
    }

    private final String text;
    private final Rule rule;

    DmaDebugKind(String text, Rule rule) {
        this.text = text;
        this.rule = rule;
    }

    /**
     * What the kernel calls it.
     *
     * @return the text before the fields
     */
    public String text() {
        return text;
    }

    /**
     * Whether the kernel's error count counts it (dma-core:DBG-7).
     *
     * @return false for what is reported once, and for what no kernel looks at
     */
    public boolean isCounted() {
        return rule == Rule.LIMITED;
    }

    /**
     * Whether the kernel has this check at all.
     *
     * @return false for what {@link DmaDebugProfile#EVERYTHING} adds
     */
    public boolean isKernels() {
        return rule != Rule.EXTRA;
    }
}
