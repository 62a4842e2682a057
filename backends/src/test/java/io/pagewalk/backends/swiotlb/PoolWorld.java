package io.pagewalk.backends.swiotlb;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.Assertions;

/** A small machine with a pool of its own, beside a backend that never bounces. */
final class PoolWorld {
    /** Where the pool of the worked examples begins. */
    static final long START = 0x200_0000L;

    static final int CPUS = 8;

    final Machine machine;
    final IoTlbPool slots;
    final SwiotlbPool pool;
    private int devices;

    PoolWorld(int slotCount, int areas) {
        this(START, slotCount, areas);
    }

    PoolWorld(long start, int slotCount, int areas) {
        machine = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 << 20)))
                .chunkBytes(1 << 16)
                .cpus(CPUS)
                .backend("virt")
                .build();
        slots = new IoTlbPool(start, slotCount, areas);
        pool = new SwiotlbPool(machine, slots, true);
    }

    Device device(int minAlignMask) {
        return device(minAlignMask, 0);
    }

    Device device(int minAlignMask, long boundary) {
        return device(DeviceConfig.named("dev").withMinAlignMask(minAlignMask).withSegments(0, boundary));
    }

    Device device(DeviceConfig config) {
        return machine.addDevice(DeviceConfig.named(config.name() + devices++)
                .withMinAlignMask(config.minAlignMask())
                .withSegments(config.maxSegmentBytes(), config.segmentBoundaryMask())
                .withRanges(config.ranges().toArray(new io.pagewalk.dma.DmaRange[0])));
    }

    long map(Device device, long physAddr, long sizeBytes) {
        return map(device, 0, physAddr, sizeBytes, 0);
    }

    long map(Device device, int cpu, long physAddr, long sizeBytes, long allocAlignMask) {
        return pool.map(device, cpu, physAddr, sizeBytes, allocAlignMask, DmaDirection.FROM_DEVICE, 0);
    }

    void unmap(Device device, long tlbAddr, long sizeBytes) {
        pool.unmap(device, 0, tlbAddr, sizeBytes, DmaDirection.FROM_DEVICE, 0);
    }

    DmaFailure why(Device device) {
        return device.dma().lastFailure();
    }

    void fill(long physAddr, long sizeBytes, int value) {
        machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    byte[] bytes(long physAddr, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        machine.cpuMemory().read(physAddr, bytes, 0, sizeBytes);
        return bytes;
    }

    String lastLogged() {
        List<KernelLog.Entry> entries = machine.log().entries();
        return entries.isEmpty() ? "" : entries.get(entries.size() - 1).text();
    }

    void assertSound() {
        List<String> broken = new ArrayList<>();
        pool.checkStructure(broken::add);
        Assertions.assertThat(broken).isEmpty();
    }

    void assertIdle() {
        List<String> held = new ArrayList<>();
        pool.checkIdle(held::add);
        Assertions.assertThat(held).isEmpty();
        assertSound();
    }
}
