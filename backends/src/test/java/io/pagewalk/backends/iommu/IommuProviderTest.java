package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole machines with a VT-d unit: what a driver maps, a device reaches; what it unmaps, faults. */
class IommuProviderTest {
    private static final long MILLISECOND = 1_000_000;

    private static Machine machine(String backend) {
        return Machine.builder().ramBytes(128 << 20).cpus(2).backend(backend).build();
    }

    private static void assertIdle(Machine machine) {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        machine.quiesce();
        machine.checkStructure(violations::add);
        machine.checkIdle(violations::add);
        assertThat(violations).isEmpty();
    }

    private static Map<Metric, Long> report(Machine machine) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        machine.report(numbers::put);
        return numbers;
    }

    private static long read(Device device, long dmaAddr) {
        byte[] bytes = new byte[8];
        int done = device.bus().read(dmaAddr, bytes, 0, 8);
        return done == 8 ? bytes[0] & 0xff : -1;
    }

    @Test
    void bothVariantsAreFoundByName() {
        assertThat(DmaBackends.all())
                .extracting(DmaBackends.Found::name)
                .containsSubsequence("direct", "swiotlb", "iommu-strict", "iommu-lazy");
    }

    @ParameterizedTest
    @ValueSource(strings = {"iommu-strict", "iommu-lazy"})
    void deviceReachesWhatIsMappedAndOnlyThat(String backend) {
        try (Machine machine = machine(backend)) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.cpuMemory().putLong(0x10_0678, 0x42);
            try (DmaMapping mapping = device.dma().map(0x10_0678, 0x100, DmaDirection.TO_DEVICE)) {
                assertThat(mapping.dmaAddr()).isEqualTo(0xfffff678L);
                assertThat(read(device, mapping.dmaAddr())).isEqualTo(0x42);
                assertThat(read(device, mapping.dmaAddr() + 0x1000)).isEqualTo(-1);
            }
            assertThat(machine.faults().recent()).hasSize(1);
            assertIdle(machine);
        }
    }

    @Test
    @DisplayName("iommu:FQ-8: a lazy unmap leaves the device a stale way in until the flush; a strict one does not")
    void staleEntryWorksUntilTheFlush() {
        assertThat(readAfterUnmap("iommu-strict", 0)).isEqualTo(-1);
        assertThat(readAfterUnmap("iommu-lazy", 0)).isEqualTo(0x42);
        assertThat(readAfterUnmap("iommu-lazy", 10 * MILLISECOND)).isEqualTo(-1);
    }

    private static long readAfterUnmap(String backend, long waitNanos) {
        try (Machine machine = machine(backend)) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.cpuMemory().putLong(0x10_0000, 0x42);
            long dmaAddr = device.dma().mapPage(0x10_0000, 0x1000, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            assertThat(read(device, dmaAddr)).isEqualTo(0x42);
            device.dma().unmapPage(dmaAddr, 0x1000, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            machine.clock().advance(waitNanos);
            return read(device, dmaAddr);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"iommu-strict", "iommu-lazy"})
    void listsAndCoherentMemoryAreReachedAndComeBack(String backend) {
        try (Machine machine = machine(backend)) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            Dma dma = device.dma(1);
            SgTable sg = new SgTable(2).add(0x20_0000, 0x1000).add(0x50_0000, 0x1800);
            machine.cpuMemory().putLong(0x50_0800, 0x17);
            assertThat(dma.mapSg(sg, 2, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE))
                    .isEqualTo(1);
            assertThat(read(device, sg.dmaAddr(0) + 0x1800)).isEqualTo(0x17);
            dma.unmapSg(sg, 2, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            try (CoherentBuffer buffer = dma.alloc(0x201000)) {
                buffer.putLong(0x200ff8, 0x99);
                assertThat(read(device, buffer.dmaAddr() + 0x200ff8)).isEqualTo(0x99);
            }
            assertIdle(machine);
            assertThat(report(machine))
                    .containsEntry(Metric.IOVA_HELD_BYTES, 0L)
                    .containsEntry(Metric.IOVA_PEAK_BYTES, 0x201000L);
        }
    }

    @Test
    @DisplayName("iommu:QK-25: an untrusted device of a lazy machine is strict, and sees its own bytes only")
    void untrustedDeviceIsStrictAndSeesItsOwnBytesOnly() {
        MachineBuilder builder = Machine.builder().ramBytes(128 << 20).commandLine("swiotlb=1024,force");
        try (Machine machine = builder.backend("iommu-lazy").build()) {
            Device device = machine.addDevice(DeviceConfig.named("dock").withTrusted(false));
            machine.cpuMemory().putLong(0x10_0800, 0x42);
            machine.cpuMemory().putLong(0x10_0900, 0x43);
            long dmaAddr = device.dma().mapPage(0x10_0800, 0x100, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            assertThat(read(device, dmaAddr)).isEqualTo(0x42);
            assertThat(read(device, dmaAddr + 0x100)).isZero();
            device.dma().unmapPage(dmaAddr, 0x100, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            assertThat(read(device, dmaAddr)).isEqualTo(-1);
            assertIdle(machine);
        }
    }

    @Test
    void faultNamesTheDeviceAddress() {
        try (Machine machine = machine("iommu-strict")) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            assertThat(read(device, 0xdead000)).isEqualTo(-1);
            BusFault fault = machine.faults().recent().get(0);
            assertThat(fault.dmaAddr()).isEqualTo(0xdead000);
        }
    }
}
