package io.pagewalk.dma.debug;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Feeds the calls of a machine to dma-debug, at the moments at which the kernel looks: after a map, after the unmap of
 * a buffer, but before that of a list and before a free (dma-core:FE-1, FE-4, FE-15, FE-41, FE-53). Thread-safe.
 */
public final class LiveCalls implements DmaListener {
    private final Machine machine;
    private final DmaDebug debug;
    private final MachineHost host;
    private final CallSites sites;

    private LiveCalls(Machine machine, DmaDebug debug, MachineHost host) {
        this.machine = machine;
        this.debug = debug;
        this.host = host;
        this.sites = new CallSites(debug.options().callSites());
    }

    /**
     * Starts dma-debug on a machine; the machine's command line counts.
     *
     * @param machine the machine, with its memory, layout and log
     * @param options how dma-debug works
     * @return its listener
     */
    public static LiveCalls of(Machine machine, DmaDebugOptions options) {
        DmaDebugOptions booted = options.withCommandLine(machine.commandLine());
        MachineHost host = new MachineHost(machine, booted);
        LiveCalls calls = new LiveCalls(machine, new DmaDebug(booted, host), host);
        if (booted.profile().checksExtras()) {
            machine.frames().onEveryFree(calls::pagesFreed);
        }
        return calls;
    }

    /**
     * Where the calls go.
     *
     * @return dma-debug
     */
    public DmaDebug debug() {
        return debug;
    }

    /**
     * Says which stack a CPU is on from now on (dma-core:DBG-16).
     *
     * @param cpu from 0
     * @param stack the stack of its task, or null
     */
    public void runOn(int cpu, @Nullable KernelStack stack) {
        host.areas().runOn(cpu, stack);
    }

    /**
     * A device as reports name it.
     *
     * @param device the device
     * @return its name, driver and bus
     */
    public static DebugDevice deviceOf(Device device) {
        return new DebugDevice(
                device.name(), device.config().driver(), device.config().pci() ? "pci" : "platform");
    }

    private Caller caller(Device device, int cpu) {
        return new Caller(deviceOf(device), cpu, machine.clock().nowNanos(), null, sites.here());
    }

    @Override
    public void mappingSingle(Device device, int cpu, long virtAddr, long sizeBytes) {
        debug.accept(new DmaCall.MapPointer(caller(device, cpu), virtAddr, sizeBytes));
    }

    @Override
    public void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        debug.accept(new DmaCall.MapPage(caller(device, cpu), physAddr, sizeBytes, direction, attrs, dmaAddr));
    }

    @Override
    public void mappedResource(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        debug.accept(new DmaCall.MapResource(caller(device, cpu), physAddr, sizeBytes, direction, attrs, dmaAddr));
    }

    @Override
    public void unmappedPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        debug.accept(new DmaCall.UnmapPage(caller(device, cpu), dmaAddr, sizeBytes, direction));
    }

    @Override
    public void unmappedResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        debug.accept(new DmaCall.UnmapResource(caller(device, cpu), dmaAddr, sizeBytes, direction));
    }

    @Override
    public void mappedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        if (result <= 0) {
            return;
        }
        SegmentLimits limits = new SegmentLimits(device.maxSegmentBytes(), device.segmentBoundaryMask());
        List<Segment> segments = segments(sg, Math.max(nents, result));
        debug.accept(new DmaCall.MapSg(caller(device, cpu), segments, nents, result, direction, attrs, limits));
    }

    @Override
    public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        debug.accept(new DmaCall.UnmapSg(caller(device, cpu), segments(sg, nents), nents, direction));
    }

    private static List<Segment> segments(SgTable sg, int nents) {
        List<Segment> segments = new ArrayList<>(nents);
        for (int i = 0; i < nents; i++) {
            segments.add(new Segment(sg.physAddr(i), sg.lengthBytes(i), sg.dmaAddr(i), sg.dmaLengthBytes(i)));
        }
        return segments;
    }

    /** Memory whose address is none that the CPU could use is nobody's business (DBG-14). */
    @Override
    public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        if (isCpuMemory(cpuAddr)) {
            debug.accept(new DmaCall.Alloc(
                    caller(device, cpu),
                    MappingType.COHERENT,
                    physAddr(cpuAddr),
                    sizeBytes,
                    DmaDirection.BIDIRECTIONAL,
                    attrs,
                    dmaAddr));
        }
    }

    /** DBG-50. */
    @Override
    public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        if (isCpuMemory(cpuAddr)) {
            debug.accept(new DmaCall.Free(
                    caller(device, cpu),
                    MappingType.COHERENT,
                    physAddr(cpuAddr),
                    sizeBytes,
                    DmaDirection.BIDIRECTIONAL,
                    dmaAddr));
        }
    }

    private boolean isCpuMemory(long cpuAddr) {
        return host.areas().isVmalloc(cpuAddr) || host.areas().isLinear(cpuAddr);
    }

    private long physAddr(long cpuAddr) {
        long physAddr = machine.kernelMemory().physAddr(cpuAddr);
        return physAddr == KernelMemory.NO_PHYS_ADDR ? DmaCall.UNKNOWN_PHYS_ADDR : physAddr;
    }

    @Override
    public void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        debug.accept(new DmaCall.Alloc(
                caller(device, cpu), MappingType.NONCOHERENT, physAddr, sizeBytes, direction, 0, dmaAddr));
    }

    @Override
    public void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        debug.accept(new DmaCall.Free(
                caller(device, cpu), MappingType.NONCOHERENT, physAddr, sizeBytes, direction, dmaAddr));
    }

    @Override
    public void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        debug.accept(new DmaCall.SyncSingle(caller(device, cpu), dmaAddr, sizeBytes, direction, forCpu));
    }

    @Override
    public void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {
        debug.accept(new DmaCall.SyncSg(caller(device, cpu), segments(sg, nents), nents, direction, forCpu));
    }

    @Override
    public void checkingError(Device device, int cpu, long dmaAddr) {
        debug.accept(new DmaCall.MappingError(caller(device, cpu), dmaAddr));
    }

    @Override
    public void driverUnbound(Device device) {
        debug.accept(new DmaCall.DriverUnbound(caller(device, 0)));
    }

    private void pagesFreed(long firstPfn, long count) {
        for (long pfn : debug.heldPages(firstPfn, count)) {
            Caller caller = new Caller(null, -1, machine.clock().nowNanos(), null, sites.here());
            debug.accept(new DmaCall.PageFreed(caller, pfn << Addresses.PAGE_SHIFT));
        }
    }
}
