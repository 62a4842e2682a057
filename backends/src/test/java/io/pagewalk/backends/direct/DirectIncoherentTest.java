package io.pagewalk.backends.direct;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.ArchDmaAlloc;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Coherent memory of devices that are not coherent (dma-core:ALC-2, ALC-3, ALC-5, ALC-13). */
class DirectIncoherentTest {
    /** Where memory begins that is no atomic pool's: the kernel's has 1 MiB. */
    private static final long BEHIND_POOL = 0x1_0010_0000L;

    private static DirectWorld world(UnaryOperator<ArchConfig> change) {
        ArchConfig arch = change.apply(new RecordingCache().arch());
        RestrictedPool region = RestrictedPool.of("region", PhysRange.ofSize(0x2000_0000L, 0x10_0000));
        return DirectWorld.of(
                b -> b.kernelConfig(KernelConfig.distribution().withArch(arch)).restrictedPools(region));
    }

    private static Device incoherent(DirectWorld world) {
        return world.device(c -> c.withCoherent(false));
    }

    @Test
    @DisplayName("ALC-3: without any means there is no coherent memory, said once")
    void withoutMeansThereIsNoCoherentMemory() {
        DirectWorld world = world(arch -> arch);
        Device device = incoherent(world);
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_UNCACHED_MEMORY);
        assertThat(world.complaints())
                .containsExactly(
                        device.name() + ": coherent DMA allocations not supported on this platform (dma-core:ALC-3)");
        assertThat(world.device(c -> c).dma().alloc(0x1000).dmaAddr())
                .as("a coherent device does not care")
                .isEqualTo(4L << 30);
    }

    @Test
    @DisplayName("ALC-3: an uncached alias will do")
    void uncachedAliasWillDo() {
        DirectWorld world = world(arch -> arch.withSetUncached(true));
        try (CoherentBuffer buffer = incoherent(world).dma().alloc(0x1000)) {
            assertThat(buffer.dmaAddr()).isEqualTo(4L << 30);
            assertThat(world.machine.kernelMemory().vmapCount()).isZero();
        }
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-5, ALC-13: remapped memory has an address in the vmalloc area until it is freed")
    void remappedMemoryIsMappedInTheVmallocArea() {
        DirectWorld world = world(arch -> arch.withRemap(true));
        world.fill(BEHIND_POOL, 0x2000, 0x77);
        Device device = incoherent(world);
        CoherentBuffer buffer = device.dma().alloc(0x1001);
        assertThat(buffer.dmaAddr()).isEqualTo(BEHIND_POOL);
        assertThat(world.byteAt(BEHIND_POOL + 0x1fff))
                .as("zeroed to the end of the page")
                .isZero();
        assertThat(world.machine.kernelMemory().vmapCount()).isEqualTo(1);
        assertThat(world.machine.layout().isVmalloc(buffer.cpuAddr())).isTrue();
        assertThat(world.machine.kernelMemory().physAddr(buffer.cpuAddr() + 0x1000))
                .isEqualTo(BEHIND_POOL + 0x1000);
        buffer.close();
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
        world.assertIdle();
        try (CoherentBuffer coherent = world.device(c -> c).dma().alloc(0x1000)) {
            assertThat(world.machine.layout().isDirectMap(coherent.cpuAddr())).isTrue();
        }
    }

    @Test
    @DisplayName("ALC-2, ALC-13: NO_KERNEL_MAPPING needs no means, is not zeroed, and its address is a page's cookie")
    void memoryWithoutAKernelMappingIsACookie() {
        DirectWorld world = world(arch -> arch);
        Device device = incoherent(world);
        world.fill(4L << 30, 0x1000, 0x77);
        CoherentBuffer buffer = Objects.requireNonNull(
                device.dma().memory().allocAttrs(0x1000, Gfp.KERNEL | Gfp.ZERO, DmaAttrs.NO_KERNEL_MAPPING));
        assertThat(buffer.cpuAddr()).isEqualTo(KernelMemory.pageCookie(4L << 30));
        assertThat(buffer.dmaAddr()).isEqualTo(4L << 30);
        assertThat(world.byteAt(4L << 30)).as("__GFP_ZERO is stripped").isEqualTo(0x77);
        buffer.close();
        world.assertIdle();
        assertThat(device.dma().memory().allocAttrs(1L << 40, Gfp.KERNEL, DmaAttrs.NO_KERNEL_MAPPING))
                .isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
    }

    /** Hands out one place, and writes down what it is asked. */
    private static final class Hook implements ArchDmaAlloc {
        final List<String> asked = new ArrayList<>();
        boolean hasMemory = true;

        @Override
        public @Nullable CoherentPages alloc(Device device, long sizeBytes, int gfp, int attrs) {
            asked.add(String.format("alloc 0x%x gfp 0x%x attrs 0x%x", sizeBytes, gfp, attrs));
            return hasMemory ? CoherentPages.contiguous(0x5000, sizeBytes, 0x5000) : null;
        }

        @Override
        public void free(Device device, CoherentPages pages, int attrs) {
            asked.add(String.format("free 0x%x attrs 0x%x", pages.dmaAddr(), attrs));
        }
    }

    @Test
    @DisplayName("ALC-3, ALC-13: an architecture's own allocator comes first, for devices that are not coherent")
    void ownAllocatorComesFirst() {
        Hook hook = new Hook();
        DirectWorld world =
                world(arch -> arch.withDmaAlloc(hook).withRemap(true).withGlobalPool(true));
        Device device = incoherent(world);
        CoherentBuffer buffer = Objects.requireNonNull(
                device.dma().memory().allocAttrs(0x1001, Gfp.KERNEL, DmaAttrs.NO_WARN | DmaAttrs.WRITE_COMBINE));
        assertThat(buffer.dmaAddr()).isEqualTo(0x5000);
        buffer.close();
        assertThat(hook.asked)
                .containsExactly(
                        String.format("alloc 0x2000 gfp 0x%x attrs 0x104", Gfp.KERNEL | Gfp.NOWARN),
                        "free 0x5000 attrs 0x104");
        hook.hasMemory = false;
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
        hook.asked.clear();
        world.device(c -> c).dma().alloc(0x1000).close();
        assertThat(hook.asked).isEmpty();
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-3: a restricted pool goes around the architecture's allocator")
    void restrictedPoolGoesAroundTheArchitecture() {
        Hook hook = new Hook();
        DirectWorld world = world(arch -> arch.withDmaAlloc(hook).withRemap(true));
        Device device = world.device(c -> c.withCoherent(false).withRestrictedPool("region"));
        CoherentBuffer buffer = Objects.requireNonNull(device.dma().memory().allocCoherent(0x1000, Gfp.ATOMIC));
        assertThat(buffer.dmaAddr()).as("and around atomic pools").isEqualTo(0x2000_0000L);
        buffer.close();
        assertThat(hook.asked).isEmpty();
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-3, ALC-13, COH-6: with a global pool there is only the global region")
    void globalRegionIsAllThereIs() {
        DirectWorld world = world(arch -> arch.withGlobalPool(true).withRemap(true));
        Device device = incoherent(world);
        assertThat(device.dma().allocCoherent(0x1000, 0)).as("no region").isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
        assertThat(world.machine.coherentRegions().declareGlobal(0x3000_0000L, 0x4000))
                .isZero();
        CoherentBuffer buffer = device.dma().alloc(0x1001);
        assertThat(buffer.dmaAddr()).isEqualTo(0x3000_0000L);
        assertThat(buffer.sizeBytes()).isEqualTo(0x1001);
        assertThat(Objects.requireNonNull(world.machine.coherentRegions().global())
                        .freePages())
                .isEqualTo(2);
        assertThat(device.dma().allocCoherent(0x3000, 0)).as("null is final").isNull();
        buffer.close();
        assertThat(Objects.requireNonNull(world.machine.coherentRegions().global())
                        .freePages())
                .isEqualTo(4);
        assertThat(world.machine.log().warnCount()).isZero();
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-13: what is not inside the global region is warned of once, and left alone")
    void strayFreeToTheGlobalRegionWarnsOnce() {
        DirectWorld world = world(arch -> arch.withGlobalPool(true));
        Device device = incoherent(world);
        ForeignMemory memory = new ForeignMemory(world.machine);
        var mem = Swiotlb.of(world.machine).defaultMem();
        CoherentPages stray = CoherentPages.contiguous(0x5000, 0x1000, 0x5000).withCpuAddr(0xffff_8880_0000_5000L);
        memory.free(mem, device, stray, 0);
        assertThat(world.machine.coherentRegions().declareGlobal(0x3000_0000L, 0x4000))
                .isZero();
        memory.free(mem, device, stray, 0);
        assertThat(world.complaints())
                .containsExactly(device.name() + ": 0xffff888000005000 is not in the global region (dma-core:ALC-13)");
        assertThat(world.machine.log().count("dma_release_from_global_coherent"))
                .isEqualTo(2);
    }

    @Test
    @DisplayName("FE-54, ALC-11: pages for streaming are plain memory for any device")
    void streamingPagesNeedNoMeans() {
        DirectWorld world = world(arch -> arch);
        world.fill(4L << 30, 0x2000, 0x77);
        Device device = incoherent(world);
        var pages = Objects.requireNonNull(device.dma().memory().allocPages(0x1001, BIDIRECTIONAL, Gfp.ATOMIC));
        assertThat(pages.physAddr()).isEqualTo(4L << 30);
        assertThat(pages.dmaAddr()).isEqualTo(4L << 30);
        assertThat(world.byteAt((4L << 30) + 0x1fff)).isZero();
        device.dma().memory().freePages(0x1001, pages.physAddr(), pages.dmaAddr(), BIDIRECTIONAL);
        world.assertIdle();
        assertThat(device.dma().memory().allocPages(0, BIDIRECTIONAL, Gfp.KERNEL))
                .isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
    }
}
