package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_MASK;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_SHIFT;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A bounce allocator, {@code io_tlb_mem}: whoever cannot let a device reach a buffer maps it here and gives the device
 * the bounce buffer instead. It has a pool, or none; several where the kernel lets pools grow. Bounce addresses are
 * physical ("tlb") addresses; making DMA addresses of them is up to the caller.
 *
 * <p>Implements dma-core:SWC-22 to SWC-24, SWM-1 to SWM-9, SWM-11, SWM-12, SWB-6, SWB-8 to SWB-12, SWX-5, SWX-6,
 * DIR-13, and by its dynamic pools SWD-1 to SWD-9. Found through {@link Swiotlb}. Thread-safe as memory is: two calls
 * on one bounce buffer need their own order. Nothing here allocates unless it fails, or makes a pool for one mapping.
 */
public final class SwiotlbPool {
    private static final long NO_ORIGINAL = 0;

    private final String name;
    private final boolean forced;
    private final boolean forAlloc;
    private final BounceCopy copy;
    private final FailurePoint slotsPoint;
    private final PoolRefusal refusal;
    /** Null in a kernel whose allocators have one pool each, which is all that the common way tests. */
    private final @Nullable DynamicPools dynamic;

    /** Plain, as each call reads it: it changes at boot or while nothing is mapped, and its fields are final. */
    private @Nullable IoTlbPool pool;

    private volatile IoTlbPool[] onlyPool = {};

    /** Makes a default allocator that never has more than one pool. */
    SwiotlbPool(Machine machine, @Nullable IoTlbPool pool, boolean forced) {
        this(machine, pool, "", forced, false, null);
    }

    /** Makes the machine's default allocator, as its kernel was built. */
    static SwiotlbPool ofMachine(Machine machine, @Nullable IoTlbPool pool, boolean forced, SwiotlbDefaults defaults) {
        return new SwiotlbPool(machine, pool, "", forced, false, dynamicPools(machine, defaults, ""));
    }

    /** Makes the allocator of a restricted pool, which bounces and allocates everything (SWX-1). */
    static SwiotlbPool restricted(Machine machine, IoTlbPool pool, String name, SwiotlbDefaults defaults) {
        return new SwiotlbPool(machine, pool, name, true, true, dynamicPools(machine, defaults, name));
    }

    private static @Nullable DynamicPools dynamicPools(Machine machine, SwiotlbDefaults defaults, String name) {
        return machine.kernelConfig().swiotlbDynamic() ? new DynamicPools(machine, defaults, name) : null;
    }

    private SwiotlbPool(
            Machine machine,
            @Nullable IoTlbPool pool,
            String name,
            boolean forced,
            boolean forAlloc,
            @Nullable DynamicPools dynamic) {
        this.dynamic = dynamic;
        this.name = name;
        this.forced = forced;
        this.forAlloc = forAlloc;
        this.copy = new BounceCopy(machine);
        this.slotsPoint = machine.failures().point("swiotlb.slots");
        this.refusal = new PoolRefusal(machine.log());
        use(pool);
    }

    /** Adds the pool of a late boot, or takes the pool away (SWC-9, SWC-11, SWC-23). */
    final void use(@Nullable IoTlbPool newPool) {
        if (dynamic != null) {
            dynamic.use(newPool);
        }
        onlyPool = newPool == null ? new IoTlbPool[0] : new IoTlbPool[] {newPool};
        pool = newPool;
    }

    /** The pools of a kernel that lets them grow; null in another. */
    @Nullable DynamicPools dynamic() {
        return dynamic;
    }

    /**
     * The region of a restricted pool.
     *
     * @return its name, empty for the default allocator
     */
    public String name() {
        return name;
    }

    /**
     * Whether coherent memory comes from here too, {@code for_alloc} (dma-core:SWX-1).
     *
     * @return true for a restricted pool
     */
    public boolean isForAlloc() {
        return forAlloc;
    }

    /**
     * Whether there are slots (dma-core:DIR-13).
     *
     * @return false when a boot needed no pool or could not have one
     */
    public boolean isActive() {
        return pool != null;
    }

    /**
     * Whether every mapping is to be bounced, pool or not (dma-core:DIR-10).
     *
     * @return {@code force_bounce}
     */
    public boolean isForced() {
        return forced;
    }

    /**
     * Whether an address lies in a pool that a device's bounces may be in (dma-core:SWC-24).
     *
     * @param device the device
     * @param physAddr a physical address
     * @return true when it does
     */
    public boolean contains(Device device, long physAddr) {
        return findPool(device, physAddr) != null;
    }

    /**
     * Takes a bounce buffer for a buffer and copies the buffer into it, whatever the direction (dma-core:SWB-6).
     *
     * @param device the device
     * @param cpu the CPU that maps; its area is searched first
     * @param physAddr first byte of the buffer, RAM
     * @param sizeBytes length
     * @param allocAlignMask alignment minus one that the bounce buffer's start and length are to have, 0 for none; at
     *     most a page's, larger ones work with a WARN (SWM-2)
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}, of which {@code NO_WARN} counts
     * @return physical address of the bounce buffer, with the buffer's low address bits as the device's minimum
     *     alignment asks, or all ones with the cause in {@link Device#failure(int)}
     * @throws KernelBugException when it would take no slot (SWM-12), or the buffer is not RAM; nothing is held then
     */
    public long map(
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            long allocAlignMask,
            DmaDirection direction,
            int attrs) {
        IoTlbPool slots = pool;
        if (slots == null) {
            refusal.withoutPool(device, cpu, physAddr, sizeBytes);
            return INVALID_PHYS_ADDR;
        }
        if (Addresses.lessThan(SwiotlbLayout.LARGEST_ALLOC_ALIGN_MASK, allocAlignMask)) {
            refusal.warnOfAlignment(device, allocAlignMask);
        }
        long minAlignMask = device.minAlignMask();
        long fullOffset = physAddr & minAlignMask & (allocAlignMask | SLOT_MASK);
        long totalBytes = Addresses.alignUp(sizeBytes + fullOffset, allocAlignMask + 1);
        long slotAddr = allocate(slots, device, cpu, physAddr, totalBytes, allocAlignMask);
        if (slotAddr == INVALID_PHYS_ADDR) {
            refusal.full(pools(), device, cpu, physAddr, sizeBytes, totalBytes, allocAlignMask, attrs);
            return INVALID_PHYS_ADDR;
        }
        device.stopSkippingSync();
        IoTlbPool holder = dynamic == null ? slots : poolOf(device, slotAddr);
        int padding = (int) (fullOffset >>> SLOT_SHIFT);
        int mapped = holder.slotOf(slotAddr) + padding;
        holder.table().describe(mapped, (int) SwiotlbLayout.slots(totalBytes) - padding, physAddr, padding);
        long tlbAddr = slotAddr + fullOffset;
        requireRam(holder, device, cpu, tlbAddr, physAddr, sizeBytes);
        copy.copy(holder, device, tlbAddr, sizeBytes, true);
        return tlbAddr;
    }

    /** The address of the first slot, or all ones. */
    private long allocate(
            IoTlbPool slots, Device device, int cpu, long physAddr, long totalBytes, long allocAlignMask) {
        boolean grows = dynamic != null && dynamic.canGrow();
        boolean exhausted = grows ? slotsPoint.fails() : slotsPoint.failsCall(); // growth may serve it all the same
        if (dynamic != null) {
            return dynamic.allocate(device, cpu, physAddr, totalBytes, allocAlignMask, exhausted);
        }
        return exhausted ? INVALID_PHYS_ADDR : slots.allocate(device, cpu, physAddr, totalBytes, allocAlignMask);
    }

    private void release(IoTlbPool slots, Device device, int cpu, long tlbAddr) {
        if (dynamic != null) {
            dynamic.release(slots, device, cpu, tlbAddr);
        } else {
            slots.release(tlbAddr, device.minAlignMask());
        }
    }

    /** The kernel's copy would run into a hole of its direct map. */
    private void requireRam(IoTlbPool slots, Device device, int cpu, long tlbAddr, long physAddr, long sizeBytes) {
        if (!copy.isPossible(physAddr, sizeBytes)) {
            release(slots, device, cpu, tlbAddr);
            throw copy.impossible(device, physAddr, sizeBytes);
        }
    }

    /**
     * Gives a bounce buffer back, all of it whatever the size says (dma-core:DIR-15). The device's bytes are copied to
     * the buffer first if it may have written them.
     *
     * @param device the device
     * @param cpu the CPU that unmaps
     * @param tlbAddr what {@link #map} returned
     * @param sizeBytes how many bytes to copy back
     * @param direction the direction of the map
     * @param attrs bits of {@link DmaAttrs}, of which {@code SKIP_CPU_SYNC} suppresses the copy
     * @throws KernelBugException when no area of the pool has such a slot (SWR-1)
     */
    public void unmap(Device device, int cpu, long tlbAddr, long sizeBytes, DmaDirection direction, int attrs) {
        IoTlbPool slots = poolOf(device, tlbAddr);
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0 && direction.deviceWrites()) {
            copy.copy(slots, device, tlbAddr, sizeBytes, false);
        }
        release(slots, device, cpu, tlbAddr);
    }

    /**
     * Copies what the device wrote to the buffer (dma-core:SWB-8); nothing for {@code TO_DEVICE}.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param tlbAddr first byte of the part; one outside the pool was not bounced and has nothing to copy
     * @param sizeBytes length of the part
     * @param direction the direction given to sync, whatever that of the map was (SWB-10)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void syncForCpu(Device device, int cpu, long tlbAddr, long sizeBytes, DmaDirection direction) {
        IoTlbPool slots = findPool(device, tlbAddr);
        if (slots == null) {
            return;
        }
        requireDirection(direction, "SWB-8");
        if (direction.deviceWrites()) {
            copy.copy(slots, device, tlbAddr, sizeBytes, false);
        }
    }

    /**
     * Copies what the CPU wrote to the bounce buffer (dma-core:SWB-9); nothing for {@code FROM_DEVICE}.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param tlbAddr first byte of the part; one outside the pool was not bounced and has nothing to copy
     * @param sizeBytes length of the part
     * @param direction the direction given to sync, whatever that of the map was (SWB-10)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void syncForDevice(Device device, int cpu, long tlbAddr, long sizeBytes, DmaDirection direction) {
        IoTlbPool slots = findPool(device, tlbAddr);
        if (slots == null) {
            return;
        }
        requireDirection(direction, "SWB-9");
        if (direction.deviceReads()) {
            copy.copy(slots, device, tlbAddr, sizeBytes, true);
        }
    }

    private static void requireDirection(DmaDirection direction, String rule) {
        if (direction == DmaDirection.NONE) {
            throw new KernelBugException("sync of a bounce buffer in direction NONE (dma-core:" + rule + ")");
        }
    }

    /** {@code swiotlb_find_pool} (SWC-24). */
    private @Nullable IoTlbPool findPool(Device device, long physAddr) {
        if (dynamic != null) {
            return dynamic.find(device, physAddr);
        }
        IoTlbPool slots = pool;
        return slots != null && slots.contains(physAddr) ? slots : null;
    }

    private IoTlbPool poolOf(Device device, long tlbAddr) {
        IoTlbPool slots = findPool(device, tlbAddr);
        if (slots == null) {
            throw new KernelBugException(Addresses.hex(tlbAddr) + " is not in the bounce pool");
        }
        return slots;
    }

    /**
     * {@code swiotlb_alloc}: takes pages for coherent memory, aligned to their order on the bus. No data is bounced for
     * them (dma-core:SWX-5).
     *
     * @param device the device
     * @param cpu the CPU that allocates
     * @param sizeBytes length, not zero
     * @return physical address of the first page, or all ones: silently when there is no room, with a WARN when the
     *     slots are not a page's physically
     */
    public long alloc(Device device, int cpu, long sizeBytes) {
        IoTlbPool slots = pool;
        if (slots == null) {
            return INVALID_PHYS_ADDR;
        }
        long alignMask = (Addresses.PAGE_SIZE << Addresses.order(sizeBytes)) - 1;
        long slotAddr = allocate(slots, device, cpu, NO_ORIGINAL, sizeBytes, alignMask);
        if (slotAddr == INVALID_PHYS_ADDR || Addresses.isAligned(slotAddr, Addresses.PAGE_SIZE)) {
            return slotAddr;
        }
        release(poolOf(device, slotAddr), device, cpu, slotAddr);
        refusal.warnOfUnalignedPage(device, slotAddr);
        return INVALID_PHYS_ADDR;
    }

    /**
     * {@code swiotlb_free}: gives pages back (dma-core:SWX-6).
     *
     * @param device the device
     * @param physAddr what {@link #alloc} gave, or any other page
     * @return false when the page is not the pool's, with nothing done
     */
    public boolean free(Device device, long physAddr) {
        IoTlbPool slots = findPool(device, physAddr);
        if (slots == null) {
            return false;
        }
        release(slots, device, 0, physAddr);
        return true;
    }

    /**
     * The largest single mapping of a device that is bounced (dma-core:SWM-15).
     *
     * @param device the device
     * @return bytes
     */
    public long maxMappingBytes(Device device) {
        return SwiotlbLayout.maxMappingBytes(device.minAlignMask());
    }

    /**
     * Where the default pool begins.
     *
     * @return its physical address, all ones without a pool
     */
    public long start() {
        IoTlbPool slots = pool;
        return slots == null ? INVALID_PHYS_ADDR : slots.start();
    }

    /** The last byte of the default pool, all ones without one. */
    long last() {
        IoTlbPool slots = pool;
        return slots == null ? INVALID_PHYS_ADDR : Addresses.last(slots.start(), slots.sizeBytes());
    }

    /**
     * Slots of all pools that stay, {@code io_tlb_nslabs}.
     *
     * @return the count, 0 without a pool
     */
    public int slots() {
        return IoTlbPool.slots(pools());
    }

    /**
     * Slots of the pools that serve one mapping each, {@code io_tlb_transient_nslabs} (dma-core:SWF-1, SWD-6).
     *
     * @return the count, 0 in a kernel without dynamic pools
     */
    public long transientSlots() {
        return dynamic == null ? 0 : dynamic.transients().slots();
    }

    /**
     * Areas of the default pool.
     *
     * @return the count, 0 without a pool
     */
    public int areas() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.areaCount();
    }

    /**
     * Slots in use, {@code io_tlb_used} (dma-core:SWF-1).
     *
     * @return the count
     */
    public long usedSlots() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.usage().used();
    }

    /**
     * Most slots in use at once, {@code io_tlb_used_hiwater} (dma-core:SWF-1).
     *
     * @return the count, since the last reset
     */
    public long usedHiwater() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.usage().hiwater();
    }

    /**
     * Writes {@code io_tlb_used_hiwater}, which forgets the mark (dma-core:SWF-1).
     *
     * @param value 0; the mark is 0 then, until the next success raises it to what is in use
     * @return 0, or -EINVAL with nothing changed for any other value
     */
    public int writeUsedHiwater(long value) {
        if (value != 0) {
            return -Errno.EINVAL;
        }
        IoTlbPool slots = pool;
        if (slots != null) {
            slots.usage().resetHiwater();
        }
        return 0;
    }

    /**
     * Bytes copied, both ways.
     *
     * @return the count
     */
    public long bytesBounced() {
        return dynamic == null ? IoTlbPool.bouncedBytes(onlyPool) : dynamic.bouncedBytes();
    }

    /**
     * Reports what was counted.
     *
     * @param sink takes the numbers; those of slots only when there are any
     */
    public void report(MetricSink sink) {
        sink.put(Metric.BYTES_BOUNCED, bytesBounced());
        if (isActive()) {
            sink.put(Metric.POOL_SLOTS, slots());
            sink.put(Metric.POOL_PEAK_SLOTS, usedHiwater());
            sink.put(Metric.POOL_USED_SLOTS, usedSlots());
            if (dynamic != null) {
                sink.put(Metric.POOL_TRANSIENT_SLOTS, transientSlots());
            }
        }
    }

    /**
     * Checks slots, areas and counters against each other. No call may be running.
     *
     * @param violation takes a sentence for each broken invariant
     */
    public void checkStructure(Consumer<String> violation) {
        if (dynamic != null) {
            dynamic.checkStructure(violation);
        } else {
            PoolCheck.structure(List.of(onlyPool), violation);
        }
    }

    /**
     * Checks that no slot is in use. No call may be running.
     *
     * @param violation takes a sentence for each area with slots in use
     */
    public void checkIdle(Consumer<String> violation) {
        if (dynamic != null) {
            dynamic.checkIdle(violation);
        } else {
            PoolCheck.idle(List.of(onlyPool), violation);
        }
    }

    /** Adds what its pools hold to a snapshot. */
    void tell(PoolState state) {
        if (dynamic != null) {
            state.add(name, dynamic.transients().all());
        }
        state.add(name, List.of(pools()));
    }

    /** Those that stay, newest first. */
    private IoTlbPool[] pools() {
        return dynamic == null ? onlyPool : dynamic.lasting();
    }
}
