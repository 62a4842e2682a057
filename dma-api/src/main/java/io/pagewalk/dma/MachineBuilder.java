package io.pagewalk.dma;

import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackends;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Describes a machine. Not thread-safe. */
public final class MachineBuilder {
    /** Makes a listener once the machine's clock exists. */
    @FunctionalInterface
    public interface ListenerFactory {
        /**
         * Makes the listener.
         *
         * @param clock the machine's clock
         * @return the listener
         */
        DmaListener listenTo(VirtualClock clock);
    }

    /** As many as a distribution's kernel is built for. */
    private static final int MAX_CPUS = 8192;

    RamMap ram = RamMap.sizedWithHole(4L << 30);
    int chunkBytes = PhysicalMemory.DEFAULT_CHUNK_BYTES;

    @Nullable List<PhysRange> allocatable;

    KernelLayout layout = KernelLayout.x86_64();
    int cpus = 2;
    String commandLine = "";
    KernelModel kernelModel = KernelModel.LINUX_6_12;
    KernelConfig kernelConfig = KernelConfig.distribution();
    List<PhysRange> hostBridgeWindows = List.of();
    CmaAreas cma = new CmaAreas();
    List<RestrictedPool> restrictedPools = List.of();

    @Nullable PeerToPeer peerToPeer;

    @Nullable CpuCacheOptions cpuCache;

    @Nullable ListenerFactory listener;

    @Nullable DmaDebugOptions dmaDebug;

    boolean ledger;
    boolean byteExact;

    String backendName = "direct";
    BackendOptions options = BackendOptions.NONE;

    MachineBuilder() {}

    /**
     * Sets how much RAM there is, with the hole of a PC below 4 GiB.
     *
     * @param ramBytes bytes, a multiple of the page size
     * @return this
     */
    public MachineBuilder ramBytes(long ramBytes) {
        return ram(RamMap.sizedWithHole(ramBytes));
    }

    /**
     * Sets which addresses are RAM.
     *
     * @param map the map
     * @return this
     */
    public MachineBuilder ram(RamMap map) {
        ram = Objects.requireNonNull(map, "map");
        return this;
    }

    /**
     * Sets in which steps memory is backed.
     *
     * @param bytes a power of two
     * @return this
     */
    public MachineBuilder chunkBytes(int bytes) {
        chunkBytes = bytes;
        return this;
    }

    /**
     * Sets which RAM the page allocator hands out; all but page 0 by default.
     *
     * @param ranges parts of the RAM
     * @return this
     */
    public MachineBuilder allocatable(List<PhysRange> ranges) {
        allocatable = List.copyOf(ranges);
        return this;
    }

    /**
     * Sets the kernel's virtual layout.
     *
     * @param newLayout the layout
     * @return this
     */
    public MachineBuilder layout(KernelLayout newLayout) {
        layout = Objects.requireNonNull(newLayout, "newLayout");
        return this;
    }

    /**
     * Sets the number of CPUs.
     *
     * @param count at least 1
     * @return this
     */
    public MachineBuilder cpus(int count) {
        if (count < 1 || count > MAX_CPUS) {
            throw new IllegalArgumentException("a machine has 1 to " + MAX_CPUS + " CPUs, not " + count);
        }
        cpus = count;
        return this;
    }

    /**
     * Sets the kernel's command line, of which each backend reads its part.
     *
     * @param text such as {@code swiotlb=65536,force}
     * @return this
     */
    public MachineBuilder commandLine(String text) {
        commandLine = Objects.requireNonNull(text, "text");
        return this;
    }

    /**
     * Sets whose rules hold.
     *
     * @param model the kernel
     * @return this
     */
    public MachineBuilder kernelModel(KernelModel model) {
        kernelModel = Objects.requireNonNull(model, "model");
        return this;
    }

    /**
     * Sets how the kernel was built.
     *
     * @param config the configuration
     * @return this
     */
    public MachineBuilder kernelConfig(KernelConfig config) {
        kernelConfig = Objects.requireNonNull(config, "config");
        return this;
    }

    /**
     * Sets the memory windows of the PCI host bridge.
     *
     * @param windows ranges of physical addresses
     * @return this
     */
    public MachineBuilder hostBridgeWindows(List<PhysRange> windows) {
        hostBridgeWindows = List.copyOf(windows);
        return this;
    }

    /**
     * Sets the contiguous memory areas.
     *
     * @param areas parts of RAM, that the page allocator does not hand out then
     * @return this
     */
    public MachineBuilder cma(CmaAreas areas) {
        cma = Objects.requireNonNull(areas, "areas");
        return this;
    }

    /**
     * Sets the restricted pools that devices may be confined to.
     *
     * @param pools parts of RAM, that the page allocator does not hand out then
     * @return this
     */
    public MachineBuilder restrictedPools(RestrictedPool... pools) {
        restrictedPools = List.of(pools);
        return this;
    }

    /**
     * Sets how PCI devices reach each other's memory.
     *
     * @param judge the topology, or null for a kernel without {@code PCI_P2PDMA}
     * @return this
     */
    public MachineBuilder peerToPeer(@Nullable PeerToPeer judge) {
        peerToPeer = judge;
        return this;
    }

    /**
     * Puts a write-back cache between software and memory ({@link io.pagewalk.dma.memory.CpuCache}). Coherent devices
     * snoop it. For others the kernel needs hooks, such as {@link CacheMaintenance#arm64()} in its {@link ArchConfig};
     * without hooks every device is coherent (dma-core:DEV-7).
     *
     * @param cacheOptions how large it is
     * @return this
     */
    public MachineBuilder cpuCache(CpuCacheOptions cacheOptions) {
        cpuCache = Objects.requireNonNull(cacheOptions, "cacheOptions");
        return this;
    }

    /**
     * Sets who listens to the DMA API.
     *
     * @param factory makes the listener, such as {@code clock -> new MappingLedger(clock::nowNanos)}
     * @return this
     */
    public MachineBuilder listener(ListenerFactory factory) {
        listener = Objects.requireNonNull(factory, "factory");
        return this;
    }

    /**
     * Keeps a book of what drivers hold, with owners: {@link Machine#ledger()}.
     *
     * @return this
     */
    public MachineBuilder ledger() {
        ledger = true;
        return this;
    }

    /**
     * Checks each device access to the byte, whatever the hardware lets pass: {@link Machine#strayAccesses()}. Keeps a
     * {@link #ledger} for it.
     *
     * @return this
     */
    public MachineBuilder byteExact() {
        byteExact = true;
        return this;
    }

    /**
     * Turns dma-debug on, as a kernel with {@code DMA_API_DEBUG} has it; {@link Machine#dmaDebug()} shows what it
     * finds. The command line's {@code dma_debug} parameters count.
     *
     * @param dmaDebugOptions how it works
     * @return this
     */
    public MachineBuilder dmaDebug(DmaDebugOptions dmaDebugOptions) {
        dmaDebug = Objects.requireNonNull(dmaDebugOptions, "dmaDebugOptions");
        return this;
    }

    /**
     * Chooses the backend.
     *
     * @param variant a name that {@link DmaBackends#all()} lists
     * @return this
     */
    public MachineBuilder backend(String variant) {
        backendName = Objects.requireNonNull(variant, "variant");
        return this;
    }

    /**
     * Sets the backend's options.
     *
     * @param newOptions the options
     * @return this
     */
    public MachineBuilder backendOptions(BackendOptions newOptions) {
        options = Objects.requireNonNull(newOptions, "newOptions");
        return this;
    }

    /**
     * Builds the machine.
     *
     * @return the machine
     * @throws IllegalArgumentException when there is no such backend, with a list of those there are in the message, or
     *     when regions set aside overlap or share a name
     */
    public Machine build() {
        requireApart();
        return new Machine(this);
    }

    /** A page has one owner: no two contiguous memory areas or restricted pools share one. */
    private void requireApart() {
        List<PhysRange> kept = new ArrayList<>();
        cma.all().forEach(area -> keep(kept, area.range()));
        Set<String> names = new HashSet<>();
        for (RestrictedPool pool : restrictedPools) {
            keep(kept, pool.range());
            if (!names.add(pool.name())) {
                throw new IllegalArgumentException("two restricted pools are called " + pool.name());
            }
        }
    }

    private static void keep(List<PhysRange> kept, PhysRange range) {
        for (PhysRange other : kept) {
            if (Addresses.lessOrEqual(range.first(), other.last())
                    && Addresses.lessOrEqual(other.first(), range.last())) {
                throw new IllegalArgumentException("regions set aside overlap: " + other + " and " + range);
            }
        }
        kept.add(range);
    }
}
