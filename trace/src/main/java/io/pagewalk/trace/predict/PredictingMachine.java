package io.pagewalk.trace.predict;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.trace.TraceHeader;
import io.pagewalk.trace.replay.DeviceSpec;
import io.pagewalk.trace.replay.MachineFacts.IommuMode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A machine that is to give out the addresses that the recording one gave out. */
final class PredictingMachine implements AutoCloseable {
    /*
     * No byte moves, so it does not matter what lies where in memory, but for the bounce pool: all below the top is RAM, and the
     * pages of the emulator itself (tables, coherent memory) lie above.
     */
    private static final long TOP = 1L << 42;
    private static final long OWN_BYTES = 1L << 30;
    private static final int CHUNK_BYTES = 1 << 16;

    /** Segments of a list merge without limit unless a machine file says otherwise; the addresses are the same. */
    private static final int NO_SEGMENT_LIMIT = -1;

    private final RecordedMachine recorded;
    private final Machine machine;
    private final Map<String, Device> devices = new HashMap<>();

    PredictingMachine(RecordedMachine recorded) {
        this.recorded = recorded;
        PhysRange pool = recorded.pool();
        String swiotlb =
                pool == null ? " swiotlb=noforce" : " swiotlb=" + recorded.poolSlots() + "," + recorded.areas();
        BackendOptions options = BackendOptions.NONE.with("iommu.widthBits", recorded.iommuWidthBits());
        machine = Machine.builder()
                .ram(RamMap.of(new PhysRange(0, TOP + OWN_BYTES - 1)))
                .chunkBytes(CHUNK_BYTES)
                .allocatable(List.of(PhysRange.ofSize(TOP, OWN_BYTES)))
                .cpus(recorded.cpus())
                .commandLine(recorded.commandLine() + swiotlb)
                .hostBridgeWindows(recorded.reserved())
                .backend(backend(recorded.mode()))
                .backendOptions(pool == null ? options : options.with("swiotlb.poolBase", pool.first()))
                .build();
    }

    private static String backend(IommuMode mode) {
        return switch (mode) {
            case OFF -> "direct";
            case STRICT -> "iommu-strict";
            case LAZY -> "iommu-lazy";
        };
    }

    Machine machine() {
        return machine;
    }

    /** The device, added when it is first needed. */
    Device device(String name) {
        Device known = devices.get(name);
        return known != null ? known : add(name);
    }

    private Device add(String name) {
        DeviceSpec spec = recorded.device(name);
        Long mask = spec.mask();
        DeviceConfig plain = DeviceConfig.named(name);
        DeviceConfig config = spec.applyTo(plain.withSegments(NO_SEGMENT_LIMIT, plain.segmentBoundaryMask()));
        Device device = machine.addDevice(mask == null ? config : config.withMask(mask));
        devices.put(name, device);
        return device;
    }

    /** Takes a mask that the trace tells; the machine file's word counts more. */
    void learnMask(String name, long mask) {
        Device device = device(name);
        if (recorded.device(name).mask() == null && device.mask() != mask) {
            device.setMaskAndCoherent(mask);
        }
    }

    /** The driver's side of a device where and when a line was written. */
    Dma dma(String device, TraceHeader header) throws MachineFactsException {
        int cpu = header.cpu();
        if (cpu < 0 || cpu >= machine.cpus()) {
            throw new MachineFactsException(
                    "line " + header.lineNumber(),
                    "CPU " + cpu + " is none of the " + machine.cpus()
                            + " that boot log or machine file tell of (\"nr_cpu_ids\"; cpus)");
        }
        machine.clock().advanceTo(header.timestampNanos());
        return device(device).dma(cpu);
    }

    @Override
    public void close() {
        machine.close();
    }
}
