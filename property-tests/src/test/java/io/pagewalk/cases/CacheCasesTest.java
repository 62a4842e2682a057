package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Situations of devices that do not snoop the CPU's cache: F8 and F14. */
class CacheCasesTest {
    private static final int LINE = 64;
    private static final int PAGE = 4096;
    private static final long BUFFER = 0x120_0000L;

    private static Machine board(String backend) {
        ArchConfig arch = ArchConfig.x86().withRemap(true).withCacheMaintenance(CacheMaintenance.arm64());
        return Machine.builder()
                .ramBytes(64 << 20)
                .backend(backend)
                .commandLine("swiotlb=1024")
                .kernelConfig(KernelConfig.distribution().withArch(arch))
                .cpuCache(CpuCacheOptions.DEFAULT)
                .build();
    }

    private static Device nic(Machine machine) {
        return machine.addDevice(DeviceConfig.named("nic").withCoherent(false));
    }

    private static List<Integer> oldLines(CpuMemory cpu) {
        List<Integer> old = new ArrayList<>();
        for (int line = 0; line < PAGE / LINE; line++) {
            if (cpu.getByte(BUFFER + line * LINE) != 0x55) {
                old.add(line);
            }
        }
        return old;
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "iommu-strict", "iommu-lazy"})
    @DisplayName(
            "F14: a device writes 4 KiB, and without a sync the CPU sees old bytes in the lines that it had cached")
    void withoutASyncExactlyTheCachedLinesAreOld(String backend) {
        try (Machine machine = board(backend)) {
            CpuMemory cpu = machine.cpuMemory();
            Device device = nic(machine);
            try (DmaMapping mapping = device.dma().map(BUFFER, PAGE, DmaDirection.FROM_DEVICE)) {
                for (int line : new int[] {0, 3, 17, 63}) {
                    cpu.getByte(BUFFER + line * LINE + 5);
                }
                byte[] written = new byte[PAGE];
                Arrays.fill(written, (byte) 0x55);
                assertThat(device.bus().write(mapping.dmaAddr(), written, 0, PAGE))
                        .isEqualTo(PAGE);

                assertThat(oldLines(cpu)).containsExactly(0, 3, 17, 63);
                CpuCache cache = Objects.requireNonNull(cpu.cache());
                assertThat(cache.staleReads()).isEqualTo(4);
                assertThat(cache.lastStalePhysAddr()).isEqualTo(BUFFER + 63 * LINE);

                mapping.syncForCpu();
                assertThat(oldLines(cpu)).isEmpty();
            }
            assertThat(oldLines(cpu)).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "iommu-strict", "iommu-lazy"})
    @DisplayName(
            "F8: the CPU writes one object of a line while a device writes the other, and the device's bytes are lost")
    void twoObjectsOfOneLineDestroyEachOther(String backend) {
        try (Machine machine = board(backend)) {
            CpuMemory cpu = machine.cpuMemory();
            Device device = nic(machine);
            long own = BUFFER;
            long received = BUFFER + 8;
            cpu.putLong(received, 0x01d);
            try (DmaMapping mapping = device.dma().map(received, 8, DmaDirection.FROM_DEVICE)) {
                device.bus().writeLong(mapping.dmaAddr(), 0xd3_11ceL);
                cpu.putLong(own, 0xc0de);
            }

            assertThat(cpu.getLong(received)).as("what it was before the DMA").isEqualTo(0x01d);
            assertThat(cpu.getLong(own)).isEqualTo(0xc0de);
            assertThat(machine.memory().getLong(received)).isEqualTo(0x01d);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "iommu-strict"})
    @DisplayName("F8: objects in lines of their own do not, nor does a bounce buffer share a line with anything")
    void objectsInLinesOfTheirOwnAreSafe(String backend) {
        try (Machine machine = board(backend)) {
            CpuMemory cpu = machine.cpuMemory();
            Device device = nic(machine);
            long received = BUFFER + LINE;
            try (DmaMapping mapping = device.dma().map(received, 8, DmaDirection.FROM_DEVICE)) {
                device.bus().writeLong(mapping.dmaAddr(), 0xd3_11ceL);
                cpu.putLong(BUFFER, 0xc0de);
            }
            assertThat(cpu.getLong(received)).isEqualTo(0xd3_11ceL);
            assertThat(cpu.getLong(BUFFER)).isEqualTo(0xc0de);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = "swiotlb")
    @DisplayName("F8: a bounced object shares its line with nothing of the device's")
    void aBouncedObjectSurvivesItsNeighbour(String backend) {
        try (Machine machine = board(backend)) {
            CpuMemory cpu = machine.cpuMemory();
            Device device = nic(machine);
            try (DmaMapping mapping = device.dma().map(BUFFER + 8, 8, DmaDirection.FROM_DEVICE)) {
                device.bus().writeLong(mapping.dmaAddr(), 0xd3_11ceL);
                cpu.putLong(BUFFER, 0xc0de);
            }
            assertThat(cpu.getLong(BUFFER + 8)).isEqualTo(0xd3_11ceL);
            assertThat(cpu.getLong(BUFFER)).isEqualTo(0xc0de);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict"})
    @DisplayName("F14: coherent memory needs no sync, for a device that does not snoop it is not cached")
    void coherentMemoryNeedsNoSync(String backend) {
        try (Machine machine = board(backend)) {
            Device device = nic(machine);
            try (CoherentBuffer ring = device.dma().alloc(2 * PAGE)) {
                assertThat(device.bus().readLong(ring.dmaAddr() + PAGE))
                        .as("its zeros have arrived")
                        .isZero();
                ring.putLong(PAGE, 1);
                assertThat(device.bus().readLong(ring.dmaAddr() + PAGE)).isEqualTo(1);
                device.bus().writeLong(ring.dmaAddr() + PAGE, 2);
                assertThat(ring.getLong(PAGE)).isEqualTo(2);
                CpuCache cache = Objects.requireNonNull(machine.cpuMemory().cache());
                assertThat(cache.isCached(ring.physAddr(PAGE))).isFalse();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict"})
    @DisplayName("F14: SKIP_CPU_SYNC leaves the bytes in the cache, as the caller said it would see to them")
    void skippingTheSyncAtMapLeavesOldBytesInMemory(String backend) {
        try (Machine machine = board(backend)) {
            Device device = nic(machine);
            machine.cpuMemory().putLong(BUFFER, 0x22);
            long dmaAddr = device.dma().mapPage(BUFFER, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.SKIP_CPU_SYNC);

            assertThat(device.bus().readLong(dmaAddr)).isZero();
            device.dma().syncSingleForDevice(dmaAddr, PAGE, DmaDirection.TO_DEVICE);
            assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x22);
            device.dma().unmapPage(dmaAddr, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        }
    }
}
