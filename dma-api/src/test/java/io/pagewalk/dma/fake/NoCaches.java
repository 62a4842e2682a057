package io.pagewalk.dma.fake;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelConfig;

/** Cache hooks that have nothing to do, so that a device can be one that is not coherent (dma-core:DEV-7). */
public final class NoCaches implements CacheMaintenance {
    /** A distribution's kernel with cache hooks. */
    public static KernelConfig kernel() {
        return KernelConfig.distribution().withArch(ArchConfig.x86().withCacheMaintenance(new NoCaches()));
    }

    @Override
    public void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction) {}

    @Override
    public void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction) {}
}
