package io.pagewalk.backends.direct;

import io.pagewalk.backends.coherent.ContiguousAreas;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.memory.ZoneLimits;

/**
 * Contiguous pages that a device reaches: of its restricted pool, of a contiguous memory area, or of the highest zone
 * that its coherent mask allows.
 *
 * <p>Implements dma-core:ALC-6 to ALC-9. Thread-safe.
 */
final class DirectPages {
    static final long NO_PAGE = PageAllocator.NO_PAGE;

    private static final long MASK_32_BITS = 0xffff_ffffL;

    private final DirectReach reach;
    private final PageAllocator pages;
    private final ContiguousAreas areas;
    private final ZoneLimits zones;
    private final FailurePoint point;

    DirectPages(Machine machine, DirectReach reach) {
        this.reach = reach;
        this.pages = machine.pages();
        this.areas = new ContiguousAreas(machine);
        this.zones = machine.kernelConfig().arch().zones();
        this.point = machine.failures().point("direct.pages");
    }

    /** Takes pages of a size that is rounded up to pages; their contents are whatever they were. */
    long alloc(SwiotlbPool mem, Device device, int cpu, long roundedBytes, int gfp) {
        if (mem.isForAlloc()) {
            return allocRestricted(mem, device, cpu, roundedBytes);
        }
        long limit = limit(device);
        int flags = gfp | zoneFlags(limit);
        long physAddr = areas.alloc(device, roundedBytes, flags);
        if (physAddr != NO_PAGE) {
            if (reach.isCoherentOk(device, physAddr, roundedBytes)) {
                return physAddr;
            }
            areas.free(physAddr, roundedBytes);
        }
        return allocFromBuddy(device, roundedBytes, flags, limit);
    }

    /** A restricted device has no other memory (SWX-3). */
    private long allocRestricted(SwiotlbPool mem, Device device, int cpu, long roundedBytes) {
        long physAddr = mem.alloc(device, cpu, roundedBytes);
        if (physAddr == NO_PAGE || reach.isCoherentOk(device, physAddr, roundedBytes)) {
            return physAddr;
        }
        mem.free(device, physAddr);
        return NO_PAGE;
    }

    private static long limit(Device device) {
        return device.dmaToPhys(device.coherentLimit());
    }

    /** {@code dma_direct_optimal_gfp_mask}: the zone flag that a device's limit asks for. */
    int zoneFlags(Device device) {
        return zoneFlags(limit(device));
    }

    private int zoneFlags(long limit) {
        if (Addresses.lessOrEqual(limit, zones.zoneDmaLimit())) {
            return Gfp.DMA;
        }
        return Addresses.lessOrEqual(limit, MASK_32_BITS) ? Gfp.DMA32 : 0;
    }

    /** A lower zone is tried only when pages were had and lie too high, not when there were none (ALC-7). */
    private long allocFromBuddy(Device device, long roundedBytes, int firstFlags, long limit) {
        int order = Addresses.order(roundedBytes);
        int flags = firstFlags;
        while (true) {
            long physAddr = point.failsCall() ? NO_PAGE : pages.allocPages(Gfp.zone(flags), order);
            if (physAddr == NO_PAGE || reach.isCoherentOk(device, physAddr, roundedBytes)) {
                return physAddr;
            }
            pages.freePages(physAddr, order);
            if (zones.has(Zone.DMA32) && limit != -1L && (flags & (Gfp.DMA | Gfp.DMA32)) == 0) {
                flags |= Gfp.DMA32;
            } else if (zones.has(Zone.DMA) && (flags & Gfp.DMA) == 0) {
                flags = (flags & ~Gfp.DMA32) | Gfp.DMA;
            } else {
                return NO_PAGE;
            }
        }
    }

    /** Gives pages back to wherever they are from (ALC-13). */
    void free(SwiotlbPool mem, Device device, long physAddr, long roundedBytes) {
        if (!mem.free(device, physAddr) && !areas.free(physAddr, roundedBytes)) {
            pages.freePages(physAddr, Addresses.order(roundedBytes));
        }
    }
}
