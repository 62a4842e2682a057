package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.NamedOps;
import io.pagewalk.dma.fake.NoCaches;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Regions of coherent memory: dma-core:COH-1 to COH-7, FE-51, FE-53, FE-71. */
class CoherentRegionTest {
    private static final long BASE = 0x1_0000;
    private static final long DEVICE_BASE = 0x8000_0000L;
    private static final long VMALLOC = 0xffff_c900_0000_0000L;

    private final List<String> heard = new ArrayList<>();
    private final World world = World.make(World.builder().listener(clock -> new DmaListener() {
        @Override
        public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
            heard.add("allocated");
        }

        @Override
        public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
            heard.add("freeing");
        }
    }));
    private final Device device = world.device;
    private final DmaMemory memory = world.dma.memory();

    private CoherentRegion region(long sizeBytes) {
        assertThat(device.declareCoherentMemory(BASE, DEVICE_BASE, sizeBytes)).isZero();
        return Objects.requireNonNull(device.coherentRegion());
    }

    private CoherentBuffer alloc(long sizeBytes) {
        return present(memory.allocCoherent(sizeBytes, Gfp.KERNEL));
    }

    private static <T> T present(@Nullable T value) {
        return Objects.requireNonNull(value);
    }

    @Test
    @DisplayName("dma-core:COH-1")
    void aDeclaredRegionIsTheDevices() {
        CoherentRegion region = region(0x4000);

        assertThat(region.physBase()).isEqualTo(BASE);
        assertThat(region.dmaBase(device)).isEqualTo(DEVICE_BASE);
        assertThat(region.cpuBase()).isEqualTo(VMALLOC);
        assertThat(region.sizeBytes()).isEqualTo(0x4000);
        assertThat(region.freePages()).isEqualTo(4);
        assertThat(region).hasToString("coherent region 0x10000+0x4000");
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x3fff)).isEqualTo(0x1_3fff);
    }

    @ParameterizedTest
    @CsvSource({
        "0x10000, 0, -22",
        "0x8000, 0x1000, -22",
        "0x10000, 0x8001, -22",
        "0x17000, 0x1001, -22",
        "0x10800, 0x1000, -22",
        "0x10000, -1, -22",
        "-4096, 0x1000, -22",
        "-4096, 0x2000, -22"
    })
    @DisplayName("dma-core:COH-1: -EINVAL")
    void aRegionNeedsMemory(String physAddr, String sizeBytes, int result) {
        assertThat(device.declareCoherentMemory(Long.decode(physAddr), DEVICE_BASE, Long.decode(sizeBytes)))
                .isEqualTo(result);
        assertThat(device.coherentRegion()).isNull();
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
    }

    @Test
    @DisplayName("dma-core:COH-1: -ENOMEM, mapping failure -EINVAL")
    void aRegionNeedsMemoryForItself() {
        world.machine.failures().failNth("coherent.region", 1);
        assertThat(device.declareCoherentMemory(BASE, DEVICE_BASE, 0x1000)).isEqualTo(-12);
        world.machine.failures().failNth("coherent.memremap", 1);
        assertThat(device.declareCoherentMemory(BASE, DEVICE_BASE, 0x1000)).isEqualTo(-22);
        world.machine.failures().failNth("coherent.region", 1);
        assertThat(world.machine.coherentRegions().declareGlobal(BASE, 0x1000)).isEqualTo(-12);
        world.machine.failures().failNth("coherent.memremap", 1);
        assertThat(world.machine.coherentRegions().declareGlobal(BASE, 0x1000)).isEqualTo(-22);

        assertThat(device.coherentRegion()).isNull();
        assertThat(world.machine.coherentRegions().global()).isNull();
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
    }

    @Test
    @DisplayName("dma-core:COH-1: -ENODEV, -EBUSY (new one freed)")
    void aRegionNeedsADeviceThatHasNone() {
        CoherentRegions regions = world.machine.coherentRegions();
        assertThat(regions.declare(null, BASE, DEVICE_BASE, 0)).as("size first").isEqualTo(-22);
        assertThat(regions.declare(null, BASE, DEVICE_BASE, 0x1000)).isEqualTo(-19);
        CoherentRegion first = region(0x1000);
        assertThat(device.declareCoherentMemory(BASE + 0x1000, DEVICE_BASE, 0x1000))
                .isEqualTo(-16);

        assertThat(device.coherentRegion()).isSameAs(first);
        assertThat(world.machine.kernelMemory().vmapCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("dma-core:COH-1: pages = size>>12 (truncating)")
    void aPartOfAPageIsLeftOut() {
        CoherentRegion region = region(0x2fff);

        assertThat(region.sizeBytes()).isEqualTo(0x2000);
        assertThat(memory.allocCoherent(0x2001, 0)).isNull();
        assertThat(memory.allocCoherent(0x2000, 0)).isNotNull();
    }

    @Test
    void aRegionOfLessThanAPageHasNothing() { // COH-1, COH-3
        CoherentRegion region = region(0xfff);

        assertThat(region.freePages()).isZero();
        assertThat(memory.allocCoherent(1, 0)).isNull();
        assertThat(memory.allocCoherent(0, 0)).isNull();
        assertThat(region.contains(region.cpuBase())).isFalse();
    }

    @Test
    @DisplayName("dma-core:COH-3, FE-51")
    void allocationsComeFromTheRegionZeroed() {
        region(0x4000);
        world.machine.memory().fill(BASE, 0x4000, (byte) 0x55);
        CoherentBuffer buffer = alloc(0x1001);

        assertThat(buffer.dmaAddr()).isEqualTo(DEVICE_BASE);
        assertThat(buffer.cpuAddr()).isEqualTo(VMALLOC);
        assertThat(buffer.physAddr(0x1000)).isEqualTo(BASE + 0x1000);
        assertThat(world.machine.memory().getByte(BASE + 0x1000)).isZero();
        assertThat(world.machine.memory().getByte(BASE + 0x1001))
                .as("only size bytes")
                .isEqualTo((byte) 0x55);
        assertThat(world.backend.calls).isEmpty();
        assertThat(heard).as("no dma-debug record").isEmpty();
    }

    @Test
    @DisplayName("dma-core:COH-3: lowest free run aligned within the region")
    void blocksAreAlignedWithinTheRegion() {
        CoherentRegion region = region(0x7000);
        alloc(1);

        assertThat(alloc(0x2000).dmaAddr()).isEqualTo(DEVICE_BASE + 0x2000);
        assertThat(alloc(0x1000).dmaAddr()).isEqualTo(DEVICE_BASE + 0x1000);
        assertThat(alloc(0x1001).dmaAddr()).isEqualTo(DEVICE_BASE + 0x4000);
        assertThat(region.freePages()).isEqualTo(1);
        assertThat(memory.allocCoherent(0x1001, 0)).isNull();
        assertThat(alloc(0x1000).dmaAddr()).isEqualTo(DEVICE_BASE + 0x6000);
    }

    @Test
    @DisplayName("dma-core:FE-51: null is final")
    void aFullRegionHasNoFallback() {
        region(0x3000);
        alloc(0x1000);

        for (long sizeBytes : new long[] {0x3000, 0x3001, 0x1_0000_0000L, -1L, 0, Long.MIN_VALUE, 1L << 43}) {
            assertThat(memory.allocCoherent(sizeBytes, 0)).isNull();
            assertThat(world.dma.lastFailure())
                    .isEqualTo(new DmaFailure(FailureReason.REGION_FULL, 12, List.of(sizeBytes, 0x3000L, 2L)));
        }
        assertThat(world.backend.calls).isEmpty();
        assertThatThrownBy(() -> world.dma.alloc(0x3000))
                .hasMessage("nic cannot allocate 12288 coherent bytes: REGION_FULL: size 12288, region size 12288,"
                        + " free pages 2 (ENOMEM; declare a larger region)");
    }

    @Test
    @DisplayName("dma-core:FE-53, COH-4")
    void memoryGoesBackToTheRegionWithoutAWord() {
        CoherentRegion region = region(0x4000);
        CoherentBuffer buffer = alloc(0x3000);
        world.machine.interrupts().disable(0);
        buffer.close();

        assertThat(region.freePages()).isEqualTo(4);
        assertThat(heard).isEmpty();
        assertThat(world.backend.calls).isEmpty();
        assertThat(world.machine.log().entries()).as("returned before").isEmpty();
        assertThatThrownBy(buffer::dmaAddr).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @DisplayName("dma-core:COH-4: order = get_order(size) of the free call")
    void theSizeOfTheFreeDecides() {
        CoherentRegion region = region(0x4000);
        CoherentBuffer whole = alloc(0x4000);
        memory.freeCoherent(0x1000, whole.cpuAddr() + 0x2fff, 0);
        assertThat(region.freePages()).as("the page of the address").isEqualTo(1);
        memory.freeAttrs(0x1001, whole.cpuAddr(), 0x123, 0);
        assertThat(region.freePages()).isEqualTo(3);
        assertThatThrownBy(whole::dmaAddr).isInstanceOf(IllegalStateException.class);

        memory.freeCoherent(0, VMALLOC + 0x3000, 0);
        assertThat(region.freePages()).as("cut at the region's end").isEqualTo(4);
        alloc(0x4000);
        memory.freeCoherent(-1L, VMALLOC + 0x1000, 0);
        assertThat(region.freePages()).isEqualTo(3);
        memory.freeCoherent(0x4000, VMALLOC, 0);
        assertThat(region.freePages()).isEqualTo(4);
    }

    @Test
    void anAddressOutsideIsNotTheRegions() { // COH-4, FE-53
        CoherentRegion region = region(0x4000);
        CoherentBuffer whole = alloc(0x4000);

        for (long outside : new long[] {VMALLOC - 1, VMALLOC + 0x4000, 0x1, BASE, -1L}) {
            assertThat(region.release(outside, 0x4000)).isFalse();
            assertThat(region.contains(outside)).isFalse();
        }
        assertThat(region.contains(VMALLOC + 0x3fff)).isTrue();
        assertThat(region.freePages()).isZero();
        whole.close();
        assertThat(region.freePages()).isEqualTo(4);
    }

    @Test
    @DisplayName("dma-core:COH-6, QRK-42")
    void aReleasedRegionIsForgotten() {
        region(0x4000);
        CoherentBuffer left = alloc(0x1000);
        device.releaseCoherentMemory();

        assertThat(device.coherentRegion()).isNull();
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
        assertThatThrownBy(left::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("its region was released");
        assertThat(world.backend.calls).isEmpty();
        device.releaseCoherentMemory();
        alloc(0x1000);
        assertThat(world.backend.calls).containsExactly("alloc cpu 0 0x1000 attrs 0x0");
        assertThat(device.declareCoherentMemory(BASE, DEVICE_BASE, 0x1000)).isZero();
    }

    @Test
    @DisplayName("dma-core:COH-2: phys_to_dma(phys) for reserved-memory regions")
    void reservedMemoryIsWhereTheDeviceSeesIt() {
        World shifted = World.make(config -> config.withRanges(new DmaRange(0x1_0000, 0x4000_0000L, 0x8000)));
        assertThat(shifted.machine.coherentRegions().declareReserved(shifted.device, BASE + 0x1000, 0x2000))
                .isZero();

        assertThat(present(shifted.dma.allocCoherent(0x1000, 0)).dmaAddr()).isEqualTo(0x4000_1000L);
        assertThat(shifted.machine.log().entries()).isEmpty();
        assertThat(shifted.machine.coherentRegions().declareReserved(shifted.device, BASE, 0x2000))
                .isEqualTo(-16);
        assertThat(shifted.machine.coherentRegions().declareReserved(shifted.device, BASE, 0))
                .isEqualTo(-22);
        assertThat(shifted.machine.log().entries()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0x11fff, 0, false", "0x11ffe, 0, true", "-1, 0x11fff, false", "-1, 0x11ffe, true", "0, 0, true"})
    @DisplayName("dma-core:COH-5: warning only")
    void reservedMemoryOutOfReachIsGivenWithAWarning(String coherentMask, String busLimit, boolean warns) {
        World narrow = World.make(
                config -> config.withCoherentMask(Long.decode(coherentMask)).withBusLimit(Long.decode(busLimit)));

        assertThat(narrow.machine.coherentRegions().declareReserved(narrow.device, BASE, 0x2000))
                .isZero();
        assertThat(narrow.device.coherentRegion()).isNotNull();
        assertThat(narrow.machine.log().count("dma_init_coherent_memory")).isEqualTo(warns ? 1 : 0);
        assertThat(narrow.machine.log().warnCount()).isZero();
    }

    @Test
    void reservedMemoryThatNoRangeCoversIsOutOfReach() { // COH-5
        World elsewhere = World.make(config -> config.withRanges(new DmaRange(0, 0, 0x1000)));
        assertThat(elsewhere.machine.coherentRegions().declareReserved(elsewhere.device, BASE, 0x2000))
                .isZero();

        assertThat(elsewhere.machine.log().entries().get(0).text())
                .isEqualTo("nic: reserved memory 0xffffffffffffffff+0x2000 is beyond 0xffffffffffffffff"
                        + " (dma-core:COH-5)");
    }

    @Test
    @DisplayName("dma-core:COH-6, ALC-3")
    void theGlobalRegionIsTheMachines() {
        CoherentRegions regions = world.machine.coherentRegions();
        assertThat(regions.global()).isNull();
        assertThat(regions.declareGlobal(BASE, 0)).isEqualTo(-22);
        assertThat(regions.declareGlobal(0x8000, 0x1000)).isEqualTo(-22);
        assertThat(regions.declareGlobal(BASE, 0x3000)).isZero();
        assertThat(regions.declareGlobal(BASE, 0x3000)).isEqualTo(-16);

        CoherentRegion global = present(regions.global());
        CoherentPages pages = present(global.alloc(device, 0x1000));
        assertThat(pages.dmaAddr()).isEqualTo(BASE);
        assertThat(pages.cpuAddr()).isEqualTo(VMALLOC);
        alloc(0x1000);
        assertThat(world.backend.calls).as("the path decides on it").hasSize(1);
        assertThat(global.release(VMALLOC, 0x1000)).isTrue();
    }

    @Test
    @DisplayName("dma-core:COH-7")
    void theRegionAnswersForItsMemory() {
        region(0x4000);
        alloc(0x1000);
        CoherentBuffer buffer = alloc(0x2000);
        assertThat(buffer.dmaAddr()).isEqualTo(DEVICE_BASE + 0x2000);
        UserMapping part = memory.mmap(new UserVma(1, 1), buffer, 0x1001, 0);

        assertThat(part.result()).isZero();
        assertThat(part.physAddr(0)).isEqualTo(BASE + 0x3000);
        assertThat(memory.mmap(new UserVma(1, 2), buffer, 0x2000, 0).result()).isEqualTo(-6);
        assertThat(memory.mmap(new UserVma(2, 1), buffer, 0x2000, 0).result()).isEqualTo(-6);
        assertThat(memory.mmap(new UserVma(1, 0), buffer, 0, 0).result()).isEqualTo(-6);
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:COH-7: vaddr+size inside, else the path answers")
    void memoryThatEndsOutsideIsThePathsToAnswerFor() {
        region(0x4000);
        CoherentBuffer buffer = alloc(0x4000);

        memory.mmap(new UserVma(1, 0), buffer, 0x4001, 0);
        memory.mmap(new UserVma(1, 0), buffer, -1L, 0);
        assertThat(world.backend.calls)
                .containsExactly(
                        "mmap 1 pages from 0 of 0x80000000+0x4001 attrs 0x0",
                        "mmap 1 pages from 0 of 0x80000000+0xffffffffffffffff attrs 0x0");
    }

    @Test
    @DisplayName("dma-core:FE-71, FE-72, COH-7: then the global region")
    void theGlobalRegionAnswersAfterTheDevices() {
        World uncached =
                World.make(World.builder().kernelConfig(NoCaches.kernel()), config -> config.withCoherent(false));
        assertThat(uncached.machine.coherentRegions().declareGlobal(BASE, 0x4000))
                .isZero();
        CoherentRegion global = present(uncached.machine.coherentRegions().global());
        uncached.backend.onAlloc = size -> global.alloc(uncached.device, size);
        CoherentBuffer buffer = present(uncached.dma.allocCoherent(0x2000, 0));
        UserMapping seen = uncached.dma.memory().mmap(new UserVma(2, 0), buffer, 0x2000, 0);

        assertThat(seen.physAddr(1)).isEqualTo(BASE + 0x1000);
        assertThat(seen.protection()).isEqualTo(PageProtection.UNCACHED);
        assertThat(uncached.device.declareCoherentMemory(BASE + 0x4000, 0, 0x1000))
                .isZero();
        assertThat(uncached.dma
                        .memory()
                        .mmap(new UserVma(2, 0), buffer, 0x2000, 0)
                        .physAddr(0))
                .isEqualTo(BASE);
        assertThat(uncached.backend.calls).containsExactly("alloc cpu 0 0x2000 attrs 0x0");
    }

    @Test
    @DisplayName("dma-core:FE-71: regions answer on the direct path, not for a device's own operations")
    void ownOperationsAnswerThemselves() {
        List<String> calls = new ArrayList<>();
        World own = World.make(config -> config.withDmaOps(NamedOps.of("own", 6, calls)));
        assertThat(own.device.declareCoherentMemory(BASE, DEVICE_BASE, 0x4000)).isZero();
        CoherentBuffer buffer = present(own.dma.allocCoherent(0x1000, 0));

        assertThat(own.dma.memory().mmap(new UserVma(1, 0), buffer, 0x1000, 0).result())
                .isEqualTo(-6);
        assertThat(calls).containsExactly("own mmap");
    }

    @Test
    void aRegionCostsTheSameWhateverItsSize() {
        long tebibyte = 1L << 40;
        Machine vast = World.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 2 * tebibyte)))
                .build();
        Device device = vast.addDevice(DeviceConfig.named("vast"));
        assertThat(device.declareCoherentMemory(tebibyte, 0, tebibyte - 0x1000)).isZero();
        CoherentRegion region = present(device.coherentRegion());

        assertThat(region.freePages()).isEqualTo((1 << 28) - 1);
        assertThat(vast.kernelMemory().physAddr(region.cpuBase() + tebibyte - 0x1001))
                .isEqualTo(2 * tebibyte - 0x1001);
        assertThat(vast.kernelMemory().physAddr(region.cpuBase() + tebibyte - 0x1000))
                .as("the guard page")
                .isEqualTo(KernelMemory.NO_PHYS_ADDR);
        device.releaseCoherentMemory();
        assertThat(vast.kernelMemory().vmapCount()).isZero();
    }
}
