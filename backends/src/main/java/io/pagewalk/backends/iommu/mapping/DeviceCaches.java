package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The CPU's caches as a device's mappings see them: nothing to do for a coherent device. Implements the cache part of
 * iommu:DMAP-6, DMAP-7, DMAP-11, SG-4 and SG-20. Immutable; allocates nothing.
 */
final class DeviceCaches {
    private final @Nullable CacheMaintenance hooks;

    DeviceCaches(Device device) {
        hooks = device.isCoherent() ? null : device.machine().cacheMaintenance();
    }

    /** Whether there is ever anything to do. */
    boolean needWork() {
        return hooks != null;
    }

    /** A map that does not skip the CPU's part. */
    void onMap(long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            forDevice(physAddr, sizeBytes, direction);
        }
    }

    /** An unmap that does not skip the CPU's part. */
    void onUnmap(long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            forCpu(physAddr, sizeBytes, direction);
        }
    }

    void forDevice(long physAddr, long sizeBytes, DmaDirection direction) {
        if (hooks != null) {
            hooks.syncForDevice(physAddr, sizeBytes, direction);
        }
    }

    void forCpu(long physAddr, long sizeBytes, DmaDirection direction) {
        if (hooks != null) {
            hooks.syncForCpu(physAddr, sizeBytes, direction);
        }
    }

    void forDevice(SgTable sg, int nents, DmaDirection direction) {
        if (hooks != null) {
            for (int i = 0; i < nents; i++) {
                hooks.syncForDevice(sg.physAddr(i), sg.lengthBytes(i), direction);
            }
        }
    }

    void forCpu(SgTable sg, int nents, DmaDirection direction) {
        if (hooks != null) {
            for (int i = 0; i < nents; i++) {
                hooks.syncForCpu(sg.physAddr(i), sg.lengthBytes(i), direction);
            }
        }
    }
}
