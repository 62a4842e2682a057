package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The swiotlb of a machine that runs (dma-core:SWC-3, SWC-9 to SWC-11, SWF-1, SWS-1). */
class SwiotlbTest {
    private static final long MIB = 1 << 20;

    private static Machine machine(String commandLine) {
        return machine(commandLine, 256);
    }

    private static Machine machine(String commandLine, long ramMib) {
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, ramMib * MIB)))
                .chunkBytes(1 << 16)
                .commandLine(commandLine)
                .build();
    }

    private static List<String> infos(Machine machine) {
        return machine.log().entries().stream()
                .filter(entry -> entry.kind() == KernelLog.Kind.INFO)
                .map(KernelLog.Entry::text)
                .toList();
    }

    private static void assertIdle(Machine machine) {
        List<String> wrong = new ArrayList<>();
        machine.checkStructure(wrong::add);
        machine.checkIdle(wrong::add);
        assertThat(wrong).isEmpty();
    }

    // ---- what a boot says

    @Test
    @DisplayName("SWC-3, SWC-4: areas are logged whenever they are set, and the size when it changes with them")
    void areasAreLogged() {
        assertThat(infos(machine("swiotlb=640,3,force")))
                .containsExactly(
                        "area num 4 (dma-core:SWC-3)", "bounce pool size rounded up to 2 MiB (dma-core:SWC-4)");
        assertThat(infos(machine("swiotlb=1024,2 swiotlb=,4,force")))
                .containsExactly("area num 2 (dma-core:SWC-3)", "area num 4 (dma-core:SWC-3)");
        assertThat(infos(machine("swiotlb=force")))
                .as("SWC-7: two CPUs")
                .containsExactly("area num 2 (dma-core:SWC-3)");
        assertThat(infos(machine(""))).as("nothing was set").isEmpty();
    }

    // ---- late boot

    @Test
    @DisplayName("SWC-9: a machine that runs gets a pool of pages")
    void lateBootMakesAPool() {
        Machine machine = machine("");
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.defaultMem().isActive()).isFalse();
        long before = machine.pages().freeBytes();
        machine.pages().allocPages(io.pagewalk.dma.memory.Zone.NORMAL, 0);
        machine.cpuMemory().fill(128 * MIB, 4 * MIB, (byte) 0x55);
        assertThat(swiotlb.initLate(2 * MIB, Gfp.KERNEL, null)).isZero();
        SwiotlbPool mem = swiotlb.defaultMem();
        assertThat(mem.slots()).isEqualTo(1024);
        assertThat(mem.areas()).isEqualTo(2);
        assertThat(mem.isForced()).isFalse();
        assertThat(mem.start() & (2 * MIB - 1)).as("a block of its order").isZero();
        assertThat(machine.pages().freeBytes()).isEqualTo(before - 2 * MIB - 0x1000);
        assertThat(infos(machine))
                .containsExactly(
                        "area num 2 (dma-core:SWC-3)",
                        "bounce pool of 1024 slots at 0x" + Long.toHexString(mem.start()));
        Device device = machine.addDevice(DeviceConfig.named("isa").withMask(0x1ff_ffffL));
        assertThat(device.dma().mapPage(128 * MIB, 0x100, DmaDirection.TO_DEVICE, 0))
                .isEqualTo(mem.start());
        device.dma().unmapPage(mem.start(), 0x100, DmaDirection.TO_DEVICE, 0);
        assertIdle(machine);
    }

    /** SWC-9: sizes round up to a power of two, and no block is above 4 MiB. */
    @ParameterizedTest
    @CsvSource({"0x100800, 1024", "0x200000, 1024", "0x200800, 2048", "0x400000, 2048", "0x4000000, 2048"})
    void lateBootTakesTheLargestBlock(String sizeBytes, int slots) {
        Swiotlb swiotlb = Swiotlb.of(machine(""));
        assertThat(swiotlb.initLate(Long.decode(sizeBytes), Gfp.KERNEL, null)).isZero();
        assertThat(swiotlb.defaultMem().slots()).isEqualTo(slots);
    }

    /** SWC-9: up to 512 slots nothing is tried. */
    @ParameterizedTest
    @CsvSource({"0", "1", "0x80000", "0x100000", "0x1007ff"})
    void lateBootOfALittleIsEnomem(String sizeBytes) {
        Machine machine = machine("");
        machine.failures().failNth(Long.MAX_VALUE);
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.initLate(Long.decode(sizeBytes), Gfp.KERNEL, null)).isEqualTo(-Errno.ENOMEM);
        assertThat(machine.failures().passed()).isZero();
        assertThat(swiotlb.defaultMem().isActive()).isFalse();
    }

    @Test
    @DisplayName("SWC-9: orders are tried downwards to more than 512 slots")
    void lateBootTriesSmallerBlocks() {
        Machine machine = machine("");
        Swiotlb swiotlb = Swiotlb.of(machine);
        machine.failures().failNth("swiotlb.late", 1);
        assertThat(swiotlb.initLate(4 * MIB, Gfp.KERNEL, null)).isZero();
        assertThat(swiotlb.defaultMem().slots()).isEqualTo(1024);
        Machine full = machine("", 1);
        assertThat(Swiotlb.of(full).initLate(4 * MIB, Gfp.KERNEL, null)).isEqualTo(-Errno.ENOMEM);
        assertThat(Swiotlb.of(full).defaultMem().isActive()).isFalse();
    }

    @Test
    @DisplayName("SWC-9: zones of the caller count")
    void lateBootFollowsTheZone() {
        Machine machine = Machine.builder().ramBytes(6L << 30).commandLine("").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        swiotlb.exit();
        assertThat(swiotlb.initLate(2 * MIB, Gfp.KERNEL | Gfp.DMA, null)).isZero();
        assertThat(swiotlb.defaultMem().start()).isLessThan(16 * MIB);
        swiotlb.exit();
        assertThat(swiotlb.initLate(2 * MIB, Gfp.KERNEL | Gfp.DMA32, null)).isZero();
        assertThat(swiotlb.defaultMem().start()).isBetween(16 * MIB, 4096 * MIB);
        swiotlb.exit();
        assertThat(swiotlb.initLate(2 * MIB, Gfp.KERNEL, null)).isZero();
        assertThat(swiotlb.defaultMem().start()).isGreaterThanOrEqualTo(4096 * MIB);
    }

    @Test
    @DisplayName("SWC-9: nothing to do with a pool, and nothing done with noforce")
    void lateBootIsNoopWithAPoolOrWhenDisabled() {
        Swiotlb booted = Swiotlb.of(machine("swiotlb=1024,1,force"));
        long start = booted.defaultMem().start();
        assertThat(booted.initLate(4 * MIB, Gfp.KERNEL, null)).isZero();
        assertThat(booted.defaultMem().start()).isEqualTo(start);
        Swiotlb disabled = Swiotlb.of(machine("swiotlb=noforce"));
        assertThat(disabled.initLate(4 * MIB, Gfp.KERNEL, null)).isZero();
        assertThat(disabled.defaultMem().isActive()).isFalse();
    }

    @Test
    @DisplayName("SWC-9: a remap that fails halves the pool and tries again, and keeps nothing")
    void remapFailureHalvesThePool() {
        Machine machine = machine("");
        Swiotlb swiotlb = Swiotlb.of(machine);
        long before = machine.pages().freeBytes();
        List<Long> asked = new ArrayList<>();
        int error = swiotlb.initLate(4 * MIB, Gfp.KERNEL, (physAddr, slots) -> {
            asked.add(slots);
            return slots == 2048 ? -Errno.EIO : 0;
        });
        assertThat(error).isZero();
        assertThat(asked).containsExactly(2048L, 1024L);
        assertThat(swiotlb.defaultMem().slots()).isEqualTo(1024);
        swiotlb.exit();
        asked.clear();
        assertThat(swiotlb.initLate(4 * MIB, Gfp.KERNEL, (physAddr, slots) -> {
                    asked.add(slots);
                    return -Errno.EIO;
                }))
                .as("512 slots are not tried")
                .isEqualTo(-Errno.ENOMEM);
        assertThat(asked).containsExactly(2048L, 1024L);
        assertThat(machine.pages().freeBytes()).isEqualTo(before);
    }

    // ---- sizes and exit

    @Test
    @DisplayName("SWC-10, SWC-11: the size is adjusted only while nobody has said another")
    void defaultSizeCanBeAdjustedOnce() {
        Swiotlb swiotlb = Swiotlb.of(machine(""));
        assertThat(swiotlb.sizeOrDefault()).isEqualTo(64 * MIB);
        swiotlb.adjustSize(0x12_3456);
        assertThat(swiotlb.sizeOrDefault()).as("whole sets").isEqualTo(0x14_0000);
        swiotlb.adjustSize(8 * MIB);
        assertThat(swiotlb.sizeOrDefault()).isEqualTo(0x14_0000);
        Swiotlb areas = Swiotlb.of(machine("swiotlb=,4,force"));
        areas.adjustSize(0x12_3456);
        assertThat(areas.sizeOrDefault()).as("SWC-4: a power of two").isEqualTo(2 * MIB);
        Swiotlb asked = Swiotlb.of(machine("swiotlb=4096,1"));
        asked.adjustSize(64 * MIB);
        assertThat(asked.sizeOrDefault()).isEqualTo(8 * MIB);
    }

    @Test
    @DisplayName("SWC-8, SWC-11: a boot that had to shrink the pool makes that the default")
    void shrunkSizeBecomesTheDefault() {
        Machine machine = machine("swiotlb=force", 40);
        assertThat(Swiotlb.of(machine).defaultMem().slots()).isEqualTo(0x4000);
        assertThat(Swiotlb.of(machine).sizeOrDefault()).isEqualTo(32 * MIB);
    }

    @Test
    @DisplayName("SWC-11: exit gives the memory back, and a mapping finds no pool then (SWM-1, A12)")
    void exitGivesTheMemoryBack() {
        Machine machine = Machine.builder()
                .ramBytes(6L << 30)
                .commandLine("swiotlb=1024,1")
                .build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        long before = machine.pages().freeBytes();
        Device device = machine.addDevice(DeviceConfig.named("dev").withMask(0xffff_ffffL));
        swiotlb.exit();
        assertThat(machine.pages().freeBytes()).isEqualTo(before + 2 * MIB);
        assertThat(swiotlb.defaultMem().isActive()).isFalse();
        assertThat(swiotlb.defaultMem().start()).isEqualTo(-1L);
        assertThat(swiotlb.files()).isEmpty();
        swiotlb.exit();
        assertThat(machine.pages().freeBytes()).isEqualTo(before + 2 * MIB);
        assertThat(device.dma().mapPage(4L << 30, 0x100, DmaDirection.TO_DEVICE, 0))
                .isEqualTo(-1L);
        assertThat(device.dma().maxMappingSize()).isEqualTo(-1L);
    }

    @Test
    @DisplayName("SWC-11: exit gives a place of one's own choice back too")
    void exitGivesAChosenPlaceBack() {
        Machine machine = Machine.builder()
                .ramBytes(6L << 30)
                .commandLine("swiotlb=1024,1")
                .backendOptions(io.pagewalk.dma.spi.BackendOptions.NONE.with(SwiotlbBoot.POOL_BASE_OPTION, 0x1000_0000))
                .build();
        assertThat(machine.pages().hasFreePagesWithin(0x1000_0000, 2 * MIB)).isFalse();
        Swiotlb.of(machine).exit();
        assertThat(machine.pages().hasFreePagesWithin(0x1000_0000, 2 * MIB)).isTrue();
    }

    @Test
    @DisplayName("SWC-11: exit is ignored when the command line forces bouncing")
    void exitIsIgnoredWhenForced() {
        Swiotlb swiotlb = Swiotlb.of(machine("swiotlb=1024,1,force"));
        swiotlb.exit();
        assertThat(swiotlb.defaultMem().isActive()).isTrue();
    }

    @Test
    @DisplayName("SWM-1, A12: the message of a mapping that finds no pool")
    void missingPoolIsNamedAsTheKernelDoes() {
        Machine machine = machine("swiotlb=force", 1);
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        for (int i = 0; i < 12; i++) {
            assertThat(device.dma().mapPage(0x5000, 0x10, DmaDirection.TO_DEVICE, 0))
                    .isEqualTo(-1L);
        }
        assertThat(machine.log().entries())
                .filteredOn(entry ->
                        entry.text().contains("dev: Can not allocate SWIOTLB buffer earlier and can't now provide"))
                .as("at a limited rate")
                .hasSize(10);
        assertThat(machine.log().count("swiotlb_tbl_map_single: no pool")).isEqualTo(12);
    }

    // ---- statistics

    @Test
    @DisplayName("SWF-1: files of the default allocator and of restricted pools in directories of their own")
    void filesShowWhatIsInUse() {
        Machine machine = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
                .commandLine("swiotlb=512,1,force")
                .restrictedPools(RestrictedPool.of("wifi", PhysRange.ofSize(16 * MIB, 0x64000)))
                .build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.files())
                .hasSize(3)
                .containsEntry("swiotlb/io_tlb_nslabs", "512\n")
                .containsEntry("swiotlb/io_tlb_used", "0\n")
                .containsEntry("swiotlb/io_tlb_used_hiwater", "0\n");
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        Device wifi = machine.addDevice(DeviceConfig.named("nic").withRestrictedPool("wifi"));
        long first = device.dma().mapPage(0x5000, 0x1800, DmaDirection.TO_DEVICE, 0);
        wifi.dma().mapPage(0x5000, 0x10, DmaDirection.TO_DEVICE, 0);
        device.dma().unmapPage(first, 0x1800, DmaDirection.TO_DEVICE, 0);
        assertThat(swiotlb.files())
                .hasSize(6)
                .containsEntry("swiotlb/io_tlb_used", "0\n")
                .containsEntry("swiotlb/io_tlb_used_hiwater", "3\n")
                .containsEntry("swiotlb/wifi/io_tlb_nslabs", "200\n")
                .containsEntry("swiotlb/wifi/io_tlb_used", "1\n")
                .containsEntry("swiotlb/wifi/io_tlb_used_hiwater", "1\n");
    }

    @Test
    @DisplayName("SWF-1: the mark is forgotten by writing 0, and by nothing else")
    void hiwaterIsResetByZero() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        long first = world.map(device, 0x10000, 0x1800);
        world.map(device, 0x10000, 0x100);
        assertThat(world.pool.usedHiwater()).isEqualTo(4);
        assertThat(world.pool.writeUsedHiwater(1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.pool.usedHiwater()).isEqualTo(4);
        assertThat(world.pool.writeUsedHiwater(0)).isZero();
        assertThat(world.pool.usedHiwater()).isZero();
        world.assertSound();
        world.unmap(device, first, 0x1800);
        world.map(device, 0x10000, 0x100);
        assertThat(world.pool.usedHiwater()).isEqualTo(2);
        assertThat(new SwiotlbPool(world.machine, null, false).writeUsedHiwater(0))
                .isZero();
    }

    // ---- what a device must not say

    @Test
    @DisplayName("SWS-1: a boundary of no power of two of slots is a BUG, before anything is taken")
    void oddBoundaryIsABug() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        device.setSegmentBoundaryMask(0x17ff);
        assertThatThrownBy(() -> world.map(device, 0x10000, 0x100))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("segment boundary 0x17ff holds 3 slots, no power of two (dma-core:SWS-1)");
        device.setSegmentBoundaryMask(0x27ff);
        assertThatThrownBy(() -> world.map(device, 0x10000, 0x100)).isInstanceOf(KernelBugException.class);
        world.assertIdle();
        device.setSegmentBoundaryMask(0x1a34);
        assertThat(world.map(device, 0x10000, 0x100))
                .as("3 + 1 slots are a power of two")
                .isEqualTo(PoolWorld.START);
    }
}
