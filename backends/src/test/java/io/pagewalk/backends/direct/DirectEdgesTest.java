package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.GIB;
import static io.pagewalk.backends.direct.DirectWorld.HIGH;
import static io.pagewalk.backends.direct.DirectWorld.MASK_32;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.VirtRange;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What dma-direct does where something ends: room, reach, zones, and the first of several messages. */
class DirectEdgesTest {
    /** The vmalloc area has room for two pages. */
    private static final KernelLayout NARROW = KernelLayout.of(
            new VirtRange(0xffff_8880_0000_0000L, 0xffff_c87f_ffff_ffffL),
            new VirtRange(0xffff_c900_0000_0000L, 0xffff_c900_0000_1fffL),
            new VirtRange(0xffff_ffff_8000_0000L, 0xffff_ffff_9fff_ffffL));

    private static DirectWorld world(ArchConfig arch) {
        return DirectWorld.of(
                b -> b.layout(NARROW).kernelConfig(KernelConfig.distribution().withArch(arch)));
    }

    private static Device incoherent(DirectWorld world) {
        return world.device(c -> c.withCoherent(false));
    }

    @Test
    @DisplayName("ALC-5, ALC-10: without room for a remap pages go back as they are, since they were never decrypted")
    void pagesThatCannotBeRemappedGoBack() {
        DirectWorld world = world(new RecordingCache()
                .arch()
                .withRemap(true)
                .withEncryptionMask(1L << 47)
                .withForcedDecryption(true));
        Device device = incoherent(world);
        long before = world.machine.pages().freeBytes();
        world.machine.failures().failNth("direct.encrypt", 1);
        assertThat(device.dma().memory().allocCoherent(0x8000, Gfp.KERNEL)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
        assertThat(device.dma().lastFailure().numbers()).containsExactly(0x8000L, -1L);
        assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
        assertThat(world.machine.failures().passed()).isZero();
        assertThat(world.complaints()).isEmpty();
        world.assertIdle();
    }

    @Test
    @DisplayName("SWM-10: a bounce buffer out of reach is released without a copy back")
    void bounceOutOfReachIsNotCopiedBack() {
        DirectWorld world = DirectWorld.of(b -> b);
        Device device = world.device(c -> c.withMask(MASK_32)
                .withRanges(new DmaRange(0, 0x4_0000_0000L, 4 * GIB))
                .withBusLimit(0x4_ffff_ffffL));
        assertThat(device.dma().mapPage(0x50dc_4000, 0x4000, BIDIRECTIONAL, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_OUT_OF_REACH);
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        world.machine.report(metrics::put);
        assertThat(metrics).containsEntry(Metric.BYTES_BOUNCED, 0x4000L);
        assertThat(world.usedSlots()).isZero();
    }

    @Test
    @DisplayName("DIR-40: the first resource out of reach has a message and a WARN, later ones neither")
    void firstResourceOutOfReachIsToldOf() {
        DirectWorld world = DirectWorld.of(b -> b);
        Device device = world.device(c -> c.withMask(MASK_32));
        String text = device.name() + ": resource address 0x0000000100000000+4 is out of reach (mask 0xffffffff,"
                + " bus limit 0x0) (dma-core:DIR-40)";
        for (int i = 0; i < 2; i++) {
            assertThat(device.dma().mapResource(0x1_0000_0000L, 4, TO_DEVICE, 0))
                    .isEqualTo(DMA_MAPPING_ERROR);
            assertThat(world.complaints()).containsExactly(text, text);
            assertThat(world.machine.log().warnCount()).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("ALC-3: the first allocation on a platform without means is told of")
    void firstUnsupportedAllocationIsToldOf() {
        DirectWorld world = world(new RecordingCache().arch());
        assertThat(incoherent(world).dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(world.complaints()).hasSize(1);
    }

    @Test
    @DisplayName("ALC-13: the first free of what is not the global region's WARNs")
    void firstStrayFreeIsToldOf() {
        DirectWorld world = world(new RecordingCache().arch().withGlobalPool(true));
        CoherentPages stray = CoherentPages.contiguous(0x5000, 0x1000, 0x5000);
        new ForeignMemory(world.machine).free(Swiotlb.of(world.machine).defaultMem(), incoherent(world), stray, 0);
        assertThat(world.complaints()).singleElement().asString().contains("is not in the global region");
    }

    @Test
    @DisplayName("only where everything is bounced does a mapping own its address")
    void onlyForcedMachinesOwnAddresses() {
        assertThat(DirectWorld.of(b -> b).machine.ownsAddresses()).isFalse();
        assertThat(DirectWorld.of(b -> b.commandLine("swiotlb=256,1,force"))
                        .machine
                        .ownsAddresses())
                .isTrue();
    }

    @Test
    void machineChecksItsPools() {
        DirectWorld world = DirectWorld.of(b -> b);
        Device device = world.device(c -> c.withMask(MASK_32).withMinAlignMask(0x7ff));
        long dmaAddr = device.dma().mapPage(HIGH + 1, 1, TO_DEVICE, 0);
        device.dma().unmapPage(dmaAddr, 1, TO_DEVICE, 0);
        device.dma().unmapPage(dmaAddr, 1, TO_DEVICE, 0);
        List<String> wrong = new ArrayList<>();
        world.machine.checkStructure(wrong::add);
        assertThat(wrong)
                .as("SWR-6: a second release with an offset counts a slot too few")
                .anyMatch(text -> text.contains("area 0 counts -1 slots in use, 0 are"));
    }

    @Test
    void operationsNameTheirPool() {
        DirectWorld world = DirectWorld.of(b -> b);
        Swiotlb swiotlb = Swiotlb.of(world.machine);
        Device device = world.device(c -> c);
        assertThat(new DirectOps(new DirectCore(world.machine), swiotlb.ioTlbOf(device)))
                .hasToString("dma-direct, pool at 0x" + Long.toHexString(POOL_BASE));
        DirectWorld forced = DirectWorld.of(b -> b.commandLine("swiotlb=256,1,force"));
        assertThat(new DirectOps(
                        new DirectCore(forced.machine),
                        Swiotlb.of(forced.machine).ioTlbOf(forced.device(c -> c))))
                .hasToString("dma-direct, all bounced, pool at 0x" + Long.toHexString(POOL_BASE));
    }

    private static MachineBuilder remapping(long ramBytes) {
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, ramBytes)))
                .chunkBytes(1 << 16)
                .commandLine("swiotlb=noforce coherent_pool=128K")
                .kernelConfig(KernelConfig.distribution()
                        .withArch(new RecordingCache().arch().withRemap(true)));
    }

    private static List<String> held(Machine machine) {
        List<String> held = new ArrayList<>();
        machine.checkIdle(held::add);
        return held;
    }

    @Test
    @DisplayName("ALC-4, ATM-3: the device's limit chooses the pool, even when the kernel's would be in reach")
    void limitChoosesTheAtomicPool() {
        Machine machine = remapping(GIB).build();
        Device device =
                machine.addDevice(DeviceConfig.named("dev").withCoherent(false).withCoherentMask(MASK_32));
        CoherentBuffer buffer = Objects.requireNonNull(device.dma().memory().allocCoherent(0x1001, Gfp.ATOMIC));
        assertThat(held(machine))
                .containsExactly(
                        "coherent allocations of 2 pages were not freed",
                        "the atomic pool of zone DMA32 has 8192 bytes in use");
        buffer.close();
        assertThat(held(machine)).isEmpty();
    }

    @Test
    @DisplayName("MSK-10: the first frame of a range of RAM counts")
    void firstFrameMustBeMapped() {
        Machine machine = remapping(1 << 20).backend("virt").build();
        DirectReach reach = new DirectReach(machine);
        Device short0 = device(machine, "a", new DmaRange(0x1000, 0x1000, 0xf_f000));
        assertThat(reach.isAllRamMapped(short0)).as("frame 0 is missing").isFalse();
        Device whole = device(machine, "b", new DmaRange(0, 0, 0x10_0000));
        assertThat(reach.isAllRamMapped(whole)).isTrue();
        Device ended = device(machine, "c", new DmaRange(0, 0, 0x8_0000), new DmaRange(0x8_0000, 0x8_0000, 0x800));
        assertThat(reach.isAllRamMapped(ended))
                .as("the second entry ends the scan")
                .isFalse();
    }

    private static Device device(Machine machine, String name, DmaRange... ranges) {
        return machine.addDevice(DeviceConfig.named(name).withRanges(ranges));
    }
}
