package io.pagewalk.kit;

import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;

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
 */
public record SmallWorld(String backend, String commandLine, BackendOptions options, KernelConfig kernelConfig) {
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
     * The usual small world of a backend.
     *
     * @param backend name of a variant
     * @return the world
     */
    public static SmallWorld of(String backend) {
        return new SmallWorld(backend, SMALL_POOL, SMALL_TABLES, KernelConfig.distribution());
    }

    /**
     * Starts to describe the machine.
     *
     * @return a builder that may be changed further
     */
    public MachineBuilder builder() {
        return Machine.builder()
                .backend(backend)
                .ram(RamMap.of(LOW_RAM, HIGH_RAM))
                .allocatable(List.of(ALLOCATABLE))
                .chunkBytes(CHUNK_BYTES)
                .cpus(CPUS)
                .commandLine(commandLine)
                .kernelConfig(kernelConfig)
                .backendOptions(options);
    }
}
