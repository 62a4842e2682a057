package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** A machine without an IOMMU whose small pool lies where tests expect it. */
final class DirectWorld {
    static final long GIB = 1L << 30;
    static final long MASK_32 = 0xffff_ffffL;
    /** RAM that 32 bits do not reach. */
    static final long HIGH = 4 * GIB + 0x1_0000;

    static final long POOL_BASE = 0x1000_0000;

    final Machine machine;
    private int devices;

    private DirectWorld(Machine machine) {
        this.machine = machine;
    }

    static DirectWorld of(UnaryOperator<MachineBuilder> change) {
        MachineBuilder builder = Machine.builder()
                .ramBytes(6 * GIB)
                .chunkBytes(1 << 16)
                .commandLine("swiotlb=256,1")
                .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL_BASE));
        return new DirectWorld(change.apply(builder).build());
    }

    Device device(UnaryOperator<DeviceConfig> change) {
        return machine.addDevice(change.apply(DeviceConfig.named("dev" + devices++)));
    }

    void fill(long physAddr, long sizeBytes, int value) {
        machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    int byteAt(long physAddr) {
        return machine.cpuMemory().getByte(physAddr) & 0xff;
    }

    long usedSlots() {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return metrics.getOrDefault(Metric.POOL_USED_SLOTS, 0L);
    }

    /** What the kernel complains of. */
    List<String> complaints() {
        return machine.log().entries().stream()
                .filter(entry -> entry.kind() != KernelLog.Kind.INFO)
                .map(KernelLog.Entry::text)
                .toList();
    }

    void assertIdle() {
        List<String> wrong = new ArrayList<>();
        machine.checkStructure(wrong::add);
        machine.checkIdle(wrong::add);
        assertThat(wrong).isEmpty();
    }
}
