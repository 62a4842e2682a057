package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_MASK;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_SHIFT;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The machine's bounce allocator, {@code io_tlb_mem}: whoever cannot let a device reach a buffer maps it here and gives
 * the device the bounce buffer instead. It has a pool, or none. Bounce addresses are physical ("tlb") addresses; making
 * DMA addresses of them is up to the caller.
 *
 * <p>Implements dma-core:SWC-22, SWC-24, SWM-1 to SWM-9, SWM-11, SWM-12, SWB-1 to SWB-12, SWR-1 to SWR-6, DIR-13. Made
 * by {@link SwiotlbBoot}. Thread-safe as memory is: two calls on one bounce buffer need their own order. Nothing here
 * allocates unless it fails.
 */
public final class SwiotlbPool {
    private static final long LARGEST_ALLOC_ALIGN_MASK = Addresses.PAGE_SIZE - 1;

    private final CpuMemory memory;
    private final @Nullable IoTlbPool pool;
    private final boolean forced;
    private final FailurePoint slotsPoint;
    private final KernelLog.Site noPoolSite;
    private final KernelLog.Site fullSite;
    private final KernelLog.Site alignSite;
    private final KernelLog.Site overflowSite;
    private final LongAdder bytesBounced = new LongAdder();

    SwiotlbPool(Machine machine, @Nullable IoTlbPool pool, boolean forced) {
        this.memory = machine.cpuMemory();
        this.pool = pool;
        this.forced = forced;
        this.slotsPoint = machine.failures().point("swiotlb.slots");
        this.noPoolSite = machine.log().site("swiotlb_tbl_map_single: no pool");
        this.fullSite = machine.log().site("swiotlb_tbl_map_single: full");
        this.alignSite = machine.log().site("swiotlb_tbl_map_single: alignment");
        this.overflowSite = machine.log().site("swiotlb_bounce: overflow");
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
        return pool != null && pool.contains(physAddr);
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
            return refuseWithoutPool(device, cpu, physAddr, sizeBytes);
        }
        if (Addresses.lessThan(LARGEST_ALLOC_ALIGN_MASK, allocAlignMask)) {
            warnOfAlignment(device, allocAlignMask);
        }
        long minAlignMask = device.minAlignMask();
        long fullOffset = physAddr & minAlignMask & (allocAlignMask | SLOT_MASK);
        long totalBytes = Addresses.alignUp(sizeBytes + fullOffset, allocAlignMask + 1);
        int first = allocate(slots, device, cpu, physAddr, totalBytes, allocAlignMask);
        if (first == IoTlbPool.NONE) {
            return refuse(slots, device, cpu, physAddr, sizeBytes, totalBytes, allocAlignMask, attrs);
        }
        device.stopSkippingSync();
        int padding = (int) (fullOffset >>> SLOT_SHIFT);
        int mapped = first + padding;
        slots.table().describe(mapped, (int) SwiotlbLayout.slots(totalBytes) - padding, physAddr, padding);
        long tlbAddr = slots.addressOf(mapped) + (fullOffset & SLOT_MASK);
        requireRam(slots, device, tlbAddr, physAddr, sizeBytes);
        bounce(slots, device, tlbAddr, sizeBytes, true);
        return tlbAddr;
    }

    private int allocate(IoTlbPool slots, Device device, int cpu, long physAddr, long totalBytes, long allocAlignMask) {
        if (slotsPoint.fails()) {
            return IoTlbPool.NONE;
        }
        long poolDmaAddr = device.physToDma(slots.start());
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

    private void warnOfAlignment(Device device, long allocAlignMask) {
        if (alignSite.isFirst()) {
            alignSite.warn(device.name() + ": alignment mask " + Addresses.hex(allocAlignMask) + " is above "
                    + Addresses.hex(LARGEST_ALLOC_ALIGN_MASK) + " (dma-core:SWM-2)");
        }
    }

    private long refuseWithoutPool(Device device, int cpu, long physAddr, long sizeBytes) {
        if (noPoolSite.isWithinRate()) {
            noPoolSite.message(device.name() + ": no bounce buffer was allocated at boot, and "
                    + Addresses.hex(physAddr) + " needs one (dma-core:SWM-1)");
        }
        device.failure(cpu).record(FailureReason.NO_POOL, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        return INVALID_PHYS_ADDR;
    }

    private long refuse(
            IoTlbPool slots,
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            long totalBytes,
            long allocAlignMask,
            int attrs) {
        if ((attrs & DmaAttrs.NO_WARN) == 0 && fullSite.isWithinRate()) {
            fullSite.message(device.name() + ": swiotlb buffer is full (sz: " + Long.toUnsignedString(totalBytes)
                    + " bytes), total " + slots.slots() + " (slots), used " + slots.totalUsed() + " (slots)");
        }
        PoolRefusal.record(device.failure(cpu), slots, device, physAddr, sizeBytes, totalBytes, allocAlignMask);
        return INVALID_PHYS_ADDR;
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
            bounce(slots, device, tlbAddr, sizeBytes, false);
        }
        slots.release(tlbAddr, device.minAlignMask());
    }

    /**
     * Copies what the device wrote to the buffer (dma-core:SWB-8); nothing for {@code TO_DEVICE}.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param tlbAddr first byte of the part, inside a bounce buffer
     * @param sizeBytes length of the part
     * @param direction the direction given to sync, whatever that of the map was (SWB-10)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void syncForCpu(Device device, int cpu, long tlbAddr, long sizeBytes, DmaDirection direction) {
        switch (direction) {
            case FROM_DEVICE, BIDIRECTIONAL -> bounce(poolOf(tlbAddr), device, tlbAddr, sizeBytes, false);
            case TO_DEVICE -> {}
            case NONE -> throw noDirection("SWB-8");
        }
    }

    /**
     * Copies what the CPU wrote to the bounce buffer (dma-core:SWB-9); nothing for {@code FROM_DEVICE}.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param tlbAddr first byte of the part, inside a bounce buffer
     * @param sizeBytes length of the part
     * @param direction the direction given to sync, whatever that of the map was (SWB-10)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void syncForDevice(Device device, int cpu, long tlbAddr, long sizeBytes, DmaDirection direction) {
        switch (direction) {
            case TO_DEVICE, BIDIRECTIONAL -> bounce(poolOf(tlbAddr), device, tlbAddr, sizeBytes, true);
            case FROM_DEVICE -> {}
            case NONE -> throw noDirection("SWB-9");
        }
    }

    private static KernelBugException noDirection(String rule) {
        return new KernelBugException("sync of a bounce buffer in direction NONE (dma-core:" + rule + ")");
    }

    private IoTlbPool poolOf(long tlbAddr) {
        IoTlbPool slots = pool;
        if (slots == null || !slots.contains(tlbAddr)) {
            throw new KernelBugException(Addresses.hex(tlbAddr) + " is not in the bounce pool");
        }
        return slots;
    }

    /*
     * A bounce address carries the buffer's low bits, and a sync may start anywhere inside the mapping. So the slot says where the
     * buffer's byte for the slot's own first mapped byte is, and the difference of the low bits, which may be negative in every slot but the first, leads to
     * the byte that is meant (SWB-2). The slot's allocation size moves along and limits the copy (SWB-3, SWB-4).
     */
    private void bounce(IoTlbPool slots, Device device, long tlbAddr, long sizeBytes, boolean toDevice) {
        SlotTable table = slots.table();
        int slot = slots.slotOf(tlbAddr);
        long slotOrig = table.origAddr(slot);
        if (slotOrig == INVALID_PHYS_ADDR) {
            return;
        }
        long offset = (tlbAddr & SLOT_MASK) - (slotOrig & device.minAlignMask() & SLOT_MASK);
        long physAddr = slotOrig + offset;
        long copied = clip(device, table.allocSize(slot) - offset, sizeBytes);
        if (toDevice) {
            memory.copy(physAddr, tlbAddr, copied);
        } else {
            memory.copy(tlbAddr, physAddr, copied);
        }
        bytesBounced.add(copied);
    }

    private long clip(Device device, long allocatedBytes, long sizeBytes) {
        if (Addresses.lessOrEqual(sizeBytes, allocatedBytes)) {
            return sizeBytes;
        }
        if (overflowSite.isFirst()) {
            overflowSite.warn(device.name() + ": allocation size " + Long.toUnsignedString(allocatedBytes)
                    + ", mapping size " + Long.toUnsignedString(sizeBytes) + " (dma-core:SWB-3)");
        }
        return allocatedBytes;
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
        return pool == null ? INVALID_PHYS_ADDR : pool.start();
    }

    /**
     * Slots of the pool.
     *
     * @return the count, 0 without a pool
     */
    public int slots() {
        return pool == null ? 0 : pool.slots();
    }

    /**
     * Areas of the pool.
     *
     * @return the count, 0 without a pool
     */
    public int areas() {
        return pool == null ? 0 : pool.areaCount();
    }

    /**
     * Slots in use, {@code io_tlb_used} (dma-core:SWF-1).
     *
     * @return the count
     */
    public long usedSlots() {
        return pool == null ? 0 : pool.totalUsed();
    }

    /**
     * Most slots in use at once, {@code io_tlb_used_hiwater} (dma-core:SWF-1).
     *
     * @return the count
     */
    public long usedHiwater() {
        return pool == null ? 0 : pool.usedHiwater();
    }

    /**
     * Bytes copied, both ways.
     *
     * @return the count
     */
    public long bytesBounced() {
        return bytesBounced.sum();
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
        if (pool != null) {
            new PoolCheck(pool, violation).structure();
        }
    }

    /**
     * Checks that no slot is in use. No call may be running.
     *
     * @param violation takes a sentence for each area with slots in use
     */
    public void checkIdle(Consumer<String> violation) {
        if (pool != null) {
            new PoolCheck(pool, violation).idle();
        }
    }
}
