package io.pagewalk.dma;

import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.memory.CpuMemory;

/** The hooks of arm64, which find their cache when a machine is made. Immutable. */
final class MachineCacheMaintenance implements CacheMaintenance {
    @Override
    public CacheMaintenance on(CpuMemory memory) {
        CpuCache cache = memory.cache();
        return cache == null ? this : CacheMaintenance.arm64(linesOf(cache));
    }

    private static Lines linesOf(CpuCache cache) {
        return new Lines() {
            @Override
            public void clean(long physAddr, long sizeBytes) {
                cache.clean(physAddr, sizeBytes);
            }

            @Override
            public void invalidate(long physAddr, long sizeBytes) {
                cache.invalidate(physAddr, sizeBytes);
            }
        };
    }

    @Override
    public void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction) {
        // What is written is in memory at once.
    }

    @Override
    public void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction) {
        // What the device wrote is what the CPU reads.
    }
}
