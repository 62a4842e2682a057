package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.DmaInvariants;
import io.pagewalk.kit.TestMachines;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** One machine of a report, and what its reporter could see of it: log lines, pool counters, bytes. */
final class Situation {
    static final long GIB = 1L << 30;
    static final long MIB = 1L << 20;
    static final long MASK_32 = 0xffff_ffffL;
    static final int SLOT = 0x800;

    /** The places that log what reports quote. */
    static final String FULL = "swiotlb_tbl_map_single: full";

    static final String NO_POOL = "swiotlb_tbl_map_single: no pool";
    static final String CLIPPED = "swiotlb_bounce: overflow";
    static final String POOL_OVERFLOW = "swiotlb_map: overflow";
    static final String PAGE_OVERFLOW = "dma_direct_map_page: overflow";
    static final String SG_OVERFLOW = "dma_direct_map_sg: overflow";

    private static final int CHUNK_BYTES = 1 << 16;

    final Machine machine;

    private Situation(Machine machine) {
        this.machine = machine;
    }

    /** A PC whose RAM reaches above 4 GiB, as most reports have it. */
    static Situation pc(TestMachines machines, String backend, String commandLine) {
        return on(machines, RamMap.sizedWithHole(8 * GIB), backend, commandLine, BackendOptions.NONE);
    }

    static Situation on(TestMachines machines, RamMap ram, String backend, String commandLine, BackendOptions options) {
        return on(machines, ram, backend, commandLine, options, KernelConfig.distribution());
    }

    /** A machine whose kernel lets bounce pools grow. */
    static Situation dynamic(TestMachines machines, RamMap ram, String commandLine, BackendOptions options) {
        KernelConfig dynamic = KernelConfig.distribution().withSwiotlbDynamic(true);
        return on(machines, ram, "direct", commandLine, options, dynamic);
    }

    private static Situation on(
            TestMachines machines,
            RamMap ram,
            String backend,
            String commandLine,
            BackendOptions options,
            KernelConfig kernelConfig) {
        return new Situation(machines.start(Machine.builder()
                .ram(ram)
                .chunkBytes(CHUNK_BYTES)
                .backend(backend)
                .commandLine(commandLine)
                .kernelConfig(kernelConfig)
                .backendOptions(options)));
    }

    /** A device that reaches 4 GiB. */
    Device narrow() {
        return machine.addDevice(DeviceConfig.named("narrow").withMask(MASK_32));
    }

    long metric(Metric metric) {
        Map<Metric, Long> all = new EnumMap<>(Metric.class);
        machine.report(all::put);
        return all.getOrDefault(metric, 0L);
    }

    long usedSlots() {
        return metric(Metric.POOL_USED_SLOTS);
    }

    /** The texts that a place has logged, oldest first. */
    List<String> logged(String site) {
        return machine.log().entries().stream()
                .filter(e -> e.site().equals(site))
                .map(KernelLog.Entry::text)
                .toList();
    }

    /** The line of a full pool, by its three fields (dma-core:SWM-6). */
    void requireLastFullLine(long sizeBytes, long totalSlots, long usedSlots) {
        List<String> lines = logged(FULL);
        assertThat(lines).as("lines of a full pool").isNotEmpty();
        assertThat(lines.get(lines.size() - 1))
                .endsWith("(sz: %d bytes), total %d (slots), used %d (slots)"
                        .formatted(sizeBytes, totalSlots, usedSlots));
    }

    void fill(long physAddr, int sizeBytes, int value) {
        machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    byte[] bytes(long physAddr, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        machine.cpuMemory().read(physAddr, bytes, 0, sizeBytes);
        return bytes;
    }

    void requireIdle() {
        DmaInvariants.checkIdle(machine);
    }
}
