package io.pagewalk.dma;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.pool.DmaPools;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import org.jspecify.annotations.Nullable;

/**
 * A device of a machine: what its driver has said of it, its handles of the DMA API, and its bus.
 *
 * <p>Implements dma-core:DEV-1 to DEV-9, MSK-5 to MSK-8, MSK-15, FE-40, COH-6. The driver's settings are for one
 * thread; the handles and the bus may be used from several, by calls that are ordered after the settings.
 */
public final class Device extends DeviceLimits {
    private static final long DEFAULT_MASK = 0xffff_ffffL;

    private final Machine machine;
    private final DeviceConfig config;
    private final int requesterId;
    private final boolean coherent;
    private final @Nullable CmaArea cmaArea;
    private final DmaOps ops;
    private final DeviceBus bus;
    private final Dma[] handles;

    /*
     * Plain fields, like the kernel's: whoever is handed the device, or an address that it may use, is ordered after what
     * was stored. Were they volatile, a mapping call could keep nothing that was read before it, which costs four times
     * what the call does.
     */
    private boolean hasStreamingMask;
    private boolean masksAreOne;
    private long streamingMask;
    private long coherentMask;
    private final boolean syncExists;
    private final boolean syncNeverSkipped;
    private final DmaPools pools = new DmaPools();
    private final LiveAllocations liveAllocations = new LiveAllocations();
    private final ManagedResources managedResources = new ManagedResources();
    private boolean skipSync;
    private boolean skipSyncCalls;
    private boolean usesIoTlb;
    private long busLimit;
    private volatile @Nullable CoherentRegion coherentRegion;

    Device(Machine machine, DeviceConfig config, int requesterId, DmaBackend backend) {
        super(machine, config);
        this.machine = machine;
        this.config = config;
        this.requesterId = requesterId;
        ArchConfig arch = machine.kernelConfig().arch();
        this.coherent = config.coherent() || arch.cacheMaintenance() == null;
        String area = config.cmaArea();
        this.cmaArea = area == null ? null : machine.cma().named(area);
        Long mask = config.streamingMask();
        this.hasStreamingMask = mask != null;
        this.streamingMask = mask == null ? 0 : mask;
        this.coherentMask = config.coherentMask();
        this.busLimit = config.busLimit();
        this.syncExists = machine.kernelConfig().dmaNeedSync();
        this.syncNeverSkipped = machine.kernelConfig().dmaApiDebug();
        skipSync(false);
        this.ops = DmaDispatch.of(this, backend, backend.attach(this));
        this.bus = new DeviceBus(this, backend.port(this), machine.memory(), machine.cpuMemory(), machine.faults());
        this.handles = new Dma[machine.cpus()];
        for (int cpu = 0; cpu < handles.length; cpu++) {
            handles[cpu] = new Dma(this, cpu, ops);
        }
    }

    /**
     * The machine.
     *
     * @return the owner
     */
    public Machine machine() {
        return machine;
    }

    /**
     * What the device was made from.
     *
     * @return the configuration
     */
    public DeviceConfig config() {
        return config;
    }

    /**
     * The name.
     *
     * @return unique on the machine
     */
    public String name() {
        return config.name();
    }

    /**
     * Bus, device and function as on PCI.
     *
     * @return 0 to 0xffff, unique on the machine
     */
    public int requesterId() {
        return requesterId;
    }

    /**
     * The DMA API as CPU 0 calls it.
     *
     * @return the handle, always the same
     */
    public Dma dma() {
        return handles[0];
    }

    /**
     * The DMA API as a CPU calls it.
     *
     * @param cpu from 0
     * @return the handle, always the same
     */
    public Dma dma(int cpu) {
        if (cpu < 0 || cpu >= handles.length) {
            throw new IllegalArgumentException("CPU " + cpu + " of a machine with " + handles.length);
        }
        return handles[cpu];
    }

    /**
     * The way by which a device model reaches memory.
     *
     * @return the bus
     */
    public DeviceBus bus() {
        return bus;
    }

    /**
     * Where a backend notes why a call of a CPU failed.
     *
     * @param cpu from 0
     * @return the slot of that CPU's handle
     */
    public FailureSlot failure(int cpu) {
        return dma(cpu).failureSlot();
    }

    /**
     * Whether the device has a streaming mask at all (dma-core:DEV-1).
     *
     * @return false for a device that cannot do DMA
     */
    public boolean hasStreamingMask() {
        return hasStreamingMask;
    }

    /**
     * The stored streaming mask, {@code *dma_mask}.
     *
     * @return the mask, 0 when there is none
     */
    public long streamingMask() {
        return streamingMask;
    }

    /**
     * {@code dma_get_mask}: the streaming mask, 32 bits when unset or zero (dma-core:DEV-3).
     *
     * @return the mask
     */
    public long mask() {
        return streamingMask == 0 ? DEFAULT_MASK : streamingMask;
    }

    /**
     * The mask of coherent allocations.
     *
     * @return the mask
     */
    public long coherentMask() {
        return coherentMask;
    }

    /**
     * Highest address the bus in between passes.
     *
     * @return the limit, 0 for none
     */
    public long busLimit() {
        return busLimit;
    }

    /**
     * The smaller of stored streaming mask and bus limit, either ignored when 0: what dma-core:DIR-7 compares with.
     *
     * @return the highest address that mappings may reach
     */
    public long streamingLimit() {
        return Addresses.minNotZero(streamingMask, busLimit);
    }

    /**
     * The smaller of coherent mask and bus limit, either ignored when 0 (dma-core:DIR-9).
     *
     * @return the highest address that coherent memory may have
     */
    public long coherentLimit() {
        return Addresses.minNotZero(coherentMask, busLimit);
    }

    /**
     * {@code dma_set_mask} (dma-core:MSK-5, MSK-8).
     *
     * @param mask the new streaming mask
     * @return 0, or -EIO with nothing changed when the device has no mask or the mask cannot be served
     */
    public int setMask(long mask) {
        if (!hasStreamingMask || !ops.isMaskSupported(this, mask)) {
            return -Errno.EIO;
        }
        streamingMask = mask;
        if (masksAreOne) {
            coherentMask = mask;
        }
        skipSync(!ops.mayNeedSync(this));
        return 0;
    }

    /**
     * {@code dma_set_coherent_mask} (dma-core:MSK-6).
     *
     * @param mask the new mask
     * @return 0, or -EIO with nothing changed
     */
    public int setCoherentMask(long mask) {
        if (!ops.isMaskSupported(this, mask)) {
            return -Errno.EIO;
        }
        coherentMask = mask;
        if (masksAreOne) {
            streamingMask = mask;
        }
        return 0;
    }

    /**
     * {@code dma_set_mask_and_coherent} (dma-core:MSK-7).
     *
     * @param mask both masks
     * @return 0, or -EIO with nothing changed
     */
    public int setMaskAndCoherent(long mask) {
        int result = setMask(mask);
        if (result == 0) {
            setCoherentMask(mask);
        }
        return result;
    }

    /**
     * {@code dma_coerce_mask_and_coherent}: from now on the streaming mask is the coherent one, also for a device that
     * had none; then sets it (dma-core:MSK-7).
     *
     * @param mask the one mask
     * @return 0, or -EIO with the coherent mask unchanged
     */
    public int coerceMaskAndCoherent(long mask) {
        streamingMask = coherentMask;
        masksAreOne = true;
        hasStreamingMask = true;
        return setMaskAndCoherent(mask);
    }

    /**
     * {@code dma_addressing_limited}: whether some memory is out of reach (dma-core:MSK-9).
     *
     * @return true when mask and bus limit do not cover what is required, or dma-ranges leave RAM out
     */
    public boolean isAddressingLimited() {
        return Addresses.lessThan(Addresses.minNotZero(mask(), busLimit), ops.requiredMask(this))
                || !ops.isAllRamMapped(this);
    }

    /**
     * Whether the device needs no sync, {@code dma_skip_sync} (dma-core:DEV-8).
     *
     * @return true from a set_mask that allows it until the first bounce
     */
    public boolean skipsSync() {
        return skipSync;
    }

    /** Ends the skipping of sync calls, since a mapping was bounced (dma-core:SWM-7). */
    public void stopSkippingSync() {
        if (skipSync) {
            skipSync(false);
        }
    }

    private void skipSync(boolean yes) {
        skipSync = yes;
        skipSyncCalls = !syncExists || (yes && !syncNeverSkipped);
    }

    /**
     * Whether the device was ever given slots of a bounce pool, {@code dma_uses_io_tlb} (dma-core:DEV-10). Only a
     * kernel with dynamic pools keeps it.
     *
     * @return true for good from the first bounce on
     */
    public boolean usesIoTlb() {
        return usesIoTlb;
    }

    /** Notes that the device got slots of a bounce pool, before it learns their address (dma-core:SWD-7). */
    public void startUsingIoTlb() {
        if (!usesIoTlb) {
            usesIoTlb = true;
        }
    }

    /** Whether sync calls end before they look at their arguments (dma-core:FE-40, TYP-7). */
    boolean skipsSyncCalls() {
        return skipSyncCalls;
    }

    /**
     * {@code dma_pci_p2pdma_supported} (dma-core:MSK-15).
     *
     * @return false for a device with operations of its own, whether or not it goes around them
     */
    public boolean isPciP2pdmaSupported() {
        return !(ops instanceof DmaDispatch dispatch && dispatch.hasOwnOps());
    }

    /** Whether allocations go to the device's own operations. */
    boolean allocatesByOwnOps() {
        return ops instanceof DmaDispatch dispatch && dispatch.allocatesByOwnOps(this);
    }

    /**
     * {@code dma_declare_coherent_memory}: gives the device a region that all its coherent allocations come from
     * (dma-core:COH-1).
     *
     * @param physAddr first byte
     * @param deviceAddr its DMA address
     * @param sizeBytes length
     * @return what {@link CoherentRegions#declare} returns
     */
    public int declareCoherentMemory(long physAddr, long deviceAddr, long sizeBytes) {
        return machine.coherentRegions().declare(this, physAddr, deviceAddr, sizeBytes);
    }

    /** {@code dma_release_coherent_memory}: takes the device's region away, if it has one (dma-core:COH-6). */
    public void releaseCoherentMemory() {
        CoherentRegion region = coherentRegion;
        coherentRegion = null;
        if (region != null) {
            region.unmap();
        }
    }

    int take(CoherentRegion region) {
        if (coherentRegion != null) {
            return -Errno.EBUSY;
        }
        coherentRegion = region;
        return 0;
    }

    /**
     * The device's own region of coherent memory, {@code dma_mem} (dma-core:DEV-11).
     *
     * @return the region, or null
     */
    public @Nullable CoherentRegion coherentRegion() {
        return coherentRegion;
    }

    /**
     * The device's pools of small blocks, {@code dma_pools} (dma-core:DEV-11).
     *
     * @return those created and not destroyed
     */
    public DmaPools pools() {
        return pools;
    }

    LiveAllocations liveAllocations() {
        return liveAllocations;
    }

    ManagedResources managedResources() {
        return managedResources;
    }

    /**
     * Lets the driver go: what it allocated with {@code dmam_} calls is freed, then the listener hears of it
     * (dma-core:FE-73, DBG-70).
     */
    public void unbindDriver() {
        releaseManaged();
        DmaListener listener = machine.listener();
        if (listener != null) {
            listener.driverUnbound(this);
        }
    }

    /**
     * Whether mappings of the device may be bounced, {@code is_swiotlb_active} (dma-core:DBG-22).
     *
     * @return true when it has a pool
     */
    public boolean isSwiotlbActive() {
        return ops.isSwiotlbActive(this);
    }

    /** Frees what its driver allocated with {@code dmam_} calls, the latest first, as unbinding it does. */
    public void releaseManaged() {
        dma().memory().managed().releaseAll();
    }

    /**
     * Stores a streaming mask as bus code does, without asking whether it can be served and without touching
     * {@link #skipsSync()}; a driver calls {@link #setMask}.
     *
     * @param mask any value, also 0 (dma-core:DIR-8)
     */
    public void storeStreamingMask(long mask) {
        hasStreamingMask = true;
        streamingMask = mask;
        if (masksAreOne) {
            coherentMask = mask;
        }
    }

    /**
     * Stores a coherent mask as bus code does, without asking; a driver calls {@link #setCoherentMask}.
     *
     * @param mask any value, also 0
     */
    public void storeCoherentMask(long mask) {
        coherentMask = mask;
        if (masksAreOne) {
            streamingMask = mask;
        }
    }

    /**
     * Changes what is known of the bus in between (dma-core:DEV-2). The wires themselves stay what
     * {@link DeviceConfig#busLimit()} says.
     *
     * @param limit highest address it passes, 0 for none
     */
    public void setBusLimit(long limit) {
        busLimit = limit;
    }

    /**
     * Whether the device snoops the CPU's caches, as every device does where the kernel has no cache hooks
     * (dma-core:DEV-7).
     *
     * @return true when no cache maintenance is needed
     */
    public boolean isCoherent() {
        return coherent;
    }

    /**
     * The device's own contiguous memory area (dma-core:DEV-11).
     *
     * @return the area, or null
     */
    public @Nullable CmaArea cmaArea() {
        return cmaArea;
    }

    /**
     * Whether the device is trusted.
     *
     * @return false for one on an external port
     */
    public boolean isTrusted() {
        return config.trusted();
    }

    @Override
    public String toString() {
        return name();
    }
}
