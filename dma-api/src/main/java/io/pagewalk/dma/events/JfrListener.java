package io.pagewalk.dma.events;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FaultLog;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * A listener that commits Flight Recorder events: {@code io.pagewalk.Map}, {@code Unmap}, {@code Sync}, {@code Bounce},
 * {@code Failure}, and {@code Fault} where it is a machine's fault handler as well. Without a recording it costs a
 * check each.
 *
 * <p>Stateless and thread-safe. Addresses are unsigned, which a recording's viewer may not show.
 */
public final class JfrListener implements DmaListener, FaultLog.Handler {
    /** Makes a listener. */
    public JfrListener() {}

    // ---- buffers

    @Override
    public void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        mapped("page", device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    @Override
    public void mappedResource(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        mapped("resource", device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    private static void mapped(
            String kind, Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        if (dmaAddr == -1L) {
            failed(kind, device, cpu, physAddr, sizeBytes);
            return;
        }
        JfrEvents.Mapped event = new JfrEvents.Mapped();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.kind = kind;
            event.physAddr = physAddr;
            event.dmaAddr = dmaAddr;
            event.sizeBytes = sizeBytes;
            event.direction = direction.name();
            event.nents = 1;
            event.segments = 1;
            event.commit();
        }
    }

    private static void failed(String kind, Device device, int cpu, long physAddr, long sizeBytes) {
        JfrEvents.Failed event = new JfrEvents.Failed();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.kind = kind;
            event.physAddr = physAddr;
            event.sizeBytes = sizeBytes;
            event.cause = String.valueOf(device.dma(cpu).lastFailure());
            event.commit();
        }
    }

    @Override
    public void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        unmapped("page", device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void unmappingResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        unmapped("resource", device, cpu, dmaAddr, sizeBytes, direction);
    }

    private static void unmapped(
            String kind, Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        JfrEvents.Unmapped event = new JfrEvents.Unmapped();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.kind = kind;
            event.dmaAddr = dmaAddr;
            event.sizeBytes = sizeBytes;
            event.direction = direction.name();
            event.commit();
        }
    }

    @Override
    public void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        synced("page", device, cpu, dmaAddr, sizeBytes, direction, forCpu);
    }

    private static void synced(
            String kind, Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        JfrEvents.Synced event = new JfrEvents.Synced();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.kind = kind;
            event.dmaAddr = dmaAddr;
            event.sizeBytes = sizeBytes;
            event.direction = direction.name();
            event.forCpu = forCpu;
            event.commit();
        }
    }

    @Override
    public void bounced(Device device, int cpu, long dmaMask, long dmaAddr, long sizeBytes, boolean force) {
        JfrEvents.Bounced event = new JfrEvents.Bounced();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.dmaMask = dmaMask;
            event.dmaAddr = dmaAddr;
            event.sizeBytes = sizeBytes;
            event.force = force;
            event.commit();
        }
    }

    private static void who(JfrEvents.OfDevice event, Device device, int cpu) {
        event.device = device.name();
        event.cpu = cpu;
    }

    // ---- lists: one event each, with the first address and all bytes

    @Override
    public void mappedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        if (result <= 0) {
            failed("sg", device, cpu, nents == 0 ? 0 : sg.physAddr(0), lengthBytes(sg, nents));
            return;
        }
        JfrEvents.Mapped event = new JfrEvents.Mapped();
        if (event.isEnabled()) {
            who(event, device, cpu);
            event.kind = "sg";
            event.physAddr = sg.physAddr(0);
            event.dmaAddr = sg.dmaAddr(0);
            event.sizeBytes = lengthBytes(sg, nents);
            event.direction = direction.name();
            event.nents = nents;
            event.segments = result;
            event.commit();
        }
    }

    private static long lengthBytes(SgTable sg, int nents) {
        long bytes = 0;
        for (int i = 0; i < nents; i++) {
            bytes += sg.lengthBytes(i);
        }
        return bytes;
    }

    @Override
    public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        unmapped("sg", device, cpu, nents == 0 ? 0 : sg.dmaAddr(0), lengthBytes(sg, nents), direction);
    }

    @Override
    public void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {
        synced("sg", device, cpu, nents == 0 ? 0 : sg.dmaAddr(0), lengthBytes(sg, nents), direction, forCpu);
    }

    // ---- memory

    @Override
    public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        long physAddr = device.machine().kernelMemory().physAddr(cpuAddr);
        mapped("coherent", device, cpu, physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, dmaAddr);
    }

    @Override
    public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        unmapped("coherent", device, cpu, dmaAddr, sizeBytes, DmaDirection.BIDIRECTIONAL);
    }

    @Override
    public void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        mapped("pages", device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    @Override
    public void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        unmapped("pages", device, cpu, dmaAddr, sizeBytes, direction);
    }

    // ---- faults

    @Override
    public void faulted(BusFault fault) {
        JfrEvents.Faulted event = new JfrEvents.Faulted();
        if (event.isEnabled()) {
            who(event, fault.device(), 0);
            event.dmaAddr = fault.dmaAddr();
            event.access = fault.access().name();
            event.reason = fault.code();
            event.text = fault.reason();
            event.commit();
        }
    }
}
