package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The pools of an allocator in a kernel built with {@code SWIOTLB_DYNAMIC}. An allocator that may grow answers a search
 * that finds nothing with a transient pool for this one mapping, and has one more pool made in the background.
 *
 * <p>Implements dma-core:SWC-23, SWC-24, SWS-21, SWS-22, SWD-1 to SWD-9. Thread-safe; finding a pool and a search that
 * succeeds allocate nothing.
 */
final class DynamicPools {
    /** The timer of the default allocator's growth. */
    static final String GROWTH = "swiotlb.grow";
    /** The timer of the default allocator's grace periods. */
    static final String GRACE = "swiotlb.free";

    private static final int NO_DELAY = 0;
    private static final IoTlbPool[] NONE = {};

    private final SwiotlbDefaults defaults;
    private final PoolMemory memory;
    private final TransientPools transients;
    private final KernelTimer growth;
    private final KernelLog.Site growthSite;
    /** Newest first, the default pool last; a new array with every change. */
    private volatile IoTlbPool[] pools = NONE;

    private volatile boolean canGrow;
    private volatile long physLimit;

    /**
     * Makes it without a pool.
     *
     * @param defaults the size and the areas that the kernel was told, as they are at each moment
     * @param name empty for the default allocator
     */
    DynamicPools(Machine machine, SwiotlbDefaults defaults, String name) {
        String suffix = name.isEmpty() ? "" : ":" + name;
        this.defaults = defaults;
        this.memory = new PoolMemory(machine);
        this.transients = new TransientPools(machine, memory, GRACE + suffix);
        this.growth = machine.clock().timer(GROWTH + suffix, cpu -> grow());
        this.growthSite = machine.log().site("swiotlb: growth");
    }

    void takeDecryptedFrom(DecryptedMemory decrypted) {
        memory.takeDecryptedFrom(decrypted);
    }

    /** Begins anew with one pool or none, and without growth. */
    synchronized void use(@Nullable IoTlbPool pool) {
        stopGrowing();
        growth.cancel();
        pools = pool == null ? NONE : new IoTlbPool[] {pool};
    }

    /** Sets {@code can_grow} and {@code phys_limit} (SWD-1). */
    void growBelow(long limit) {
        physLimit = limit;
        canGrow = true;
    }

    /** Clears {@code can_grow} (SWC-25). */
    void stopGrowing() {
        canGrow = false;
    }

    boolean canGrow() {
        return canGrow;
    }

    long physLimit() {
        return physLimit;
    }

    /*
     * The search. With c counting the areas that the kernel was told to make, each pool that has so many offers the area c
     * steps from the CPU's own, newest pool first: a CPU's own area of every pool comes before anybody's second area. Only then
     * does the allocator grow. It does so twice: this mapping cannot wait, so it gets a pool just large enough for itself, from
     * whatever memory can be had at once; and those after it get a pool of the usual size, made by work in the background.
     */

    /**
     * Takes slots (SWS-21, SWD-2, SWD-7).
     *
     * @param exhausted whether the pools that are there have to count as full
     * @return the address of the first slot, or all ones
     */
    long allocate(Device device, int cpu, long origAddr, long allocSize, long alignMask, boolean exhausted) {
        IoTlbPool.requireSearchable(origAddr, allocSize, device.segmentBoundaryMask());
        if (Addresses.lessThan(SwiotlbLayout.SET_BYTES, allocSize)) {
            return INVALID_PHYS_ADDR;
        }
        long slotAddr = exhausted ? INVALID_PHYS_ADDR : search(device, cpu, origAddr, allocSize, alignMask);
        if (slotAddr == INVALID_PHYS_ADDR && canGrow) {
            growth.arm(NO_DELAY, cpu);
            slotAddr = allocateTransient(device, cpu, origAddr, allocSize, alignMask);
        }
        if (slotAddr != INVALID_PHYS_ADDR) {
            device.startUsingIoTlb();
        }
        return slotAddr;
    }

    private long search(Device device, int cpu, long origAddr, long allocSize, long alignMask) {
        IoTlbPool[] all = pools;
        long areas = defaults.get().areas();
        for (int c = 0; c < areas; c++) {
            for (IoTlbPool pool : all) {
                if (c < pool.areaCount()) {
                    int area = (cpu + c) & (pool.areaCount() - 1);
                    long slotAddr = pool.allocateIn(area, device, origAddr, allocSize, alignMask);
                    if (slotAddr != INVALID_PHYS_ADDR) {
                        return slotAddr;
                    }
                }
            }
        }
        return INVALID_PHYS_ADDR;
    }

    /** The pool may be large enough and still have no slot with the right address bits (SWD-5). */
    private long allocateTransient(Device device, int cpu, long origAddr, long allocSize, long alignMask) {
        int slots = (int) SwiotlbLayout.slots(allocSize);
        IoTlbPool pool = memory.forOneMapping(device, cpu, slots, usage());
        if (pool == null) {
            return INVALID_PHYS_ADDR;
        }
        long slotAddr = pool.allocateIn(0, device, origAddr, allocSize, alignMask);
        if (slotAddr == INVALID_PHYS_ADDR) {
            memory.free(pool);
        } else {
            transients.add(device, pool);
        }
        return slotAddr;
    }

    private SlotUsage usage() {
        IoTlbPool[] all = pools;
        return all[all.length - 1].usage();
    }

    /** The worker: one more pool, at the head of the list (SWD-3). */
    private void grow() {
        IoTlbPool grown = memory.grow(defaults.get(), usage(), physLimit);
        if (grown != null) {
            addFirst(grown);
        } else if (growthSite.isWithinRate()) {
            growthSite.message(
                    "no memory for one more bounce pool below " + Addresses.hex(physLimit) + " (dma-core:SWD-3)");
        }
    }

    private synchronized void addFirst(IoTlbPool pool) {
        IoTlbPool[] present = pools;
        IoTlbPool[] all = new IoTlbPool[present.length + 1];
        all[0] = pool;
        System.arraycopy(present, 0, all, 1, present.length);
        pools = all;
    }

    /** {@code swiotlb_find_pool}: nothing of a device that never bounced (SWC-24). */
    @Nullable IoTlbPool find(Device device, long physAddr) {
        if (!device.usesIoTlb()) {
            return null;
        }
        for (IoTlbPool pool : pools) {
            if (pool.contains(physAddr)) {
                return pool;
            }
        }
        return transients.find(device, physAddr);
    }

    /** Gives a mapping back: its slots, or the whole pool that was made for it (SWD-8). */
    void release(IoTlbPool pool, Device device, int cpu, long tlbAddr) {
        if (pool.isTransient()) {
            transients.retire(device, cpu, pool);
        } else {
            pool.release(tlbAddr, device.minAlignMask());
        }
    }

    void quiesce() {
        transients.quiesce();
    }

    /** The pools that stay, newest first. */
    IoTlbPool[] lasting() {
        return pools;
    }

    TransientPools transients() {
        return transients;
    }

    long bouncedBytes() {
        return IoTlbPool.bouncedBytes(pools) + transients.bouncedBytes();
    }

    /** Every pool with slots, the default one last. */
    private List<IoTlbPool> all() {
        List<IoTlbPool> all = new ArrayList<>(transients.all());
        all.addAll(List.of(pools));
        return all;
    }

    void checkStructure(Consumer<String> violation) {
        PoolCheck.structure(all(), violation);
        long counted = transients.all().stream().mapToLong(IoTlbPool::slots).sum();
        if (counted != transients.slots()) {
            violation.accept(
                    "swiotlb: transient pools have " + counted + " slots, their total says " + transients.slots());
        }
    }

    void checkIdle(Consumer<String> violation) {
        PoolCheck.idle(all(), violation);
        if (transients.retiredCount() != 0) {
            violation.accept("swiotlb: " + transients.retiredCount() + " transient pools wait for their grace period");
        }
    }
}
