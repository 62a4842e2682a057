package io.pagewalk.dma;

import io.pagewalk.dma.spi.DmaOps;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How the kernel was built, as far as the DMA API shows it: the {@code config X} parameters of the specification.
 * Immutable; each {@code with} method returns a changed copy. {@link #distribution()} is a distribution's x86-64
 * kernel, the one that answered the recorded vectors.
 */
public final class KernelConfig {
    /** What kind of domain devices get behind an IOMMU unless the command line says otherwise (iommu:CORE-2). */
    public enum IommuDefault {
        /** Every unmap is invalidated at once: the default but for x86 and s390. */
        STRICT,
        /** Unmaps are flushed together: the default of x86 and s390. */
        LAZY,
        /** Addresses pass as they are. Memory encryption cancels it. */
        PASSTHROUGH
    }

    private static final KernelConfig DISTRIBUTION = new KernelConfig();

    private boolean sgChain = true;
    private boolean sgDmaFlags = true;
    private boolean dmaOps = true;
    private ArchConfig arch = ArchConfig.x86();
    private boolean writeCombine;
    private boolean nonCoherentMmap;
    private boolean slubDebug;
    private boolean dmaApiDebug;
    private boolean swiotlbDynamic;
    private boolean dmaNeedSync = true;
    private boolean hasDma = true;
    private boolean infinibandUserMem = true;
    private boolean infinibandVirtDma = true;
    private @Nullable ArchMapDirect archMapDirect;
    private @Nullable DmaOps archDmaOps;
    private boolean dmaOpsBypass;
    private IommuDefault iommuDefault = IommuDefault.LAZY;

    private KernelConfig() {}

    private KernelConfig copy() {
        KernelConfig copy = new KernelConfig();
        copy.sgChain = sgChain;
        copy.sgDmaFlags = sgDmaFlags;
        copy.dmaOps = dmaOps;
        copy.arch = arch;
        copy.writeCombine = writeCombine;
        copy.nonCoherentMmap = nonCoherentMmap;
        copy.dmaOpsBypass = dmaOpsBypass;
        copy.archDmaOps = archDmaOps;
        copy.archMapDirect = archMapDirect;
        copy.hasDma = hasDma;
        copy.infinibandUserMem = infinibandUserMem;
        copy.infinibandVirtDma = infinibandVirtDma;
        copy.dmaNeedSync = dmaNeedSync;
        copy.dmaApiDebug = dmaApiDebug;
        copy.swiotlbDynamic = swiotlbDynamic;
        copy.slubDebug = slubDebug;
        copy.iommuDefault = iommuDefault;
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
     * Changes the default kind of IOMMU domains, {@code IOMMU_DEFAULT_DMA_STRICT} and its relatives.
     *
     * @param kind the kind (iommu:CORE-2)
     * @return a changed copy
     */
    public KernelConfig withIommuDefault(IommuDefault kind) {
        KernelConfig copy = copy();
        copy.iommuDefault = Objects.requireNonNull(kind, "kind");
        return copy;
    }

    /**
     * Changes the architecture.
     *
     * @param newArch what it brings
     * @return a changed copy
     */
    public KernelConfig withArch(ArchConfig newArch) {
        KernelConfig copy = copy();
        copy.arch = Objects.requireNonNull(newArch, "newArch");
        return copy;
    }

    /**
     * Changes whether coherent memory of a device that is not coherent can be mapped write-combined,
     * {@code ARCH_HAS_DMA_WRITE_COMBINE}.
     *
     * @param yes whether it can (dma-core:ATTR-2, FE-72)
     * @return a changed copy
     */
    public KernelConfig withWriteCombine(boolean yes) {
        KernelConfig copy = copy();
        copy.writeCombine = yes;
        return copy;
    }

    /**
     * Changes whether coherent memory of a device that is not coherent can be shown to a process,
     * {@code DMA_NONCOHERENT_MMAP}.
     *
     * @param yes whether it can (dma-core:MSK-14)
     * @return a changed copy
     */
    public KernelConfig withNonCoherentMmap(boolean yes) {
        KernelConfig copy = copy();
        copy.nonCoherentMmap = yes;
        return copy;
    }

    /**
     * Changes whether devices may go around their own operations, {@code DMA_OPS_BYPASS}.
     *
     * @param yes whether they may (dma-core:SEL-2)
     * @return a changed copy
     */
    public KernelConfig withDmaOpsBypass(boolean yes) {
        KernelConfig copy = copy();
        copy.dmaOpsBypass = yes;
        return copy;
    }

    /**
     * Changes the operations of devices that have none of their own.
     *
     * @param ops the architecture's default, or null (dma-core:SEL-1)
     * @return a changed copy
     */
    public KernelConfig withArchDmaOps(@Nullable DmaOps ops) {
        KernelConfig copy = copy();
        copy.archDmaOps = ops;
        return copy;
    }

    /**
     * Changes the architecture's escape to direct mapping, {@code ARCH_HAS_DMA_MAP_DIRECT}.
     *
     * @param escape the hook, or null (dma-core:SEL-5)
     * @return a changed copy
     */
    public KernelConfig withArchMapDirect(@Nullable ArchMapDirect escape) {
        KernelConfig copy = copy();
        copy.archMapDirect = escape;
        return copy;
    }

    /**
     * Changes whether there is DMA at all, {@code HAS_DMA}.
     *
     * @param yes whether there is (dma-core:FE-14)
     * @return a changed copy
     */
    public KernelConfig withHasDma(boolean yes) {
        KernelConfig copy = copy();
        copy.hasDma = yes;
        return copy;
    }

    /**
     * Changes whether sync calls exist, {@code DMA_NEED_SYNC}.
     *
     * @param yes whether they do anything (dma-core:FE-40)
     * @return a changed copy
     */
    public KernelConfig withDmaNeedSync(boolean yes) {
        KernelConfig copy = copy();
        copy.dmaNeedSync = yes;
        return copy;
    }

    /**
     * Changes whether dma-debug is built in, {@code DMA_API_DEBUG}; sync calls are never skipped then.
     *
     * @param yes whether it is (dma-core:FE-40)
     * @return a changed copy
     */
    public KernelConfig withDmaApiDebug(boolean yes) {
        KernelConfig copy = copy();
        copy.dmaApiDebug = yes;
        return copy;
    }

    /**
     * Changes whether bounce pools grow and transient ones stand in for full ones, {@code SWIOTLB_DYNAMIC}.
     *
     * @param yes whether they do (dma-core:SWD-1)
     * @return a changed copy
     */
    public KernelConfig withSwiotlbDynamic(boolean yes) {
        KernelConfig copy = copy();
        copy.swiotlbDynamic = yes;
        return copy;
    }

    /**
     * Changes whether small allocators check themselves, {@code SLUB_DEBUG_ON}.
     *
     * @param yes whether they do (dma-core:POOL-6)
     * @return a changed copy
     */
    public KernelConfig withSlubDebug(boolean yes) {
        KernelConfig copy = copy();
        copy.slubDebug = yes;
        return copy;
    }

    /**
     * Changes whether RDMA may register memory of processes, {@code INFINIBAND_USER_MEM}.
     *
     * @param yes whether it may (rdma:UMEM-29)
     * @return a changed copy
     */
    public KernelConfig withInfinibandUserMem(boolean yes) {
        KernelConfig copy = copy();
        copy.infinibandUserMem = yes;
        return copy;
    }

    /**
     * Changes whether RDMA devices may be software without a DMA device, {@code INFINIBAND_VIRT_DMA}.
     *
     * @param yes whether they may (rdma:DMA-1)
     * @return a changed copy
     */
    public KernelConfig withInfinibandVirtDma(boolean yes) {
        KernelConfig copy = copy();
        copy.infinibandVirtDma = yes;
        return copy;
    }

    /**
     * Whether coherent memory can be mapped write-combined.
     *
     * @return {@code ARCH_HAS_DMA_WRITE_COMBINE}
     */
    public boolean writeCombine() {
        return writeCombine;
    }

    /**
     * Whether coherent memory of a device that is not coherent can be shown to a process.
     *
     * @return {@code DMA_NONCOHERENT_MMAP}
     */
    public boolean nonCoherentMmap() {
        return nonCoherentMmap;
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

    /**
     * The architecture.
     *
     * @return what it brings
     */
    public ArchConfig arch() {
        return arch;
    }

    /**
     * The architecture's cache hooks.
     *
     * @return the hooks, or null when every device is coherent (dma-core:DEV-7)
     */
    public @Nullable CacheMaintenance cacheMaintenance() {
        return arch.cacheMaintenance();
    }

    /**
     * Whether devices may go around their own operations.
     *
     * @return {@code DMA_OPS_BYPASS}
     */
    public boolean dmaOpsBypass() {
        return dmaOpsBypass;
    }

    /**
     * The operations of devices that have none of their own.
     *
     * @return the architecture's default, or null
     */
    public @Nullable DmaOps archDmaOps() {
        return archDmaOps;
    }

    /**
     * The architecture's escape to direct mapping.
     *
     * @return the hook, or null
     */
    public @Nullable ArchMapDirect archMapDirect() {
        return archMapDirect;
    }

    /**
     * Whether there is DMA at all.
     *
     * @return {@code HAS_DMA}
     */
    public boolean hasDma() {
        return hasDma;
    }

    /**
     * Whether sync calls exist.
     *
     * @return {@code DMA_NEED_SYNC}
     */
    public boolean dmaNeedSync() {
        return dmaNeedSync;
    }

    /**
     * Whether dma-debug is built in.
     *
     * @return {@code DMA_API_DEBUG}
     */
    public boolean dmaApiDebug() {
        return dmaApiDebug;
    }

    /**
     * Whether bounce pools grow and transient ones stand in for full ones.
     *
     * @return {@code SWIOTLB_DYNAMIC}
     */
    public boolean swiotlbDynamic() {
        return swiotlbDynamic;
    }

    /**
     * Whether small allocators check themselves.
     *
     * @return {@code SLUB_DEBUG_ON}
     */
    public boolean slubDebug() {
        return slubDebug;
    }

    /**
     * Whether RDMA may register memory of processes.
     *
     * @return {@code INFINIBAND_USER_MEM}
     */
    public boolean infinibandUserMem() {
        return infinibandUserMem;
    }

    /**
     * Whether RDMA devices may be software without a DMA device.
     *
     * @return {@code INFINIBAND_VIRT_DMA}
     */
    public boolean infinibandVirtDma() {
        return infinibandVirtDma;
    }

    /**
     * The default kind of IOMMU domains.
     *
     * @return lazy on x86
     */
    public IommuDefault iommuDefault() {
        return iommuDefault;
    }
}
