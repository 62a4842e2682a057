package io.pagewalk.backends.direct;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Coherent memory without an IOMMU: contiguous pages of the page allocator, from the highest zone that the mask allows.
 *
 * <p>Implements dma-core:ALC-1, ALC-2, ALC-5 to ALC-8, ALC-13. Thread-safe.
 */
final class DirectCoherent {
    private final PageAllocator pages;
    private final CpuMemory memory;
    private final FailurePoint point;
    private final AtomicLong outstandingPages = new AtomicLong();

    DirectCoherent(Machine machine) {
        pages = machine.pages();
        memory = machine.cpuMemory();
        point = machine.failures().point("direct.pages");
    }

    @Nullable CoherentPages alloc(Device device, int cpu, long sizeBytes, int attrs) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        long physAddr = allocReachable(device, roundedBytes);
        if (physAddr == PageAllocator.NO_PAGE) {
            device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.coherentLimit(), 0, 0);
            return null;
        }
        if ((attrs & DmaAttrs.NO_KERNEL_MAPPING) == 0) {
            memory.zero(physAddr, roundedBytes);
        }
        outstandingPages.addAndGet(pagesOf(roundedBytes));
        return CoherentPages.contiguous(device.physToDma(physAddr), sizeBytes, physAddr);
    }

    /** A lower zone is tried only when pages were had and lie too high, not when there were none (ALC-7). */
    private long allocReachable(Device device, long roundedBytes) {
        int order = Addresses.order(roundedBytes);
        long limit = device.dmaToPhys(device.coherentLimit());
        Zone zone = highestZone(limit);
        while (true) {
            long physAddr = allocPages(zone, order);
            if (physAddr == PageAllocator.NO_PAGE || DirectReach.isCoherentOk(device, physAddr, roundedBytes)) {
                return physAddr;
            }
            pages.freePages(physAddr, order);
            if (zone == Zone.DMA) {
                return PageAllocator.NO_PAGE;
            }
            zone = zone == Zone.NORMAL && limit != -1L ? Zone.DMA32 : Zone.DMA;
        }
    }

    private static Zone highestZone(long limit) {
        if (Addresses.lessOrEqual(limit, Zone.DMA.lastAddress())) {
            return Zone.DMA;
        }
        return Addresses.lessOrEqual(limit, Zone.DMA32.lastAddress()) ? Zone.DMA32 : Zone.NORMAL;
    }

    private long allocPages(Zone zone, int order) {
        return point.fails() ? PageAllocator.NO_PAGE : pages.allocPages(zone, order);
    }

    void free(CoherentPages coherent) {
        long roundedBytes = Addresses.alignUp(coherent.sizeBytes(), Addresses.PAGE_SIZE);
        outstandingPages.addAndGet(-pagesOf(roundedBytes));
        pages.freePages(coherent.pagePhysAddr(0), Addresses.order(roundedBytes));
    }

    private static long pagesOf(long roundedBytes) {
        return roundedBytes >>> Addresses.PAGE_SHIFT;
    }

    void checkIdle(Consumer<String> violation) {
        long outstanding = outstandingPages.get();
        if (outstanding != 0) {
            violation.accept("coherent allocations of " + outstanding + " pages were not freed");
        }
    }
}
