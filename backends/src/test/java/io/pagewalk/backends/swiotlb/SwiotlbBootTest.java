package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SwiotlbBootTest {
    private static final long MIB = 1 << 20;
    private static final RamMap SMALL = RamMap.of(PhysRange.ofSize(0, 256 * MIB));

    private static Machine machine(RamMap ram, int cpus, String commandLine) {
        return Machine.builder()
                .ram(ram)
                .cpus(cpus)
                .commandLine(commandLine)
                .backend("virt")
                .build();
    }

    private static SwiotlbPool boot(RamMap ram, int cpus, String commandLine, boolean force) {
        return SwiotlbBoot.boot(machine(ram, cpus, commandLine), BackendOptions.NONE, force)
                .defaultMem();
    }

    @Test
    @DisplayName("SWC-6: a PC needs a pool when memory reaches above 4 GiB")
    void poolComesWithMemoryAbove4GiB() {
        assertThat(boot(RamMap.sizedWithHole(3L << 30), 1, "", false).isActive())
                .isFalse();
        SwiotlbPool pool = boot(RamMap.sizedWithHole(4L << 30), 1, "", false);
        assertThat(pool.slots()).isEqualTo(0x8000);
        assertThat(pool.isForced()).isFalse();
        assertThat(pool.start()).as("as high below 4 GiB as it fits").isEqualTo(RamMap.PC_HOLE_FIRST - 64 * MIB);
    }

    @Test
    @DisplayName("SWC-6: force, by command line or caller, makes a pool anywhere")
    void forceMakesAPool() {
        assertThat(boot(SMALL, 1, "swiotlb=force", false).isForced()).isTrue();
        assertThat(boot(SMALL, 1, "", true).isForced()).isTrue();
        assertThat(boot(SMALL, 1, "", true).isActive()).isTrue();
    }

    @Test
    @DisplayName("SWC-6: noforce wins")
    void noforceWins() {
        SwiotlbPool pool = boot(RamMap.sizedWithHole(8L << 30), 1, "swiotlb=force swiotlb=noforce", true);
        assertThat(pool.isActive()).isFalse();
        assertThat(pool.isForced()).isFalse();
    }

    @Test
    @DisplayName("SWC-7: areas follow the CPUs, rounded up, and the slots the areas")
    void areasFollowTheCpus() {
        assertThat(boot(SMALL, 3, "", true).areas()).isEqualTo(4);
        SwiotlbPool odd = boot(SMALL, 2, "swiotlb=640", true);
        assertThat(odd.slots()).isEqualTo(1024);
        assertThat(odd.areas()).isEqualTo(2);
        assertThat(boot(SMALL, 2, "swiotlb=1024,8", true).areas()).isEqualTo(8);
        assertThat(boot(SMALL, 2, "swiotlb=128,1,force", false).slots()).isEqualTo(128);
    }

    @Test
    @DisplayName("SWC-8, A12: the pool halves until it fits, and says so")
    void poolHalvesUntilItFits() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, 40 * MIB)), 8, "");
        SwiotlbPool pool = SwiotlbBoot.boot(machine, BackendOptions.NONE, true).defaultMem();
        assertThat(pool.slots()).isEqualTo(0x4000);
        assertThat(machine.log().entries()).anyMatch(e -> e.text().contains("from 32768 to 16384 slots"));
    }

    @Test
    @DisplayName("SWC-7, SWC-8: areas shrink with the pool")
    void areasShrinkWithThePool() {
        Machine machine = machine(SMALL, 1, "swiotlb=2048,16,force");
        machine.failures().failNth("swiotlb.pool", 1);
        SwiotlbPool pool = SwiotlbBoot.boot(machine, BackendOptions.NONE, false).defaultMem();
        assertThat(pool.slots()).isEqualTo(1024);
        assertThat(pool.areas()).isEqualTo(8);
    }

    @Test
    @DisplayName("SWC-8, SWM-1: below 1 MiB a boot gives up; a forced machine then maps nothing")
    void bootGivesUpBelowTheMinimum() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, MIB / 2)), 1, "");
        SwiotlbPool pool = SwiotlbBoot.boot(machine, BackendOptions.NONE, true).defaultMem();
        assertThat(pool.isActive()).isFalse();
        assertThat(pool.isForced()).isTrue();
        assertThat(machine.log().entries()).anyMatch(e -> e.text().contains("512 slots"));
    }

    @Test
    void hugeRequestIsShrunkLikeAnyOther() {
        assertThat(boot(SMALL, 1, "swiotlb=0xffffffffff", true).slots()).isPositive();
    }

    @Test
    void poolCanBePutSomewhere() {
        Machine machine = machine(SMALL, 1, "swiotlb=1024");
        long before = machine.pages().freeBytes();
        SwiotlbPool pool = SwiotlbBoot.boot(machine, at(0x300_1000), true).defaultMem();
        assertThat(pool.start()).isEqualTo(0x300_1000);
        assertThat(machine.pages().freeBytes()).isEqualTo(before - 2 * MIB);
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        assertThat(pool.contains(device, 0x300_1000)).isTrue();
        assertThat(pool.contains(device, 0x300_0fff)).isFalse();
        assertThat(pool.contains(device, 0x300_1000 + 2 * MIB - 1)).isTrue();
        assertThat(pool.contains(device, 0x300_1000 + 2 * MIB)).isFalse();
    }

    @Test
    void placeThatNobodyHandsOutIsTakenAsItIs() {
        Machine machine = Machine.builder()
                .ram(SMALL)
                .allocatable(List.of(PhysRange.ofSize(MIB, MIB)))
                .commandLine("swiotlb=1024,1")
                .backend("virt")
                .build();
        assertThat(SwiotlbBoot.boot(machine, at(0x300_0800), true).defaultMem().start())
                .isEqualTo(0x300_0800);
        assertThat(machine.pages().freeBytes()).isEqualTo(MIB);
        assertThatThrownBy(() -> SwiotlbBoot.boot(machine, at(MIB), true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(SwiotlbBoot.POOL_BASE_OPTION);
    }

    @Test
    void placeOutsideRamIsRefused() {
        Machine machine = machine(SMALL, 1, "swiotlb=1024");
        assertThatThrownBy(() -> SwiotlbBoot.boot(machine, at(256 * MIB - 0x1000), true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0xffff000+0x200000");
    }

    private static BackendOptions at(long physAddr) {
        return BackendOptions.NONE.with(SwiotlbBoot.POOL_BASE_OPTION, physAddr);
    }
}
