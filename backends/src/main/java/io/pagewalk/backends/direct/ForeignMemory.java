package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.ArchDmaAlloc;
import io.pagewalk.dma.CoherentRegion;
import io.pagewalk.dma.CoherentRegions;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.CoherentPages;
import org.jspecify.annotations.Nullable;

/**
 * Coherent memory of devices that are not coherent, where it does not come from the kernel's pages: from the
 * architecture's own allocator, or from the global region.
 *
 * <p>Implements of dma-core:ALC-3 and ALC-13 that part. Thread-safe.
 */
final class ForeignMemory {
    private final ArchConfig arch;
    private final CoherentRegions regions;
    private final KernelLog.Site strayFreeSite;

    ForeignMemory(Machine machine) {
        arch = machine.kernelConfig().arch();
        regions = machine.coherentRegions();
        strayFreeSite = machine.log().site("dma_release_from_global_coherent");
    }

    /** Whether memory comes from here and nowhere else. */
    boolean isUsed(SwiotlbPool mem) {
        return hook(mem) != null || arch.globalPool();
    }

    private @Nullable ArchDmaAlloc hook(SwiotlbPool mem) {
        return mem.isForAlloc() ? null : arch.dmaAlloc();
    }

    @Nullable CoherentPages alloc(SwiotlbPool mem, Device device, long sizeBytes, int flags, int attrs) {
        ArchDmaAlloc hook = hook(mem);
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        if (hook != null) {
            return hook.alloc(device, roundedBytes, flags, attrs);
        }
        CoherentRegion region = regions.global();
        CoherentPages taken = region == null ? null : region.alloc(device, roundedBytes);
        return taken == null
                ? null
                : CoherentPages.contiguous(taken.dmaAddr(), sizeBytes, taken.pagePhysAddr(0))
                        .withCpuAddr(taken.cpuAddr());
    }

    void free(SwiotlbPool mem, Device device, CoherentPages coherent, int attrs) {
        ArchDmaAlloc hook = hook(mem);
        if (hook != null) {
            hook.free(device, coherent, attrs);
            return;
        }
        CoherentRegion region = regions.global();
        boolean released = region != null && region.release(coherent.cpuAddr(), coherent.sizeBytes());
        if (!released && strayFreeSite.isFirst()) {
            strayFreeSite.warn(device.name() + ": " + Addresses.hex(coherent.cpuAddr())
                    + " is not in the global region (dma-core:ALC-13)");
        }
    }
}
