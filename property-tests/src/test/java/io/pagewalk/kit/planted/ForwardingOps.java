package io.pagewalk.kit.planted;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import org.jspecify.annotations.Nullable;

/** Passes every call on; a fault overrides one. */
abstract class ForwardingOps implements DmaOps {
    private final DmaOps healthy;

    ForwardingOps(DmaOps healthy) {
        this.healthy = healthy;
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return healthy.mapPage(device, cpu, physAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        healthy.unmapPage(device, cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        return healthy.mapSg(device, cpu, sg, nents, direction, attrs);
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        healthy.unmapSg(device, cpu, sg, nents, direction, attrs);
    }

    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return healthy.mapResource(device, cpu, physAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        healthy.unmapResource(device, cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        healthy.syncForCpu(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        healthy.syncForDevice(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        healthy.syncSgForCpu(device, cpu, sg, nents, direction);
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        healthy.syncSgForDevice(device, cpu, sg, nents, direction);
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        return healthy.allocCoherent(device, cpu, sizeBytes, gfp, attrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        healthy.freeCoherent(device, cpu, pages, attrs);
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return healthy.isMaskSupported(device, mask);
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return healthy.mayNeedSync(device);
    }

    @Override
    public long maxMappingSize(Device device) {
        return healthy.maxMappingSize(device);
    }

    @Override
    public long requiredMask(Device device) {
        return healthy.requiredMask(device);
    }

    @Override
    public long mergeBoundary(Device device) {
        return healthy.mergeBoundary(device);
    }
}
