package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.FakeProvider;
import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * A machine with a CPU cache: which devices snoop it, and what the hooks of arm64 do to it (dma-core:DEV-7, DIR-23).
 */
class MachineCacheTest {
    private static MachineBuilder builder(boolean hooks) {
        ArchConfig arch = hooks ? ArchConfig.x86().withCacheMaintenance(CacheMaintenance.arm64()) : ArchConfig.x86();
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 0x8000)))
                .allocatable(List.of(PhysRange.ofSize(0x1000, 0x1000)))
                .chunkBytes(0x1000)
                .backend(FakeProvider.NAME)
                .kernelConfig(KernelConfig.distribution().withArch(arch));
    }

    private static Machine board(boolean hooks) {
        return builder(hooks).cpuCache(new CpuCacheOptions(64, 16)).build();
    }

    private static CpuCache cache(Machine machine) {
        return Objects.requireNonNull(machine.cpuMemory().cache());
    }

    private static Device device(Machine machine, boolean coherent) {
        return machine.addDevice(DeviceConfig.named("nic").withCoherent(coherent));
    }

    @Test
    void aDeviceThatSnoopsSeesWhatTheCpuWrote() {
        Machine machine = board(true);
        machine.cpuMemory().putLong(0x2000, 7);

        assertThat(device(machine, true).bus().readLong(0x2000)).isEqualTo(7);
    }

    @Test
    void aDeviceThatDoesNotReachesAround() {
        Machine machine = board(true);
        Device device = device(machine, false);
        machine.cpuMemory().putLong(0x2000, 7);
        assertThat(device.bus().readLong(0x2000)).isZero();
        device.bus().writeLong(0x2000, 9);

        assertThat(machine.cpuMemory().getLong(0x2000)).isEqualTo(7);
        assertThat(machine.memory().getLong(0x2000)).isEqualTo(9);
    }

    @Test
    void withoutHooksEveryDeviceSnoops() {
        Machine machine = board(false);
        machine.cpuMemory().putLong(0x2000, 7);

        assertThat(machine.cacheMaintenance()).isNull();
        assertThat(device(machine, false).bus().readLong(0x2000)).isEqualTo(7);
    }

    @Test
    void softwareOnTheCpuSeesWhatTheCpuSees() {
        Machine machine = builder(true)
                .cpuCache(new CpuCacheOptions(64, 16))
                .backendOptions(BackendOptions.NONE.with(FakeProvider.ON_WIRES, 0))
                .build();
        machine.cpuMemory().putLong(0x2000, 7);

        assertThat(device(machine, false).bus().readLong(0x2000)).isEqualTo(7);
    }

    @Test
    void theHooksCleanForTheDeviceAndInvalidateForTheCpuUnlessItOnlyRead() {
        Machine machine = board(true);
        CacheMaintenance hooks = Objects.requireNonNull(machine.cacheMaintenance());
        for (DmaDirection direction : List.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE)) {
            machine.cpuMemory().putLong(0x2000, 7);
            hooks.syncForDevice(0x2000, 64, direction);
            assertThat(cache(machine).isDirty(0x2000)).isFalse();
            assertThat(cache(machine).isCached(0x2000)).isTrue();
        }
        hooks.syncForCpu(0x2000, 64, DmaDirection.TO_DEVICE);
        assertThat(cache(machine).isCached(0x2000)).isTrue();
        hooks.syncForCpu(0x2000, 64, DmaDirection.BIDIRECTIONAL);
        assertThat(cache(machine).isCached(0x2000)).isFalse();
    }

    @Test
    void withoutACacheTheHooksHaveNothingToDo() {
        Machine machine = builder(true).build();
        CacheMaintenance hooks = Objects.requireNonNull(machine.cacheMaintenance());
        machine.cpuMemory().putLong(0x2000, 7);
        hooks.syncForDevice(0x2000, 8, DmaDirection.TO_DEVICE);
        hooks.syncForCpu(0x2000, 8, DmaDirection.FROM_DEVICE);

        assertThat(machine.cpuMemory().cache()).isNull();
        assertThat(machine.cpuMemory().getLong(0x2000)).isEqualTo(7);
    }

    @Test
    void hooksOfOnesOwnStayThemselves() {
        CacheMaintenance own = CacheMaintenance.arm64(new CacheMaintenance.Lines() {
            @Override
            public void clean(long physAddr, long sizeBytes) {}

            @Override
            public void invalidate(long physAddr, long sizeBytes) {}
        });
        Machine machine = builder(true)
                .kernelConfig(
                        KernelConfig.distribution().withArch(ArchConfig.x86().withCacheMaintenance(own)))
                .build();

        assertThat(machine.cacheMaintenance()).isSameAs(own);
    }

    @Test
    void coherentMemoryOfADeviceThatDoesNotSnoopIsNotCached() {
        Machine machine = board(true);
        Device device = device(machine, false);
        machine.cpuMemory().putLong(0x4008, 5);
        CoherentBuffer buffer = device.dma().alloc(0x1000);

        assertThat(cache(machine).isCached(0x4008)).as("went to memory").isFalse();
        assertThat(machine.memory().getLong(0x4008)).isEqualTo(5);
        buffer.putLong(16, 9);
        assertThat(device.bus().readLong(buffer.dmaAddr() + 16)).isEqualTo(9);
        assertThat(cache(machine).isCached(buffer.physAddr(16))).isFalse();
        assertThat(DmaMemory.memoryOf(device).cache()).isNull();
    }

    @Test
    void coherentMemoryOfADeviceThatSnoopsIsCached() {
        Machine machine = board(true);
        Device device = device(machine, true);
        machine.cpuMemory().putLong(0x4008, 5);
        CoherentBuffer buffer = device.dma().alloc(0x1000);
        buffer.putLong(16, 9);

        assertThat(cache(machine).isDirty(0x4008)).isTrue();
        assertThat(device.bus().readLong(buffer.dmaAddr() + 16)).isEqualTo(9);
        CpuMemory memory = DmaMemory.memoryOf(device);
        assertThat(memory).isSameAs(machine.cpuMemory());
    }

    @Test
    void managedMemoryIsTheSame() {
        Machine machine = board(true);
        Device device = device(machine, false);
        CoherentBuffer buffer =
                Objects.requireNonNull(device.dma().memory().managed().allocCoherent(0x1000, Gfp.KERNEL));
        buffer.putLong(8, 3);

        assertThat(device.bus().readLong(buffer.dmaAddr() + 8)).isEqualTo(3);
    }
}
