package io.pagewalk.backends.swiotlb;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.Assertions;

/** A small machine with an allocator that may grow, beside a backend that never bounces. */
final class DynamicWorld {
    /** Where the default pool begins. */
    static final long START = 0x200_0000L;
    /** Where the pages begin that pools can grow by. */
    static final long PAGES = 0x300_0000L;

    static final long MASK_32 = 0xffff_ffffL;

    final Machine machine;
    final SwiotlbDefaults defaults;
    final IoTlbPool slots;
    final SwiotlbPool pool;
    final DynamicPools dynamic;

    /** Areas are of 128 slots; the allocator grows by so many slots with so many areas. */
    DynamicWorld(int areas, int growSlots, int growAreas) {
        this(areas, growSlots, growAreas, PhysRange.ofSize(PAGES, 12 << 20));
    }

    DynamicWorld(int areas, int growSlots, int growAreas, PhysRange... pages) {
        this(START, areas, new SwiotlbParameter(growSlots, growAreas, false, false), ArchConfig.x86(), pages);
    }

    DynamicWorld(long start, int areas, SwiotlbParameter parameter, ArchConfig arch, PhysRange... pages) {
        machine = Machine.builder()
                .ram(ram(pages))
                .allocatable(List.of(pages))
                .chunkBytes(1 << 16)
                .cpus(8)
                .backend("virt")
                .kernelConfig(
                        KernelConfig.distribution().withSwiotlbDynamic(true).withArch(arch))
                .build();
        defaults = new SwiotlbDefaults(parameter);
        slots = new IoTlbPool(start, 128 * areas, areas);
        pool = SwiotlbPool.ofMachine(machine, slots, true, defaults);
        dynamic = Objects.requireNonNull(pool.dynamic());
        dynamic.growBelow(MASK_32);
    }

    /** 64 MiB, and the pages that lie above. */
    private static RamMap ram(PhysRange... pages) {
        List<PhysRange> ranges = new ArrayList<>(List.of(PhysRange.ofSize(0, 64 << 20)));
        for (PhysRange range : pages) {
            if (Long.compareUnsigned(range.first(), 64 << 20) >= 0) {
                ranges.add(range);
            }
        }
        return RamMap.of(ranges.toArray(new PhysRange[0]));
    }

    Device device(String name) {
        return device(name, MASK_32);
    }

    Device device(String name, long mask) {
        return machine.addDevice(DeviceConfig.named(name).withMask(mask));
    }

    long map(Device device, long physAddr, long sizeBytes) {
        return map(device, 0, physAddr, sizeBytes);
    }

    long map(Device device, int cpu, long physAddr, long sizeBytes) {
        return pool.map(device, cpu, physAddr, sizeBytes, 0, DmaDirection.FROM_DEVICE, 0);
    }

    void unmap(Device device, long tlbAddr, long sizeBytes) {
        pool.unmap(device, 0, tlbAddr, sizeBytes, DmaDirection.FROM_DEVICE, 0);
    }

    /** Takes all slots of the default pool. */
    List<Long> fill(Device device) {
        List<Long> all = new ArrayList<>();
        for (int set = 0; set < slots.areaCount(); set++) {
            all.add(map(device, 0x10_0000, 0x4_0000));
        }
        Assertions.assertThat(pool.usedSlots()).isEqualTo(slots.slots());
        Assertions.assertThat(growth().isArmed()).isFalse();
        return all;
    }

    KernelTimer growth() {
        return Objects.requireNonNull(machine.clock().named(DynamicPools.GROWTH));
    }

    KernelTimer grace() {
        return Objects.requireNonNull(machine.clock().named(DynamicPools.GRACE));
    }

    /** Lets the work in the background run. */
    void work() {
        machine.clock().advance(0);
    }

    long allocatedPages() {
        return machine.pages().allocatedPages();
    }

    DmaFailure why(Device device) {
        return device.dma().lastFailure();
    }

    String lastLogged() {
        List<KernelLog.Entry> entries = machine.log().entries();
        return entries.isEmpty() ? "" : entries.get(entries.size() - 1).text();
    }

    void fill(long physAddr, long sizeBytes, int value) {
        machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    byte[] bytes(long physAddr, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        machine.cpuMemory().read(physAddr, bytes, 0, sizeBytes);
        return bytes;
    }

    List<String> broken() {
        List<String> broken = new ArrayList<>();
        pool.checkStructure(broken::add);
        return broken;
    }

    List<String> held() {
        List<String> held = new ArrayList<>();
        pool.checkIdle(held::add);
        return held;
    }
}
