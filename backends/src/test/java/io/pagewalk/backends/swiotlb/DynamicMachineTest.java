package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.memory.ZoneLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Machines whose kernel lets bounce pools grow. */
class DynamicMachineTest {
    private static final long MIB = 1 << 20;
    private static final long SET = 0x4_0000;
    private static final KernelConfig DYNAMIC = KernelConfig.distribution().withSwiotlbDynamic(true);

    private static MachineBuilder machine(String commandLine) {
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
                .chunkBytes(1 << 16)
                .kernelConfig(DYNAMIC)
                .commandLine(commandLine);
    }

    private static Device device(Machine machine) {
        return machine.addDevice(DeviceConfig.named("nic"));
    }

    private static long map(Device device, long sizeBytes) {
        return device.dma().mapPage(0x10_0000, sizeBytes, DmaDirection.FROM_DEVICE, 0);
    }

    private static void unmap(Device device, long dmaAddr, long sizeBytes) {
        device.dma().unmapPage(dmaAddr, sizeBytes, DmaDirection.FROM_DEVICE, 0);
    }

    private static KernelTimer timer(Machine machine, String name) {
        return Objects.requireNonNull(machine.clock().named(name));
    }

    private static List<String> wrong(Machine machine) {
        List<String> wrong = new ArrayList<>();
        machine.quiesce();
        machine.checkStructure(wrong::add);
        machine.checkIdle(wrong::add);
        return wrong;
    }

    @Test
    @DisplayName("QRK-14, SWD-7: off by default, and then a full pool is full")
    void aDistributionsKernelHasOnePool() {
        Machine machine = machine("swiotlb=128,1,force")
                .kernelConfig(KernelConfig.distribution())
                .build();
        Device device = device(machine);
        assertThat(map(device, SET)).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(map(device, 1)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(device.usesIoTlb()).as("nobody asks").isFalse();
        assertThat(machine.clock().named("swiotlb.grow")).isNull();
        assertThat(Swiotlb.of(machine).files()).hasSize(3);
        assertThat(Swiotlb.of(machine).defaultMem().transientSlots()).isZero();
    }

    @Test
    @DisplayName("SWD-1 to SWD-3, SWF-1: a machine's pool grows below 4 GiB by the size that it was told")
    void aPoolGrowsInTheBackground() {
        Machine machine = machine("swiotlb=128,1,force").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        Device device = device(machine);
        long pagesBefore = machine.pages().allocatedPages();
        long all = map(device, SET);
        long alone = map(device, 0x1000);
        assertThat(device.dma().needSync(alone)).isTrue();
        assertThat(swiotlb.files())
                .containsEntry("swiotlb/io_tlb_nslabs", "128\n")
                .containsEntry("swiotlb/io_tlb_used", "130\n")
                .containsEntry("swiotlb/io_tlb_used_hiwater", "130\n")
                .containsEntry("swiotlb/io_tlb_transient_nslabs", "2\n")
                .hasSize(4);
        assertThat(timer(machine, "swiotlb.grow").isArmed()).isTrue();
        machine.clock().advance(0);
        assertThat(swiotlb.files()).containsEntry("swiotlb/io_tlb_nslabs", "256\n");
        assertThat(map(device, SET)).isNotEqualTo(alone).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(timer(machine, "swiotlb.grow").isArmed()).isFalse();
        unmap(device, alone, 0x1000);
        assertThat(swiotlb.files()).containsEntry("swiotlb/io_tlb_transient_nslabs", "0\n");
        assertThat(timer(machine, "swiotlb.free").isArmed()).isTrue();
        assertThat(machine.pages().allocatedPages()).isEqualTo(pagesBefore + 1 + 64);
        machine.quiesce();
        assertThat(timer(machine, "swiotlb.free").isArmed()).isFalse();
        assertThat(machine.pages().allocatedPages()).isEqualTo(pagesBefore + 64);
        machine.quiesce();
        assertThat(wrong(machine)).as("the two sets").hasSize(3);
        assertThat(all).isEqualTo(swiotlb.defaultMem().start());
    }

    @Test
    @DisplayName("SWC-25: who asks for the base ends the growth; the limit is that of the growth until then")
    void whoAsksForTheBaseEndsTheGrowth() {
        Machine machine = machine("swiotlb=128,1,force").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        Device device = device(machine);
        assertThat(swiotlb.defaultLimit()).isEqualTo(0xffff_ffffL);
        long base = swiotlb.defaultBase();
        assertThat(base).isEqualTo(swiotlb.defaultMem().start());
        assertThat(swiotlb.defaultLimit()).isEqualTo(base + SET - 1);
        assertThat(map(device, SET)).isEqualTo(base);
        assertThat(map(device, 1)).isEqualTo(Dma.DMA_MAPPING_ERROR);
    }

    @Test
    @DisplayName("SWC-25: the default pool's end, however many pools there are")
    void theLimitIsTheDefaultPoolsEnd() {
        Machine machine = machine("swiotlb=128,1,force").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        machine.failures().failNth("swiotlb.slots", 1);
        map(device(machine), 1);
        machine.clock().advance(0);
        assertThat(swiotlb.defaultMem().slots()).isEqualTo(256);
        assertThat(swiotlb.defaultLimit()).isEqualTo(0xffff_ffffL);
        long base = swiotlb.defaultBase();
        assertThat(swiotlb.defaultLimit()).isEqualTo(base + SET - 1);
    }

    /** SWD-1: a late pool grows as high as its pages could have been. */
    @ParameterizedTest
    @CsvSource({"DMA, 0xffffff", "DMA32, 0xffffffff", "NORMAL, 0x13fffffff"})
    void aLatePoolGrowsAsHighAsItsPages(Zone zone, String limit) {
        Machine machine = machine("swiotlb=1024,1")
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB), PhysRange.ofSize(1L << 32, 1 << 30)))
                .build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        swiotlb.exit();
        int gfp = zone == Zone.DMA ? Gfp.DMA : zone == Zone.DMA32 ? Gfp.DMA32 : 0;
        assertThat(swiotlb.initLate(2 * MIB, gfp, null)).isZero();
        assertThat(swiotlb.defaultLimit()).isEqualTo(Long.decode(limit));
    }

    @Test
    @DisplayName("SWD-1: a zone DMA above 4 GiB lifts the limit of DMA32")
    void aHighZoneDmaLiftsTheLimitOfDma32() {
        ArchConfig arch = ArchConfig.x86().withZones(ZoneLimits.of(true, true, 0x1_ffff_ffffL));
        Machine machine = machine("").kernelConfig(DYNAMIC.withArch(arch)).build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.initLate(2 * MIB, Gfp.DMA32, null)).isZero();
        assertThat(swiotlb.defaultLimit()).isEqualTo(0x1_ffff_ffffL);
    }

    @Test
    @DisplayName("SWD-1: memory that has to be made fit does not grow")
    void aRemappedPoolDoesNotGrow() {
        Machine machine = machine("").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.initLate(2 * MIB, Gfp.KERNEL, (physAddr, slots) -> 0))
                .isZero();
        assertThat(swiotlb.defaultLimit()).isEqualTo(swiotlb.defaultMem().start() + 2 * MIB - 1);
    }

    @Test
    @DisplayName("SWC-11, SWD-9: after exit nothing is mapped or grown; what was added keeps its memory")
    void afterExitNothingGrows() {
        Machine machine = machine("").build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        swiotlb.initLate(2 * MIB, Gfp.KERNEL, null);
        long before = machine.pages().allocatedPages();
        Device device = device(machine);
        SwiotlbPool mem = swiotlb.defaultMem();
        mapAlone(machine, device);
        machine.clock().advance(0);
        assertThat(mem.slots()).isEqualTo(1024 + 2048);
        mapAlone(machine, device);
        machine.quiesce();
        assertThat(timer(machine, "swiotlb.grow").isArmed()).isTrue();
        swiotlb.exit();
        assertThat(timer(machine, "swiotlb.grow").isArmed()).isFalse();
        assertThat(mem.isActive()).isFalse();
        assertThat(mem.slots()).isZero();
        assertThat(swiotlb.defaultLimit()).isEqualTo(-1L);
        assertThat(mem.map(device, 0, 0x10_0000, 1, 0, DmaDirection.TO_DEVICE, 0))
                .isEqualTo(-1L);
        assertThat(machine.pages().allocatedPages()).isEqualTo(before - 512 + 1024);
    }

    /** As though the pools were full. */
    private static void mapAlone(Machine machine, Device device) {
        SwiotlbPool mem = Swiotlb.of(machine).defaultMem();
        machine.failures().failNth("swiotlb.slots", 1);
        long alone = mem.map(device, 0, 0x10_0000, 1, 0, DmaDirection.TO_DEVICE, 0);
        assertThat(mem.transientSlots()).isEqualTo(1);
        mem.unmap(device, 0, alone, 1, DmaDirection.TO_DEVICE, 0);
    }

    @Test
    @DisplayName("SWS-22, QRK-37: where the default pool never was, a restricted pool is always full")
    void aRestrictedPoolIsFullWhereTheDefaultPoolNeverWas() {
        RestrictedPool region = RestrictedPool.of("rmem", PhysRange.ofSize(48 * MIB, SET));
        Machine machine = machine("").restrictedPools(region).build();
        Device device = machine.addDevice(DeviceConfig.named("wifi").withRestrictedPool("rmem"));
        assertThat(map(device, 1)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(machine.log().entries().get(0).text()).contains("(sz: 1 bytes), total 128 (slots), used 0 (slots)");
        Machine told = machine("swiotlb=,4").restrictedPools(region).build();
        Device happy = told.addDevice(DeviceConfig.named("wifi").withRestrictedPool("rmem"));
        assertThat(map(happy, SET)).isEqualTo(48 * MIB);
        assertThat(map(happy, 1)).as("SWX-1: never grows").isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(timer(told, "swiotlb.grow:rmem").isArmed()).isFalse();
        assertThat(timer(told, "swiotlb.grow").isArmed()).isFalse();
        assertThat(Swiotlb.of(told).files()).containsEntry("swiotlb/rmem/io_tlb_transient_nslabs", "0\n");
        unmap(happy, 48 * MIB, SET);
        assertThat(wrong(told)).isEmpty();
    }

    @Test
    @DisplayName("SWD-4: memory that has to be decrypted comes from an atomic pool")
    void memoryToDecryptComesFromAnAtomicPool() {
        Machine machine = machine("swiotlb=128,1,force")
                .kernelConfig(DYNAMIC.withArch(ArchConfig.x86().withForcedDecryption(true)))
                .build();
        Device device = device(machine);
        long all = map(device, SET);
        long before = machine.pages().allocatedPages();
        long alone = map(device, 0x1800);
        assertThat(alone).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(machine.pages().allocatedPages()).as("no page of its own").isEqualTo(before);
        assertThat(Swiotlb.of(machine).defaultMem().transientSlots()).isEqualTo(3);
        assertThat(map(device, 0x3_0000)).as("more than the atomic pool has").isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(machine.log().warnCount()).isZero();
        unmap(device, alone, 0x1800);
        unmap(device, all, SET);
        assertThat(wrong(machine)).isEmpty();
        machine.failures().failNth("swiotlb.slots", 1);
        assertThat(map(device, 0x1800)).as("given back").isEqualTo(alone);
        Device beyond = machine.addDevice(DeviceConfig.named("isa").withMask(0x1_ffffL));
        machine.failures().failNth("swiotlb.slots", 1);
        assertThat(Swiotlb.of(machine).defaultMem().map(beyond, 0, 0x10_0000, 1, 0, DmaDirection.TO_DEVICE, 0))
                .as("no memory in its reach")
                .isEqualTo(-1L);
    }

    // ---- where a transient pool comes from

    /** SWD-4: the zone follows from the limit; pages above it are given back, and the next lower zone is tried. */
    @ParameterizedTest
    @CsvSource({
        "0xffffffffffffffff, 0, 0x300000000, 1",
        "0x1ffffffff, 0, 0x80000000, 2",
        "0xffffffffffffffff, 0x1ffffffff, 0x80000000, 2",
        "0xffffffff, 0, 0x80000000, 1",
        "0xffffffff, 0x7fffffff, 0x800000, 2",
        "0x7fffffff, 0, 0x800000, 2",
        "0xffffff, 0, 0x800000, 1",
        "0x800fff, 0, 0x800000, 1",
        "0x8007ff, 0, 0x800000, 1",
        "0x8007fe, 0, 0xffffffffffffffff, 1",
        "0x7fffff, 0, 0xffffffffffffffff, 1",
    })
    void theZoneFollowsFromTheLimit(String mask, String busLimit, String expected, int tries) {
        DynamicWorld world = new DynamicWorld(
                1,
                256,
                2,
                PhysRange.ofSize(0x80_0000, 0x1_0000),
                PhysRange.ofSize(0x8000_0000L, MIB),
                PhysRange.ofSize(0x3_0000_0000L, MIB));
        Device device = world.machine.addDevice(DeviceConfig.named("nic")
                .withMask(Long.parseUnsignedLong(mask.substring(2), 16))
                .withBusLimit(Long.parseUnsignedLong(busLimit.replace("0x", ""), 16)));
        world.fill(world.device("filler"));
        world.machine.failures().failNth("swiotlb.transient", Long.MAX_VALUE);
        assertThat(world.map(device, 0x10_0000, 0x800)).isEqualTo(Long.parseUnsignedLong(expected.substring(2), 16));
        assertThat(world.machine.failures().passed()).isEqualTo(tries);
        assertThat(world.allocatedPages()).isEqualTo(expected.length() == 18 ? 0 : 1);
    }

    @Test
    @DisplayName("SWD-3: growth keeps below its limit too")
    void growthKeepsBelowItsLimit() {
        DynamicWorld world =
                new DynamicWorld(1, 128, 1, PhysRange.ofSize(0x80_0000, SET), PhysRange.ofSize(0x8000_0000L, MIB));
        Device device = world.device("nic");
        world.dynamic.growBelow(0x7fff_ffffL);
        world.fill(device);
        world.map(device, 0x10_0000, 1);
        world.work();
        assertThat(world.dynamic.lasting()[0].start()).isEqualTo(0x80_0000);
        assertThat(world.dynamic.physLimit()).isEqualTo(0x7fff_ffffL);
        world.map(device, 0x10_0000, SET);
        world.map(device, 0x10_0000, 1);
        world.work();
        assertThat(world.lastLogged())
                .isEqualTo("no memory for one more bounce pool below 0x7fffffff (dma-core:SWD-3)");
    }
}
