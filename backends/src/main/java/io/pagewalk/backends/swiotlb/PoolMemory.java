package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.MIN_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.memory.ZoneLimits;
import org.jspecify.annotations.Nullable;

/**
 * Where the pools of a machine that runs come from, and go back to: the page allocator, below a limit.
 *
 * <p>Implements dma-core:SWD-3 and SWD-4 as far as they make pools. Thread-safe.
 */
final class PoolMemory {
    private static final long NO_PAGE = PageAllocator.NO_PAGE;
    private static final long MASK_32_BITS = 0xffff_ffffL;
    /** What a block of the page allocator holds at most: 4 MiB. */
    private static final long LARGEST_SLOTS = (Addresses.PAGE_SIZE << PageAllocator.MAX_ORDER) / SLOT_BYTES;

    private final Machine machine;
    private final ZoneLimits zones;
    private final FailurePoint growthPoint;
    private final FailurePoint transientPoint;
    private volatile @Nullable DecryptedMemory decrypted;

    PoolMemory(Machine machine) {
        this.machine = machine;
        this.zones = machine.kernelConfig().arch().zones();
        this.growthPoint = machine.failures().point("swiotlb.grow");
        this.transientPoint = machine.failures().point("swiotlb.transient");
    }

    /** Takes memory of transient pools from here, where it has to be decrypted. */
    void takeDecryptedFrom(DecryptedMemory from) {
        decrypted = from;
    }

    /**
     * Makes a pool of the default size for an allocator, or as much of it as there is in one block (SWD-3).
     *
     * @return null when there is no memory for the smallest one
     */
    @Nullable IoTlbPool grow(SwiotlbParameter defaults, SlotUsage usage, long physLimit) {
        long slots = Addresses.min(defaults.slots(), LARGEST_SLOTS);
        long start = fromPages(growthPoint, slots * SLOT_BYTES, physLimit);
        while (start == NO_PAGE) {
            if (slots <= MIN_SLOTS) {
                return null;
            }
            slots = Addresses.alignUp(slots >>> 1, SET_SLOTS);
            start = fromPages(growthPoint, slots * SLOT_BYTES, physLimit);
        }
        machine.cpuMemory().zero(start, slots * SLOT_BYTES);
        return IoTlbPool.grown(start, (int) slots, (int) SwiotlbBoot.limitAreas(defaults.areas(), slots), usage);
    }

    /**
     * Makes a pool for one mapping of a device, without waiting (SWD-4).
     *
     * @return null when there is no memory that the device reaches
     */
    @Nullable IoTlbPool forOneMapping(Device device, int cpu, int slots, SlotUsage usage) {
        long sizeBytes = slots * SLOT_BYTES;
        long start = atOnce(device, cpu, sizeBytes, device.streamingLimit());
        if (start == NO_PAGE) {
            return null;
        }
        machine.cpuMemory().zero(start, sizeBytes);
        return IoTlbPool.forOneMapping(start, slots, usage);
    }

    private long atOnce(Device device, int cpu, long sizeBytes, long limit) {
        DecryptedMemory from = decrypted;
        if (from == null) {
            return fromPages(transientPoint, sizeBytes, limit);
        }
        if (transientPoint.fails()) {
            return NO_PAGE;
        }
        int flags = zoneFlags(limit) | Gfp.NOWARN;
        return from.allocBelow(device, cpu, pageBytes(sizeBytes), flags, limit);
    }

    /** A lower zone is tried only when pages were had and lie too high. */
    private long fromPages(FailurePoint point, long sizeBytes, long limit) {
        int order = Addresses.order(sizeBytes);
        int flags = zoneFlags(limit);
        while (true) {
            long physAddr = point.fails() ? NO_PAGE : machine.pages().allocPages(Gfp.zone(flags), order);
            if (physAddr == NO_PAGE || ends(physAddr, sizeBytes, limit)) {
                return physAddr;
            }
            machine.pages().freePages(physAddr, order);
            if (zones.has(Zone.DMA32) && limit != -1L && (flags & (Gfp.DMA | Gfp.DMA32)) == 0) {
                flags = Gfp.DMA32;
            } else if (zones.has(Zone.DMA) && !Gfp.has(flags, Gfp.DMA)) {
                flags = Gfp.DMA;
            } else {
                return NO_PAGE;
            }
        }
    }

    private int zoneFlags(long limit) {
        if (Addresses.lessOrEqual(limit, zones.zoneDmaLimit())) {
            return Gfp.DMA;
        }
        return Addresses.lessOrEqual(limit, MASK_32_BITS) ? Gfp.DMA32 : 0;
    }

    private static boolean ends(long physAddr, long sizeBytes, long limit) {
        return Addresses.lessOrEqual(Addresses.last(physAddr, sizeBytes), limit);
    }

    private static long pageBytes(long sizeBytes) {
        return Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
    }

    /** Gives the memory of a transient pool back. */
    void free(IoTlbPool pool) {
        DecryptedMemory from = decrypted;
        if (from == null || !from.free(pool.start(), pageBytes(pool.sizeBytes()))) {
            machine.pages().freePages(pool.start(), Addresses.order(pool.sizeBytes()));
        }
    }
}
