package io.pagewalk.dma;

/**
 * How the kernel was built, as far as the DMA API shows it: the {@code config X} parameters of the specification.
 * Immutable; each {@code with} method returns a changed copy. {@link #distribution()} is a distribution's x86-64
 * kernel, the one that answered the recorded vectors.
 */
public final class KernelConfig {
    private static final KernelConfig DISTRIBUTION = new KernelConfig();

    private boolean sgChain = true;
    private boolean sgDmaFlags = true;
    private boolean dmaOps = true;

    private KernelConfig() {}

    private KernelConfig copy() {
        KernelConfig copy = new KernelConfig();
        copy.sgChain = sgChain;
        copy.sgDmaFlags = sgDmaFlags;
        copy.dmaOps = dmaOps;
        return copy;
    }

    /**
     * A distribution's x86-64 kernel: scatterlists chain, devices may have operations of their own.
     *
     * @return the configuration
     */
    public static KernelConfig distribution() {
        return DISTRIBUTION;
    }

    /**
     * Changes whether scatterlists of more than one chunk exist; {@code ARCH_NO_SG_CHAIN} says no.
     *
     * @param yes whether chunks may be chained (dma-core:SG-14, SGA-2)
     * @return a changed copy
     */
    public KernelConfig withSgChain(boolean yes) {
        KernelConfig copy = copy();
        copy.sgChain = yes;
        return copy;
    }

    /**
     * Changes whether scatterlist entries have DMA flags, {@code NEED_SG_DMA_FLAGS}. Without them the flags of the
     * lists that the machine allocates always read false.
     *
     * @param yes whether entries have them (dma-core:SG-2)
     * @return a changed copy
     */
    public KernelConfig withSgDmaFlags(boolean yes) {
        KernelConfig copy = copy();
        copy.sgDmaFlags = yes;
        return copy;
    }

    /**
     * Changes whether devices may have operations of their own, {@code ARCH_HAS_DMA_OPS}.
     *
     * @param yes whether they may (dma-core:SEL-1)
     * @return a changed copy
     */
    public KernelConfig withDmaOps(boolean yes) {
        KernelConfig copy = copy();
        copy.dmaOps = yes;
        return copy;
    }

    /**
     * Whether scatterlist chunks chain.
     *
     * @return false for {@code ARCH_NO_SG_CHAIN}
     */
    public boolean sgChain() {
        return sgChain;
    }

    /**
     * Whether scatterlist entries have DMA flags.
     *
     * @return {@code NEED_SG_DMA_FLAGS}
     */
    public boolean sgDmaFlags() {
        return sgDmaFlags;
    }

    /**
     * Whether devices may have operations of their own.
     *
     * @return {@code ARCH_HAS_DMA_OPS}
     */
    public boolean dmaOps() {
        return dmaOps;
    }
}
