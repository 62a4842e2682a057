package io.pagewalk.dma.events;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;

/** Two listeners in the place of one, told one after the other. */
final class ListenerPair implements DmaListener {
    private final DmaListener first;
    private final DmaListener second;

    ListenerPair(DmaListener first, DmaListener second) {
        this.first = first;
        this.second = second;
    }

    @Override
    public void mappingSingle(Device device, int cpu, long virtAddr, long sizeBytes) {
        first.mappingSingle(device, cpu, virtAddr, sizeBytes);
        second.mappingSingle(device, cpu, virtAddr, sizeBytes);
    }

    @Override
    public void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        first.mappedPage(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
        second.mappedPage(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
    }

    @Override
    public void mappedResource(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        first.mappedResource(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
        second.mappedResource(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
    }

    @Override
    public void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        first.unmappingPage(device, cpu, dmaAddr, sizeBytes, direction);
        second.unmappingPage(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void unmappedPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        first.unmappedPage(device, cpu, dmaAddr, sizeBytes, direction);
        second.unmappedPage(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void unmappingResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        first.unmappingResource(device, cpu, dmaAddr, sizeBytes, direction);
        second.unmappingResource(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void unmappedResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        first.unmappedResource(device, cpu, dmaAddr, sizeBytes, direction);
        second.unmappedResource(device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void mappedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        first.mappedSg(device, cpu, sg, nents, direction, attrs, result);
        second.mappedSg(device, cpu, sg, nents, direction, attrs, result);
    }

    @Override
    public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        first.unmappingSg(device, cpu, sg, nents, direction);
        second.unmappingSg(device, cpu, sg, nents, direction);
    }

    @Override
    public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        first.allocated(device, cpu, cpuAddr, dmaAddr, sizeBytes, attrs);
        second.allocated(device, cpu, cpuAddr, dmaAddr, sizeBytes, attrs);
    }

    @Override
    public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        first.freeing(device, cpu, cpuAddr, dmaAddr, sizeBytes);
        second.freeing(device, cpu, cpuAddr, dmaAddr, sizeBytes);
    }

    @Override
    public void allocatedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        first.allocatedInRegion(device, cpu, cpuAddr, dmaAddr, sizeBytes);
        second.allocatedInRegion(device, cpu, cpuAddr, dmaAddr, sizeBytes);
    }

    @Override
    public void freedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        first.freedInRegion(device, cpu, cpuAddr, dmaAddr, sizeBytes);
        second.freedInRegion(device, cpu, cpuAddr, dmaAddr, sizeBytes);
    }

    @Override
    public void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        first.allocatedPages(device, cpu, physAddr, sizeBytes, direction, dmaAddr);
        second.allocatedPages(device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    @Override
    public void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        first.freeingPages(device, cpu, physAddr, sizeBytes, direction, dmaAddr);
        second.freeingPages(device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    @Override
    public void bounced(Device device, int cpu, long dmaMask, long dmaAddr, long sizeBytes, boolean force) {
        first.bounced(device, cpu, dmaMask, dmaAddr, sizeBytes, force);
        second.bounced(device, cpu, dmaMask, dmaAddr, sizeBytes, force);
    }

    @Override
    public void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        first.syncedSingle(device, cpu, dmaAddr, sizeBytes, direction, forCpu);
        second.syncedSingle(device, cpu, dmaAddr, sizeBytes, direction, forCpu);
    }

    @Override
    public void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {
        first.syncedSg(device, cpu, sg, nents, direction, forCpu);
        second.syncedSg(device, cpu, sg, nents, direction, forCpu);
    }

    @Override
    public void checkingError(Device device, int cpu, long dmaAddr) {
        first.checkingError(device, cpu, dmaAddr);
        second.checkingError(device, cpu, dmaAddr);
    }

    @Override
    public void freedWhileMapped(FreedWhileMapped event) {
        first.freedWhileMapped(event);
        second.freedWhileMapped(event);
    }

    @Override
    public void driverUnbound(Device device) {
        first.driverUnbound(device);
        second.driverUnbound(device);
    }
}
