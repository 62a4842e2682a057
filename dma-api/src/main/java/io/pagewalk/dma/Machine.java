package io.pagewalk.dma;

import io.pagewalk.dma.debug.DmaDebug;
import io.pagewalk.dma.debug.KernelStack;
import io.pagewalk.dma.debug.LiveCalls;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.events.FreedWhileMapped;
import io.pagewalk.dma.events.MappingLedger;
import io.pagewalk.dma.events.StrayAccesses;
import io.pagewalk.dma.held.HeldSnapshot;
import io.pagewalk.dma.held.HeldSource;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.DevicePages;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PageFrames;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One emulated machine: it owns everything that varies, so that two machines in one JVM never meet. Make one with
 * {@link #builder()}; give it devices with {@link #addDevice}.
 *
 * <p>Adding devices is for one thread; what a machine hands out says for itself how it may be used.
 */
public final class Machine implements AutoCloseable {
    private final RamMap ram;
    private final PhysicalMemory memory;
    private final CpuMemory cpuMemory;
    private final KernelMemory kernelMemory;
    private final PageFrames frames;
    private final PageAllocator pages;
    private final DevicePages devicePages = new DevicePages();
    private final KernelLayout layout;
    private final int cpus;
    private final String commandLine;
    private final KernelModel kernelModel;
    private final KernelConfig kernelConfig;
    private final @Nullable CacheMaintenance cacheMaintenance;
    private final List<PhysRange> hostBridgeWindows;
    private final CmaAreas cma;
    private final List<RestrictedPool> restrictedPools;
    private final @Nullable PeerToPeer peerToPeer;
    private final VirtualClock clock = new VirtualClock();
    private final KernelLog log = new KernelLog(clock);
    private final FaultLog faults = new FaultLog(clock);
    private final FailureInjection failures = new FailureInjection();
    private final Scatterlists scatterlists;
    private final CoherentRegions coherentRegions;
    private final Interrupts interrupts;
    private final @Nullable LiveCalls liveCalls;
    private final @Nullable MappingLedger ledger;
    private final @Nullable StrayAccesses strayAccesses;
    private final @Nullable DmaListener listener;
    private final Map<String, Device> devices = new LinkedHashMap<>();
    private final Map<Class<?>, Object> extensions = new HashMap<>();
    private final List<HeldSource> heldSources = new CopyOnWriteArrayList<>();
    private final RequesterIds requesterIds = new RequesterIds();
    private final String backendName;
    private final DmaBackend backend;

    Machine(MachineBuilder builder) {
        ram = builder.ram;
        memory = PhysicalMemory.create(ram, builder.chunkBytes);
        cpuMemory = builder.cpuCache == null ? new CpuMemory(memory) : new CpuMemory(memory, builder.cpuCache);
        frames = new PageFrames();
        kernelConfig = builder.dmaDebug == null ? builder.kernelConfig : builder.kernelConfig.withDmaApiDebug(true);
        cacheMaintenance = boundHooks();
        pages = PageAllocator.create(
                memory,
                frames,
                builder.allocatable == null ? afterFirstPage(ram) : builder.allocatable,
                kernelConfig.arch().zones());
        cma = builder.cma.copy();
        restrictedPools = builder.restrictedPools;
        reserveRegions();
        peerToPeer = builder.peerToPeer;
        layout = builder.layout;
        kernelMemory = new KernelMemory(layout, cpuMemory);
        coherentRegions = new CoherentRegions(this);
        cpus = builder.cpus;
        interrupts = new Interrupts(cpus);
        commandLine = builder.commandLine;
        kernelModel = builder.kernelModel;
        hostBridgeWindows = builder.hostBridgeWindows;
        scatterlists = new Scatterlists(kernelConfig, log, failures, devicePages);
        liveCalls = builder.dmaDebug == null ? null : LiveCalls.of(this, builder.dmaDebug);
        DmaListener told = builder.listener == null ? null : builder.listener.listenTo(clock);
        ledger = ledger(builder, told);
        strayAccesses = builder.byteExact && ledger != null ? new StrayAccesses(ledger, clock::nowNanos) : null;
        listener = listener(told);
        if (ledger != null) {
            ledger.watchPages(frames, this::freedWhileMapped);
        }
        backendName = builder.backendName;
        backend = DmaBackends.byName(backendName).provider().create(backendName, this, builder.options);
    }

    private @Nullable CacheMaintenance boundHooks() {
        CacheMaintenance hooks = kernelConfig.cacheMaintenance();
        return hooks == null ? null : hooks.on(cpuMemory);
    }

    /** A ledger that listens already is the machine's. */
    private @Nullable MappingLedger ledger(MachineBuilder builder, @Nullable DmaListener told) {
        if (told instanceof MappingLedger ours) {
            return ours;
        }
        return builder.ledger || builder.byteExact ? new MappingLedger(clock::nowNanos) : null;
    }

    private @Nullable DmaListener listener(@Nullable DmaListener told) {
        DmaListener books = ledger == told ? liveCalls : both(liveCalls, ledger);
        return both(books, told);
    }

    private static @Nullable DmaListener both(@Nullable DmaListener first, @Nullable DmaListener second) {
        if (first == null || second == null) {
            return first == null ? second : first;
        }
        return first.and(second);
    }

    /** Page 0 is never handed out, as on a PC. */
    private static List<PhysRange> afterFirstPage(RamMap ram) {
        List<PhysRange> ranges = new ArrayList<>();
        for (PhysRange range : ram.ranges()) {
            long first = Addresses.max(range.first(), Addresses.PAGE_SIZE);
            if (Addresses.lessThan(first, range.last())) {
                ranges.add(new PhysRange(first, range.last()));
            }
        }
        return ranges;
    }

    private void reserveRegions() {
        cma.all().forEach(area -> reserve(area.range()));
        restrictedPools.forEach(pool -> reserve(pool.range()));
    }

    /** Keeps the page allocator off a region of RAM, if it hands out any of it. */
    private void reserve(PhysRange range) {
        ram.require(range.first(), range.sizeBytes());
        if (pages.hasFreePagesWithin(range.first(), range.sizeBytes())) {
            pages.reserve(range.first(), range.sizeBytes());
        }
    }

    /**
     * Starts to describe a machine: 4 GiB of RAM with a PC's hole, 2 CPUs, Linux 6.12, backend {@code direct}.
     *
     * @return a builder
     */
    public static MachineBuilder builder() {
        return new MachineBuilder();
    }

    /**
     * Adds a device and attaches it to the backend.
     *
     * @param config what it is
     * @return the device
     * @throws IllegalArgumentException when its name or requester id is taken, or no id is left to choose
     */
    public Device addDevice(DeviceConfig config) {
        if (devices.containsKey(config.name())) {
            throw new IllegalArgumentException("there is a device " + config.name() + " already");
        }
        Device device = new Device(this, config, requesterIds.free(config), backend);
        devices.put(config.name(), device);
        requesterIds.take(device.requesterId());
        return device;
    }

    /**
     * Finds a device.
     *
     * @param name its name
     * @return the device, or null
     */
    public @Nullable Device device(String name) {
        return devices.get(Objects.requireNonNull(name, "name"));
    }

    /**
     * All devices in the order in which they were added.
     *
     * @return a copy
     */
    public List<Device> devices() {
        return new ArrayList<>(devices.values());
    }

    /**
     * The bytes, as hardware sees them.
     *
     * @return the memory
     */
    public PhysicalMemory memory() {
        return memory;
    }

    /**
     * The bytes, as software sees them.
     *
     * @return the CPU's view
     */
    public CpuMemory cpuMemory() {
        return cpuMemory;
    }

    /**
     * The bytes, as kernel code names them.
     *
     * @return memory by kernel virtual address
     */
    public KernelMemory kernelMemory() {
        return kernelMemory;
    }

    /**
     * Regions of coherent memory (dma-core:COH-1, COH-6).
     *
     * @return where they are declared, and the global one is found
     */
    public CoherentRegions coherentRegions() {
        return coherentRegions;
    }

    /**
     * Which CPUs take interrupts.
     *
     * @return all of them at first
     */
    public Interrupts interrupts() {
        return interrupts;
    }

    /**
     * Which physical addresses are RAM.
     *
     * @return the map
     */
    public RamMap ram() {
        return ram;
    }

    /**
     * Data of page frames.
     *
     * @return the frames
     */
    public PageFrames frames() {
        return frames;
    }

    /**
     * The page allocator.
     *
     * @return the allocator
     */
    public PageAllocator pages() {
        return pages;
    }

    /**
     * Which pages are device memory.
     *
     * @return the registry, empty at first
     */
    public DevicePages devicePages() {
        return devicePages;
    }

    /**
     * Where scatterlists are allocated and freed.
     *
     * @return the machine's one
     */
    public Scatterlists scatterlists() {
        return scatterlists;
    }

    /**
     * The kernel's virtual layout.
     *
     * @return the layout
     */
    public KernelLayout layout() {
        return layout;
    }

    /**
     * How many CPUs there are.
     *
     * @return at least 1
     */
    public int cpus() {
        return cpus;
    }

    /**
     * The kernel's command line.
     *
     * @return possibly empty
     */
    public String commandLine() {
        return commandLine;
    }

    /**
     * Whose rules hold where kernels differ.
     *
     * @return the model
     */
    public KernelModel kernelModel() {
        return kernelModel;
    }

    /**
     * How the kernel was built.
     *
     * @return the configuration
     */
    public KernelConfig kernelConfig() {
        return kernelConfig;
    }

    /**
     * What the kernel does to the caches of this machine for devices that do not snoop them.
     *
     * @return the configuration's hooks, bound to this machine, or null where every device is coherent (dma-core:DEV-7)
     */
    public @Nullable CacheMaintenance cacheMaintenance() {
        return cacheMaintenance;
    }

    /**
     * Memory windows of the PCI host bridge, which an IOMMU keeps free of device addresses (iommu:DINIT-7).
     *
     * @return the windows
     */
    public List<PhysRange> hostBridgeWindows() {
        return hostBridgeWindows;
    }

    /**
     * The contiguous memory areas (dma-core:ALC-9).
     *
     * @return the areas, none unless the builder was given some
     */
    public CmaAreas cma() {
        return cma;
    }

    /**
     * The restricted pools that devices may be confined to (dma-core:SWX-1).
     *
     * @return the regions
     */
    public List<RestrictedPool> restrictedPools() {
        return restrictedPools;
    }

    /**
     * How PCI devices reach each other's memory (dma-core:DIR-33).
     *
     * @return the judge, or null for a kernel without {@code PCI_P2PDMA}
     */
    public @Nullable PeerToPeer peerToPeer() {
        return peerToPeer;
    }

    /**
     * Finds a part of the backend by its type, for callers that know the backend.
     *
     * @param <T> the type
     * @param type the type, which the backend documents
     * @return the part, or null when this backend has none of that type
     */
    public <T> @Nullable T part(Class<T> type) {
        return backend.part(Objects.requireNonNull(type, "type"));
    }

    /**
     * Finds what a module above keeps of this machine, such as the memory of its processes, and makes it when it is
     * asked for first. Thread-safe.
     *
     * @param <T> the type
     * @param type its type, of which the machine has one
     * @param maker makes it; must not ask for another of the same type
     * @return the machine's one
     */
    public <T> T extension(Class<T> type, Function<Machine, T> maker) {
        synchronized (extensions) {
            Object found = extensions.get(type);
            if (found == null) {
                found = maker.apply(this);
                extensions.put(type, found);
            }
            return type.cast(found);
        }
    }

    /**
     * The machine's time.
     *
     * @return the clock
     */
    public VirtualClock clock() {
        return clock;
    }

    /**
     * What the kernel logged.
     *
     * @return the log
     */
    public KernelLog log() {
        return log;
    }

    /**
     * What devices could not reach.
     *
     * @return the log
     */
    public FaultLog faults() {
        return faults;
    }

    /**
     * Failure injection.
     *
     * @return the machine's points
     */
    public FailureInjection failures() {
        return failures;
    }

    /**
     * Who listens to the DMA API.
     *
     * @return the listener, or null
     */
    public @Nullable DmaListener listener() {
        return listener;
    }

    /**
     * The book of what drivers hold.
     *
     * @return the ledger, or null when the builder did not ask for one
     */
    public @Nullable MappingLedger ledger() {
        return ledger;
    }

    /**
     * Everything that is held now: mappings and allocations with their owners, slots and other state of the backend,
     * and what the sources say. Exact while no call is running.
     *
     * @return records, which print themselves
     */
    public HeldSnapshot held() {
        return HeldSnapshot.of(this, List.copyOf(heldSources));
    }

    /**
     * Adds somebody who holds something of this machine, such as pins of processes.
     *
     * @param source asked for each snapshot
     */
    public void addHeldSource(HeldSource source) {
        heldSources.add(Objects.requireNonNull(source, "source"));
    }

    /**
     * Device accesses that left the bytes of their mapping.
     *
     * @return the records, or null when the builder did not ask for byte-exact checking
     */
    public @Nullable StrayAccesses strayAccesses() {
        return strayAccesses;
    }

    /**
     * What watches the calls of the DMA API for misuse.
     *
     * @return dma-debug, or null when the builder did not ask for it
     */
    public @Nullable DmaDebug dmaDebug() {
        return liveCalls == null ? null : liveCalls.debug();
    }

    /** The kernel would not notice; what the device does to the next owner's data comes later, or never. */
    private void freedWhileMapped(FreedWhileMapped event) {
        log.message("page_freed_while_mapped", event.describe());
        if (listener != null) {
            listener.freedWhileMapped(event);
        }
    }

    /** Tells the books who a mapping is for. */
    void tag(Device device, long dmaAddr, String owner) {
        Objects.requireNonNull(owner, "owner");
        if (ledger != null) {
            ledger.tag(device, dmaAddr, owner);
        }
        if (liveCalls != null) {
            liveCalls.debug().tag(LiveCalls.deviceOf(device), dmaAddr, owner);
        }
    }

    /**
     * Says which stack a CPU is on from now on, so that dma-debug finds buffers there (dma-core:DBG-16).
     *
     * @param cpu from 0
     * @param stack the stack of its task, or null for none that is known
     */
    public void runOnStack(int cpu, @Nullable KernelStack stack) {
        if (liveCalls != null) {
            liveCalls.runOn(cpu, stack);
        }
    }

    /**
     * The name of the backend's variant.
     *
     * @return such as {@code iommu-strict}
     */
    public String backendName() {
        return backendName;
    }

    /**
     * Reports what the backend counted.
     *
     * @param sink takes the numbers
     */
    public void report(MetricSink sink) {
        backend.report(sink);
    }

    /**
     * Whether the backend promises that a device access to an unmapped address is blocked at once.
     *
     * @return what {@link DmaBackend#blocksAfterUnmap()} says
     */
    public boolean blocksAfterUnmap() {
        return backend.blocksAfterUnmap();
    }

    /** Lets the backend do what it put off: flushes, returns of cached addresses. */
    public void quiesce() {
        backend.quiesce();
    }

    /**
     * Checks the backend's structures. No other call may be running.
     *
     * @param violation takes a sentence for each broken invariant
     */
    public void checkStructure(Consumer<String> violation) {
        backend.checkStructure(Objects.requireNonNull(violation, "violation"));
    }

    /**
     * Checks that nothing is held once everything was unmapped and {@link #quiesce()} was called.
     *
     * @param violation takes a sentence for each thing still held
     */
    public void checkIdle(Consumer<String> violation) {
        backend.checkIdle(Objects.requireNonNull(violation, "violation"));
    }

    /**
     * Whether the addresses of live mappings are the backend's own, so that no two of a device overlap.
     *
     * @return what {@link DmaBackend#ownsAddresses()} promises
     */
    public boolean ownsAddresses() {
        return backend.ownsAddresses();
    }

    /**
     * Closes the backend, which gives its own memory back. Unmap and free before: nothing looks at what is still held,
     * and what is asked of the machine or its devices afterwards has no meaning.
     */
    @Override
    public void close() {
        backend.close();
    }
}
