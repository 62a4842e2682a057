package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.ZoneLimits;
import org.jspecify.annotations.Nullable;

/**
 * What an architecture brings to the DMA API: caches, zones, remapping, memory encryption. Immutable; each {@code with}
 * method returns a changed copy. {@link #x86()} is a PC.
 *
 * <p>Source: dma-core:DEV-7, DIR-1, DIR-12, MSK-4, MSK-16, ALC-3, ALC-4, ALC-10.
 */
public final class ArchConfig {
    private static final ArchConfig X86 = new ArchConfig();

    private @Nullable CacheMaintenance cacheMaintenance;
    private @Nullable ArchDmaAlloc dmaAlloc;
    private ZoneLimits zones = ZoneLimits.PC;
    private boolean remap;
    private boolean setUncached;
    private boolean globalPool;
    private boolean bouncesUnalignedKmalloc;
    private int dmaMinAlign;
    private int cacheAlignment;
    private long encryptionMask;
    private boolean forcedDecryption;

    private ArchConfig() {}

    private ArchConfig copy() {
        ArchConfig copy = new ArchConfig();
        copy.cacheMaintenance = cacheMaintenance;
        copy.dmaAlloc = dmaAlloc;
        copy.zones = zones;
        copy.remap = remap;
        copy.setUncached = setUncached;
        copy.globalPool = globalPool;
        copy.bouncesUnalignedKmalloc = bouncesUnalignedKmalloc;
        copy.dmaMinAlign = dmaMinAlign;
        copy.cacheAlignment = cacheAlignment;
        copy.encryptionMask = encryptionMask;
        copy.forcedDecryption = forcedDecryption;
        return copy;
    }

    /**
     * A PC: every device snoops the caches, zones end at 16 MiB and 4 GiB, memory is not encrypted.
     *
     * @return the configuration
     */
    public static ArchConfig x86() {
        return X86;
    }

    /**
     * Changes the cache hooks.
     *
     * @param hooks {@code ARCH_HAS_SYNC_DMA_FOR_DEVICE} and its like, null when every device is coherent (DEV-7)
     * @return a changed copy
     */
    public ArchConfig withCacheMaintenance(@Nullable CacheMaintenance hooks) {
        ArchConfig copy = copy();
        copy.cacheMaintenance = hooks;
        return copy;
    }

    /**
     * Changes who allocates coherent memory of devices that are not coherent.
     *
     * @param hook {@code ARCH_HAS_DMA_ALLOC}, or null (ALC-3)
     * @return a changed copy
     */
    public ArchConfig withDmaAlloc(@Nullable ArchDmaAlloc hook) {
        ArchConfig copy = copy();
        copy.dmaAlloc = hook;
        return copy;
    }

    /**
     * Changes the zones.
     *
     * @param limits {@code ZONE_DMA}, {@code ZONE_DMA32} and {@code zone_dma_limit}
     * @return a changed copy
     */
    public ArchConfig withZones(ZoneLimits limits) {
        ArchConfig copy = copy();
        copy.zones = limits;
        return copy;
    }

    /**
     * Changes whether memory can be mapped once more without caching.
     *
     * @param yes {@code DMA_DIRECT_REMAP} (ALC-3)
     * @return a changed copy
     */
    public ArchConfig withRemap(boolean yes) {
        ArchConfig copy = copy();
        copy.remap = yes;
        return copy;
    }

    /**
     * Changes whether memory has an uncached alias.
     *
     * @param yes {@code ARCH_HAS_DMA_SET_UNCACHED} (ALC-3)
     * @return a changed copy
     */
    public ArchConfig withSetUncached(boolean yes) {
        ArchConfig copy = copy();
        copy.setUncached = yes;
        return copy;
    }

    /**
     * Changes whether devices that are not coherent take coherent memory from one global region only.
     *
     * @param yes {@code DMA_GLOBAL_POOL} (ALC-3)
     * @return a changed copy
     */
    public ArchConfig withGlobalPool(boolean yes) {
        ArchConfig copy = copy();
        copy.globalPool = yes;
        return copy;
    }

    /**
     * Changes the cache's alignments.
     *
     * @param minAlign {@code ARCH_DMA_MINALIGN}, a power of two, 0 when there is none
     * @param alignment what {@code dma_get_cache_alignment()} says, a power of two, 0 for the minimum (MSK-16)
     * @return a changed copy
     */
    public ArchConfig withCacheAlignment(int minAlign, int alignment) {
        requirePowerOfTwoOrZero(minAlign);
        requirePowerOfTwoOrZero(alignment);
        ArchConfig copy = copy();
        copy.dmaMinAlign = minAlign;
        copy.cacheAlignment = alignment;
        return copy;
    }

    private static void requirePowerOfTwoOrZero(int alignment) {
        if (alignment < 0 || (alignment & (alignment - 1)) != 0) {
            throw new IllegalArgumentException("a cache alignment of " + alignment + " is no power of two");
        }
    }

    /**
     * Changes whether small buffers that may share a cache line with others are bounced.
     *
     * @param yes {@code DMA_BOUNCE_UNALIGNED_KMALLOC} (DIR-12)
     * @return a changed copy
     */
    public ArchConfig withBouncesUnalignedKmalloc(boolean yes) {
        ArchConfig copy = copy();
        copy.bouncesUnalignedKmalloc = yes;
        return copy;
    }

    /**
     * Changes the memory encryption bit.
     *
     * @param mask the bit of an address that asks for encryption, {@code sme_me_mask}; 0 for none (DIR-1)
     * @return a changed copy
     * @throws IllegalArgumentException when the bit lies inside a page
     */
    public ArchConfig withEncryptionMask(long mask) {
        if ((mask & ~Addresses.PAGE_MASK) != 0) {
            throw new IllegalArgumentException(
                    "an encryption mask of " + Addresses.hex(mask) + " has bits of an offset in a page");
        }
        ArchConfig copy = copy();
        copy.encryptionMask = mask;
        return copy;
    }

    /**
     * Changes whether devices can only reach memory that is not encrypted.
     *
     * @param yes {@code force_dma_unencrypted()} of every device (ALC-4, ALC-10)
     * @return a changed copy
     */
    public ArchConfig withForcedDecryption(boolean yes) {
        ArchConfig copy = copy();
        copy.forcedDecryption = yes;
        return copy;
    }

    /**
     * The cache hooks.
     *
     * @return the hooks, or null when every device is coherent (DEV-7)
     */
    public @Nullable CacheMaintenance cacheMaintenance() {
        return cacheMaintenance;
    }

    /**
     * Who allocates coherent memory of devices that are not coherent.
     *
     * @return the hook, or null
     */
    public @Nullable ArchDmaAlloc dmaAlloc() {
        return dmaAlloc;
    }

    /**
     * The zones.
     *
     * @return which there are, and where they end
     */
    public ZoneLimits zones() {
        return zones;
    }

    /**
     * Whether memory can be mapped once more without caching.
     *
     * @return {@code DMA_DIRECT_REMAP}
     */
    public boolean remap() {
        return remap;
    }

    /**
     * Whether memory has an uncached alias.
     *
     * @return {@code ARCH_HAS_DMA_SET_UNCACHED}
     */
    public boolean setUncached() {
        return setUncached;
    }

    /**
     * Whether devices that are not coherent take coherent memory from one global region only.
     *
     * @return {@code DMA_GLOBAL_POOL}
     */
    public boolean globalPool() {
        return globalPool;
    }

    /**
     * The alignment that keeps a buffer off foreign cache lines on every machine of the architecture.
     *
     * @return {@code ARCH_DMA_MINALIGN}, 0 when there is none
     */
    public int dmaMinAlign() {
        return dmaMinAlign;
    }

    /**
     * {@code dma_get_cache_alignment} (MSK-16).
     *
     * @return the alignment that this machine's caches need, 1 when nothing was said
     */
    public int cacheAlignment() {
        if (cacheAlignment != 0) {
            return cacheAlignment;
        }
        return dmaMinAlign == 0 ? 1 : dmaMinAlign;
    }

    /**
     * Whether small buffers that may share a cache line are bounced.
     *
     * @return {@code DMA_BOUNCE_UNALIGNED_KMALLOC}
     */
    public boolean bouncesUnalignedKmalloc() {
        return bouncesUnalignedKmalloc;
    }

    /**
     * The memory encryption bit.
     *
     * @return {@code sme_me_mask}, 0 for none
     */
    public long encryptionMask() {
        return encryptionMask;
    }

    /**
     * Whether devices can only reach memory that is not encrypted.
     *
     * @return {@code force_dma_unencrypted()}
     */
    public boolean forcedDecryption() {
        return forcedDecryption;
    }
}
