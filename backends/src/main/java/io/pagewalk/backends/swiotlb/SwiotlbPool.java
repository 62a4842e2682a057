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
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A bounce allocator, {@code io_tlb_mem}: whoever cannot let a device reach a buffer maps it here and gives the device
 * the bounce buffer instead. It has a pool, or none. Bounce addresses are physical ("tlb") addresses; making DMA
 * addresses of them is up to the caller.
 *
 * <p>Implements dma-core:SWC-22 to SWC-24, SWM-1 to SWM-9, SWM-11, SWM-12, SWB-6, SWB-8 to SWB-12, SWX-5, SWX-6,
 * DIR-13. Found through {@link Swiotlb}. Thread-safe as memory is: two calls on one bounce buffer need their own order.
 * Nothing here allocates unless it fails.
 */
public final class SwiotlbPool {
    private static final long NO_ORIGINAL = 0;

    private final CpuMemory memory;
    private final String name;
    private final boolean forced;
    private final boolean forAlloc;
    private final BounceCopy copy;
    private final FailurePoint slotsPoint;
    private final PoolRefusal refusal;
    private volatile @Nullable IoTlbPool pool;

    /** Makes the machine's default allocator. */
    SwiotlbPool(Machine machine, @Nullable IoTlbPool pool, boolean forced) {
        this(machine, pool, "", forced, false);
    }

    /** Makes the allocator of a restricted pool, which bounces and allocates everything (SWX-1). */
    static SwiotlbPool restricted(Machine machine, IoTlbPool pool, String name) {
        return new SwiotlbPool(machine, pool, name, true, true);
    }

    private SwiotlbPool(Machine machine, @Nullable IoTlbPool pool, String name, boolean forced, boolean forAlloc) {
        this.memory = machine.cpuMemory();
        this.pool = pool;
        this.name = name;
        this.forced = forced;
        this.forAlloc = forAlloc;
        this.copy = new BounceCopy(machine);
        this.slotsPoint = machine.failures().point("swiotlb.slots");
        this.refusal = new PoolRefusal(machine.log());
    }

    /** Adds the pool of a late boot, or takes the pool away (SWC-9, SWC-11, SWC-23). */
    void use(@Nullable IoTlbPool newPool) {
        pool = newPool;
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
     * Whether an address lies in the pool (dma-core:SWC-24).
     *
     * @param physAddr a physical address
     * @return true when it does
     */
    public boolean contains(long physAddr) {
        IoTlbPool slots = pool;
        return slots != null && slots.contains(physAddr);
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
        int first = allocate(slots, device, cpu, physAddr, totalBytes, allocAlignMask);
        if (first == IoTlbPool.NONE) {
            refusal.full(slots, device, cpu, physAddr, sizeBytes, totalBytes, allocAlignMask, attrs);
            return INVALID_PHYS_ADDR;
        }
        device.stopSkippingSync();
        int padding = (int) (fullOffset >>> SLOT_SHIFT);
        int mapped = first + padding;
        slots.table().describe(mapped, (int) SwiotlbLayout.slots(totalBytes) - padding, physAddr, padding);
        long tlbAddr = slots.addressOf(mapped) + (fullOffset & SLOT_MASK);
        requireRam(slots, device, tlbAddr, physAddr, sizeBytes);
        copy.copy(slots, device, tlbAddr, sizeBytes, true);
        return tlbAddr;
    }

    private int allocate(IoTlbPool slots, Device device, int cpu, long physAddr, long totalBytes, long allocAlignMask) {
        if (slotsPoint.fails()) {
            return IoTlbPool.NONE;
        }
        long poolDmaAddr = device.physToDmaUnencrypted(slots.start());
        return slots.allocate(
                cpu,
                physAddr,
                totalBytes,
                allocAlignMask,
                device.minAlignMask(),
                poolDmaAddr,
                device.segmentBoundaryMask());
    }

    /** The kernel's copy would run into a hole of its direct map. */
    private void requireRam(IoTlbPool slots, Device device, long tlbAddr, long physAddr, long sizeBytes) {
        if (!memory.isRam(physAddr, sizeBytes)) {
            slots.release(tlbAddr, device.minAlignMask());
            throw new KernelBugException(device.name() + ": a bounce copies " + Addresses.hexRange(physAddr, sizeBytes)
                    + ", which is not RAM");
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
        IoTlbPool slots = poolOf(tlbAddr);
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0 && direction.deviceWrites()) {
            copy.copy(slots, device, tlbAddr, sizeBytes, false);
        }
        slots.release(tlbAddr, device.minAlignMask());
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
        IoTlbPool slots = findPool(tlbAddr);
        if (slots == null) {
            return;
        }
        switch (direction) {
            case FROM_DEVICE, BIDIRECTIONAL -> copy.copy(slots, device, tlbAddr, sizeBytes, false);
            case TO_DEVICE -> {}
            case NONE -> throw noDirection("SWB-8");
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
        IoTlbPool slots = findPool(tlbAddr);
        if (slots == null) {
            return;
        }
        switch (direction) {
            case TO_DEVICE, BIDIRECTIONAL -> copy.copy(slots, device, tlbAddr, sizeBytes, true);
            case FROM_DEVICE -> {}
            case NONE -> throw noDirection("SWB-9");
        }
    }

    private static KernelBugException noDirection(String rule) {
        return new KernelBugException("sync of a bounce buffer in direction NONE (dma-core:" + rule + ")");
    }

    /** {@code swiotlb_find_pool} (SWC-24). */
    private @Nullable IoTlbPool findPool(long physAddr) {
        IoTlbPool slots = pool;
        return slots != null && slots.contains(physAddr) ? slots : null;
    }

    private IoTlbPool poolOf(long tlbAddr) {
        IoTlbPool slots = findPool(tlbAddr);
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
        int first = allocate(slots, device, cpu, NO_ORIGINAL, sizeBytes, alignMask);
        if (first == IoTlbPool.NONE) {
            return INVALID_PHYS_ADDR;
        }
        long tlbAddr = slots.addressOf(first);
        if (Addresses.isAligned(tlbAddr, Addresses.PAGE_SIZE)) {
            return tlbAddr;
        }
        slots.release(tlbAddr, device.minAlignMask());
        refusal.warnOfUnalignedPage(device, tlbAddr);
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
        IoTlbPool slots = pool;
        if (slots == null || !slots.contains(physAddr)) {
            return false;
        }
        slots.release(physAddr, device.minAlignMask());
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
     * Where the pool begins.
     *
     * @return its physical address, all ones without a pool
     */
    public long start() {
        IoTlbPool slots = pool;
        return slots == null ? INVALID_PHYS_ADDR : slots.start();
    }

    /**
     * Slots of the pool, {@code io_tlb_nslabs}.
     *
     * @return the count, 0 without a pool
     */
    public int slots() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.slots();
    }

    /**
     * Areas of the pool.
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
        return slots == null ? 0 : slots.totalUsed();
    }

    /**
     * Most slots in use at once, {@code io_tlb_used_hiwater} (dma-core:SWF-1).
     *
     * @return the count, since the last reset
     */
    public long usedHiwater() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.usedHiwater();
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
            slots.resetHiwater();
        }
        return 0;
    }

    /**
     * Bytes copied, both ways.
     *
     * @return the count
     */
    public long bytesBounced() {
        IoTlbPool slots = pool;
        return slots == null ? 0 : slots.table().bouncedBytes();
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
        }
    }

    /**
     * Checks slots, areas and counters against each other. No call may be running.
     *
     * @param violation takes a sentence for each broken invariant
     */
    public void checkStructure(Consumer<String> violation) {
        IoTlbPool slots = pool;
        if (slots != null) {
            new PoolCheck(slots, violation).structure();
        }
    }

    /**
     * Checks that no slot is in use. No call may be running.
     *
     * @param violation takes a sentence for each area with slots in use
     */
    public void checkIdle(Consumer<String> violation) {
        IoTlbPool slots = pool;
        if (slots != null) {
            new PoolCheck(slots, violation).idle();
        }
    }
}
