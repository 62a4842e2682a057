package io.pagewalk.dma.events;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FaultLog;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * A listener that commits Flight Recorder events: {@code io.pagewalk.Map}, {@code Unmap}, {@code Sync}, {@code Bounce},
 * {@code Failure}, {@code FreedWhileMapped} on a machine with a ledger, and {@code Fault} where it is a machine's fault
 * handler as well. Without a recording it costs a check each.
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
            buffer(event, kind, device, cpu, dmaAddr, sizeBytes, direction);
            event.physAddr = physAddr;
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
        commit(new JfrEvents.Unmapped(), "page", device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void unmappingResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        commit(new JfrEvents.Unmapped(), "resource", device, cpu, dmaAddr, sizeBytes, direction);
    }

    @Override
    public void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        commit(synced(forCpu), "page", device, cpu, dmaAddr, sizeBytes, direction);
    }

    private static JfrEvents.Synced synced(boolean forCpu) {
        JfrEvents.Synced event = new JfrEvents.Synced();
        event.forCpu = forCpu;
        return event;
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

    private static void commit(
            JfrEvents.OfBuffer event,
            String kind,
            Device device,
            int cpu,
            long dmaAddr,
            long sizeBytes,
            DmaDirection direction) {
        if (event.isEnabled()) {
            buffer(event, kind, device, cpu, dmaAddr, sizeBytes, direction);
            event.commit();
        }
    }

    private static void buffer(
            JfrEvents.OfBuffer event,
            String kind,
            Device device,
            int cpu,
            long dmaAddr,
            long sizeBytes,
            DmaDirection direction) {
        who(event, device, cpu);
        event.kind = kind;
        event.dmaAddr = dmaAddr;
        event.sizeBytes = sizeBytes;
        event.direction = direction.name();
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
            buffer(event, "sg", device, cpu, sg.dmaAddr(0), lengthBytes(sg, nents), direction);
            event.physAddr = sg.physAddr(0);
            event.nents = nents;
            event.segments = result;
            event.commit();
        }
    }

    @Override
    public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        commitSg(new JfrEvents.Unmapped(), device, cpu, sg, nents, direction);
    }

    @Override
    public void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {
        commitSg(synced(forCpu), device, cpu, sg, nents, direction);
    }

    private static void commitSg(
            JfrEvents.OfBuffer event, Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        if (event.isEnabled()) {
            long dmaAddr = nents == 0 ? 0 : sg.dmaAddr(0);
            buffer(event, "sg", device, cpu, dmaAddr, lengthBytes(sg, nents), direction);
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

    // ---- memory

    @Override
    public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        long physAddr = device.machine().kernelMemory().physAddr(cpuAddr);
        mapped("coherent", device, cpu, physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, dmaAddr);
    }

    @Override
    public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        commit(new JfrEvents.Unmapped(), "coherent", device, cpu, dmaAddr, sizeBytes, DmaDirection.BIDIRECTIONAL);
    }

    @Override
    public void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        mapped("pages", device, cpu, physAddr, sizeBytes, direction, dmaAddr);
    }

    @Override
    public void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        commit(new JfrEvents.Unmapped(), "pages", device, cpu, dmaAddr, sizeBytes, direction);
    }

    // ---- what goes wrong

    /** The CPU that frees a page is not known; it stands as 0. */
    @Override
    public void freedWhileMapped(FreedWhileMapped freed) {
        JfrEvents.FreedMapped event = new JfrEvents.FreedMapped();
        if (event.isEnabled()) {
            LiveRange mapping = freed.mapping();
            String kind = mapping.kind() == LiveRange.Kind.SG ? "sg" : "page";
            buffer(event, kind, mapping.device(), 0, mapping.dmaAddr(), mapping.sizeBytes(), mapping.direction());
            event.physAddr = freed.physAddr();
            event.owner = mapping.owner();
            event.ageNanos = freed.atNanos() - mapping.sinceNanos();
            event.commit();
        }
    }

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
