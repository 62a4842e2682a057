package io.pagewalk.kit;

import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A machine so small that every edge is near: two CPUs, a bounce pool of 256 slots, memory in chunks of a page, and two
 * arenas in which buffers lie, apart from all that the machine allocates for itself.
 *
 * <p>The upper arena spans 4 GiB, so that 32-bit masks and bounces come into play, and ends with the last byte of RAM.
 *
 * @param backend name of the backend's variant
 * @param commandLine the kernel's command line
 * @param options the backend's options
 * @param kernelConfig how the kernel was built
 * @param cpuCache the cache between software and memory, null for none
 */
public record SmallWorld(
        String backend,
        String commandLine,
        BackendOptions options,
        KernelConfig kernelConfig,
        @Nullable CpuCacheOptions cpuCache) {
    /** How many CPUs there are. */
    public static final int CPUS = 2;
    /** Asks for a pool of 128 slots, which becomes 128 for each CPU's area (dma-core:SWC-4). */
    public static final String SMALL_POOL = "swiotlb=128";

    /** Asks an IOMMU for a region of 128 table pages, which costs less to set up than a usual one. */
    public static final BackendOptions SMALL_TABLES = BackendOptions.NONE.with("iommu.tablePoolBytes", 512 << 10);

    private static final int CHUNK_BYTES = 4096;
    private static final PhysRange LOW_RAM = PhysRange.ofSize(0, 64 << 20);
    private static final PhysRange HIGH_RAM = PhysRange.ofSize((4L << 30) - (1 << 20), 2 << 20);
    private static final PhysRange ALLOCATABLE =
            PhysRange.ofSize(Addresses.PAGE_SIZE, (32 << 20) - Addresses.PAGE_SIZE);

    /** Where buffers lie: 2 MiB below 16 bits of megabytes, and 2 MiB around 4 GiB up to the last byte of RAM. */
    public static final List<PhysRange> ARENAS = List.of(PhysRange.ofSize(48 << 20, 2 << 20), HIGH_RAM);

    /**
     * A world without a CPU cache.
     *
     * @param backend name of the backend's variant
     * @param commandLine the kernel's command line
     * @param options the backend's options
     * @param kernelConfig how the kernel was built
     */
    public SmallWorld(String backend, String commandLine, BackendOptions options, KernelConfig kernelConfig) {
        this(backend, commandLine, options, kernelConfig, null);
    }

    /**
     * The usual small world of a backend.
     *
     * @param backend name of a variant
     * @return the world
     */
    public static SmallWorld of(String backend) {
        return new SmallWorld(backend, SMALL_POOL, SMALL_TABLES, KernelConfig.distribution());
    }

    /**
     * The same world with a cache that not every device snoops.
     *
     * @param cache how large it is
     * @return a changed copy, whose kernel has the hooks of arm64 and second mappings without caching
     */
    public SmallWorld withCpuCache(CpuCacheOptions cache) {
        KernelConfig kernel = kernelConfig.withArch(
                kernelConfig.arch().withRemap(true).withCacheMaintenance(CacheMaintenance.arm64()));
        return new SmallWorld(backend, commandLine, options, kernel, cache);
    }

    /**
     * Starts to describe the machine.
     *
     * @return a builder that may be changed further
     */
    public MachineBuilder builder() {
        MachineBuilder builder = Machine.builder()
                .backend(backend)
                .ram(RamMap.of(LOW_RAM, HIGH_RAM))
                .allocatable(List.of(ALLOCATABLE))
                .chunkBytes(CHUNK_BYTES)
                .cpus(CPUS)
                .commandLine(commandLine)
                .kernelConfig(kernelConfig)
                .backendOptions(options);
        return cpuCache == null ? builder : builder.cpuCache(cpuCache);
    }
}
