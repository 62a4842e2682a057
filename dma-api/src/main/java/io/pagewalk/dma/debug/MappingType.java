package io.pagewalk.dma.debug;

/** Which family of calls made a mapping (dma-core:DBG-2). The ordinal is the kernel's number. */
public enum MappingType {
    /** {@code dma_map_page} and {@code dma_map_single}. */
    SINGLE("single"),
    /** {@code dma_map_sg} and {@code dma_alloc_noncontiguous}. */
    SCATTER_GATHER("scatter-gather"),
    /** {@code dma_alloc_attrs}. */
    COHERENT("coherent"),
    /** {@code dma_map_resource}. */
    RESOURCE("resource"),
    /** {@code dma_alloc_pages} (dma-core:DBG-15). */
    NONCOHERENT("noncoherent");

    private final String kernelName;

    MappingType(String kernelName) {
        this.kernelName = kernelName;
    }

    /**
     * How reports name it.
     *
     * @return such as {@code scatter-gather}
     */
    public String kernelName() {
        return kernelName;
    }
}
