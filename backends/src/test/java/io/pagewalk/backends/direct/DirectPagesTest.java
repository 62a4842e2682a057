package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.memory.ZoneLimits;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which pages coherent memory is made of (dma-core:ALC-6 to ALC-9). */
class DirectPagesTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1L << 30;
    private static final PhysRange DEFAULT_AREA = PhysRange.ofSize(0x4000_0000L, 16 * MIB);
    private static final PhysRange NODE_AREA = PhysRange.ofSize(0x5000_0000L, 4 * MIB);
    private static final PhysRange OWN_AREA = PhysRange.ofSize(0x6000_0000L, MIB);

    private static DirectWorld zones(boolean dma, boolean dma32, long zoneDmaLimit) {
        ArchConfig arch = ArchConfig.x86().withZones(ZoneLimits.of(dma, dma32, zoneDmaLimit));
        return DirectWorld.of(b -> b.commandLine("swiotlb=noforce")
                .kernelConfig(KernelConfig.distribution().withArch(arch)));
    }

    private static DirectWorld pc() {
        return DirectWorld.of(b -> b.commandLine("swiotlb=noforce"));
    }

    /** Where the memory of a device with a coherent mask lies, -1 for nowhere. */
    private static long physAddr(DirectWorld world, long mask, long sizeBytes) {
        return physAddr(world.device(c -> c.withCoherentMask(mask)), sizeBytes, Gfp.KERNEL);
    }

    private static long physAddr(Device device, long sizeBytes, int gfp) {
        CoherentBuffer buffer = device.dma().memory().allocCoherent(sizeBytes, gfp);
        return buffer == null ? -1 : buffer.physAddr(0);
    }

    /** ALC-6: the first zone by the limit, which bus limit and dma-ranges change too. */
    @ParameterizedTest
    @CsvSource({
        "0xffffff, 0, 0x1000",
        "0x1000000, 0, 0x1000",
        "0xffffffff, 0, 0x1000000",
        "0x100000000, 0, 0x1000000",
        "0x100000fff, 0, 0x100000000",
        "-1, 0, 0x100000000",
        "-1, 0xffffff, 0x1000",
        "-1, 0xffffffff, 0x1000000"
    })
    void limitChoosesTheZone(String mask, String busLimit, String physAddr) {
        DirectWorld world = pc();
        Device device = world.device(c -> c.withCoherentMask(Long.decode(mask)).withBusLimit(Long.decode(busLimit)));
        assertThat(physAddr(device, 0x1000, Gfp.KERNEL)).isEqualTo(Long.decode(physAddr));
    }

    @Test
    @DisplayName("ALC-6: the limit is a physical one: dma-ranges translate it, and what they do not reach is no limit")
    void limitIsTranslated() {
        DirectWorld world = pc();
        Device offset =
                world.device(c -> c.withCoherentMask(0x4000_0fffL).withRanges(new DmaRange(0, 0x4000_0000L, 8 * GIB)));
        assertThat(physAddr(offset, 0x1000, Gfp.KERNEL))
                .as("0xfff, in zone DMA, where page 0 is nobody's")
                .isEqualTo(-1);
        Device beyond =
                world.device(c -> c.withCoherentMask(0x1_ffff_ffffL).withRanges(new DmaRange(0, 0, 0x2000_0000L)));
        assertThat(physAddr(beyond, 0x1000, Gfp.KERNEL))
                .as("no limit to begin with, then DMA: DMA32 is left out (ALC-7)")
                .isEqualTo(0x1000);
    }

    @Test
    @DisplayName("ALC-7: no zone, then DMA32, then DMA, then nothing; each is one try")
    void zonesAreTriedDownwards() {
        DirectWorld world = pc();
        world.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(physAddr(world, 0x1_0000_ffffL, 0x2_0000)).as("DMA32").isEqualTo(0x100_0000);
        assertThat(world.machine.failures().passed()).isEqualTo(2);
        world.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(physAddr(world, 0x101_ffffL, 0x4_0000)).as("DMA").isEqualTo(0x4_0000);
        assertThat(world.machine.failures().passed()).isEqualTo(2);
        world.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(physAddr(world, 0x1_ffffL, 0x4_0000)).as("DMA at once").isEqualTo(-1);
        assertThat(world.machine.failures().passed()).isEqualTo(1);
    }

    @Test
    @DisplayName("ALC-7: no page at all ends it, whatever zones are left")
    void noPageEndsIt() {
        DirectWorld world = pc();
        world.machine.failures().failNth("direct.pages", 2);
        assertThat(physAddr(world, 0x1_0000_ffffL, 0x2_0000))
                .as("the second try has no page")
                .isEqualTo(-1);
        assertThat(world.machine.failures().passed()).isEqualTo(2);
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-7: without ZONE_DMA32 the second try is DMA, without ZONE_DMA there is none")
    void zonesThatAreNotConfiguredAreNotTried() {
        DirectWorld noDma32 = zones(true, false, 0xff_ffffL);
        noDma32.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(physAddr(noDma32, 0x101_ffffL, 0x4_0000)).isEqualTo(0x4_0000);
        assertThat(noDma32.machine.failures().passed()).isEqualTo(2);
        DirectWorld noDma = zones(false, true, 0xff_ffffL);
        noDma.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(physAddr(noDma, 0x1_0000_ffffL, 0x2_0000))
                .as("low memory is DMA32's")
                .isEqualTo(0x2_0000);
        assertThat(physAddr(noDma, 0x1_ffffL, 0x4_0000)).isEqualTo(-1);
        assertThat(noDma.machine.failures().passed()).isEqualTo(3);
        DirectWorld none = zones(false, false, 0xff_ffffL);
        assertThat(physAddr(none, 0x1_ffffL, 0x4_0000)).isEqualTo(-1);
        none.assertIdle();
    }

    @Test
    @DisplayName("ALC-6, MSK-4, QRK-27: zone_dma_limit is the architecture's")
    void zoneLimitMovesTheZone() {
        DirectWorld pi = zones(true, true, 0x3fff_ffffL);
        assertThat(physAddr(pi, 0x3fff_ffffL, 0x1000)).isEqualTo(0x1000);
        assertThat(physAddr(pi, 0x4000_0fffL, 0x1000))
                .as("DMA32 begins at 1 GiB")
                .isEqualTo(0x4000_0000L);
        assertThat(pi.device(c -> c).setMask(0x3fff_fffeL)).isEqualTo(-5);
        assertThat(pi.device(c -> c).setMask(0x3fff_ffffL)).isZero();
        DirectWorld noDma = zones(false, true, 0xff_ffffL);
        assertThat(noDma.device(c -> c).setMask(0xff_ffffL))
                .as("all RAM is needed")
                .isEqualTo(-5);
        assertThat(noDma.device(c -> c).setMask(0xffff_ffffL)).isZero();
    }

    // ---- contiguous memory areas

    private static DirectWorld withAreas() {
        CmaAreas areas =
                new CmaAreas().withDefault(DEFAULT_AREA).withNode(1, NODE_AREA).with("gpu", OWN_AREA);
        return DirectWorld.of(b -> b.commandLine("swiotlb=noforce").cma(areas));
    }

    private static Device on(DirectWorld world, int node, @Nullable String area) {
        return world.device(c -> c.withNumaNode(node).withCmaArea(area));
    }

    @Test
    @DisplayName("ALC-9: more than a page comes from the default area, a page does not")
    void defaultAreaServesMoreThanAPage() {
        DirectWorld world = withAreas();
        Device device = on(world, -1, null);
        assertThat(physAddr(device, 0x1000, Gfp.KERNEL)).isEqualTo(4 * GIB);
        assertThat(physAddr(device, 0x1001, Gfp.KERNEL)).isEqualTo(0x4000_0000L);
        assertThat(physAddr(device, 0x3000, Gfp.KERNEL))
                .as("aligned to its order")
                .isEqualTo(0x4000_4000L);
        assertThat(physAddr(device, 0x1001, Gfp.KERNEL)).as("lowest fit").isEqualTo(0x4000_2000L);
        assertThat(physAddr(device, 3 * MIB, Gfp.KERNEL))
                .as("the alignment ends at 2^8 pages")
                .isEqualTo(0x4010_0000L);
    }

    @Test
    @DisplayName("ALC-9: callers that must not wait get no area")
    void areasAreForCallersThatMayWait() {
        DirectWorld world = withAreas();
        assertThat(physAddr(on(world, -1, null), 0x2000, Gfp.ATOMIC)).isEqualTo(4 * GIB);
        assertThat(physAddr(on(world, -1, "gpu"), 0x2000, Gfp.ATOMIC)).isEqualTo(4 * GIB + 0x2000);
    }

    @Test
    @DisplayName("ALC-9: a node's area comes before the default one, but not for a low zone")
    void nodesAreaComesFirst() {
        DirectWorld world = withAreas();
        assertThat(physAddr(on(world, 1, null), 0x2000, Gfp.KERNEL)).isEqualTo(0x5000_0000L);
        assertThat(physAddr(on(world, 0, null), 0x2000, Gfp.KERNEL)).isEqualTo(0x4000_0000L);
        Device low = world.device(c -> c.withNumaNode(1).withMask(0xffff_ffffL));
        assertThat(physAddr(low, 0x2000, Gfp.KERNEL)).isEqualTo(0x4000_2000L);
        assertThat(physAddr(on(world, 1, null), 8 * MIB, Gfp.KERNEL))
                .as("the node's is too small")
                .isEqualTo(0x4010_0000L);
    }

    @Test
    @DisplayName("ALC-9: a device's own area serves any size, and no other area stands in for it")
    void ownAreaHasNoSubstitute() {
        DirectWorld world = withAreas();
        Device gpu = on(world, 1, "gpu");
        assertThat(physAddr(gpu, 0x1000, Gfp.KERNEL)).isEqualTo(0x6000_0000L);
        assertThat(physAddr(gpu, MIB, Gfp.KERNEL)).as("buddy pages").isEqualTo(4 * GIB);
    }

    @Test
    @DisplayName("ALC-6: an area out of reach is discarded")
    void areaOutOfReachIsDiscarded() {
        DirectWorld world = withAreas();
        Device low = world.device(c -> c.withMask(0x3fff_ffffL));
        assertThat(physAddr(low, 0x2000, Gfp.KERNEL)).as("after DMA32, DMA").isEqualTo(0x2000);
        assertThat(world.machine.cma().all())
                .allSatisfy(area -> assertThat(area.usedPages()).isZero());
    }

    @Test
    @DisplayName("ALC-13: memory goes back to the area that it came from")
    void memoryGoesBackToItsArea() {
        DirectWorld world = withAreas();
        CoherentBuffer gpu = on(world, -1, "gpu").dma().alloc(0x1000);
        CoherentBuffer node = on(world, 1, null).dma().alloc(0x2000);
        CoherentBuffer plain = on(world, -1, null).dma().alloc(0x3000);
        CoherentBuffer buddy = on(world, -1, null).dma().alloc(0x1000);
        assertThat(world.machine.cma().named("gpu").usedPages()).isEqualTo(1);
        gpu.close();
        node.close();
        plain.close();
        buddy.close();
        assertThat(world.machine.cma().all())
                .allSatisfy(area -> assertThat(area.usedPages()).isZero());
        world.assertIdle();
    }

    @Test
    @DisplayName("the page allocator keeps off areas, and a machine's areas are its own")
    void areasAreReserved() {
        CmaAreas areas = new CmaAreas().withDefault(DEFAULT_AREA);
        DirectWorld one = DirectWorld.of(b -> b.commandLine("swiotlb=noforce").cma(areas));
        DirectWorld other = DirectWorld.of(b -> b.commandLine("swiotlb=noforce").cma(areas));
        assertThat(one.machine.pages().hasFreePagesWithin(DEFAULT_AREA.first(), 16 * MIB))
                .isFalse();
        assertThat(one.machine.pages().freeBytes(Zone.DMA32))
                .isEqualTo(pc().machine.pages().freeBytes(Zone.DMA32) - 16 * MIB);
        assertThat(physAddr(on(one, -1, null), 0x2000, Gfp.KERNEL)).isEqualTo(0x4000_0000L);
        assertThat(physAddr(on(other, -1, null), 0x2000, Gfp.KERNEL)).isEqualTo(0x4000_0000L);
    }
}
