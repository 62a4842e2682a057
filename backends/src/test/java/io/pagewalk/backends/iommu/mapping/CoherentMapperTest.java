package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Coherent memory behind an IOMMU. */
class CoherentMapperTest {
    private static final long PAGE = Addresses.PAGE_SIZE;

    private static CoherentPages alloc(World world, long sizeBytes, int attrs) {
        return Objects.requireNonNull(world.ops.allocCoherent(world.device, 0, sizeBytes, Gfp.KERNEL, attrs));
    }

    private static void assertMapped(World world, CoherentPages coherent) {
        for (int i = 0; i < coherent.pageCount(); i++) {
            assertThat(world.table.iovaToPhys(coherent.dmaAddr() + i * PAGE)).isEqualTo(coherent.pagePhysAddr(i));
        }
    }

    private static void freeAndCheck(World world, CoherentPages coherent, long freeBytesBefore) {
        assertThat(world.idleViolations()).isNotEmpty();
        world.ops.freeCoherent(world.device, 0, coherent, 0);
        world.assertNothingIsHeld();
        assertThat(world.machine.pages().freeBytes()).isEqualTo(freeBytesBefore);
    }

    @Test
    @DisplayName("iommu:DALLOC-3: 2 MiB blocks while the rest holds one, then pages")
    void largeBlocksComeFirst() {
        try (World world = World.strict()) {
            long before = world.machine.pages().freeBytes();
            CoherentPages coherent = alloc(world, (4L << 20) + 1, 0);
            assertThat(coherent.sizeBytes()).isEqualTo((4L << 20) + 1);
            assertThat(coherent.pageCount()).isEqualTo(1025);
            assertThat(Addresses.isAligned(coherent.pagePhysAddr(0), 2 << 20)).isTrue();
            assertThat(coherent.pagePhysAddr(511) - coherent.pagePhysAddr(0)).isEqualTo(511 * PAGE);
            assertMapped(world, coherent);
            freeAndCheck(world, coherent, before);
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-3: a block that cannot be had falls through to smaller ones")
    void missingBlocksFallThroughToPages() {
        try (World world = World.strict()) {
            long before = world.machine.pages().freeBytes();
            world.machine.failures().failNth("iommu.pages", 1);
            CoherentPages coherent = alloc(world, 2 << 20, 0);
            assertThat(coherent.pageCount()).isEqualTo(512);
            assertMapped(world, coherent);
            freeAndCheck(world, coherent, before);
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-3: ALLOC_SINGLE_PAGES takes pages only")
    void singlePagesAreTakenOneByOne() {
        try (World world = World.strict()) {
            world.machine.failures().failNth("iommu.pages", 512);
            assertThat(world.ops.allocCoherent(world.device, 0, 2 << 20, Gfp.KERNEL, DmaAttrs.ALLOC_SINGLE_PAGES))
                    .isNull();
            assertThat(world.failure().reason()).isEqualTo(FailureReason.NO_MEMORY);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-1: FORCE_CONTIGUOUS gives one physical block")
    void forcedBlockIsContiguous() {
        try (World world = World.strict()) {
            long before = world.machine.pages().freeBytes();
            CoherentPages coherent = alloc(world, 5 * PAGE, DmaAttrs.FORCE_CONTIGUOUS);
            for (int i = 0; i < 5; i++) {
                assertThat(coherent.pagePhysAddr(i)).isEqualTo(coherent.pagePhysAddr(0) + i * PAGE);
            }
            assertMapped(world, coherent);
            assertThat(world.machine.pages().freeBytes()).isEqualTo(before - 5 * PAGE);
            freeAndCheck(world, coherent, before);
        }
    }

    @Test
    void memoryIsZeroed() {
        try (World world = World.strict()) {
            CoherentPages dirty = alloc(world, PAGE, 0);
            world.machine.cpuMemory().putLong(dirty.pagePhysAddr(0), -1L);
            world.ops.freeCoherent(world.device, 0, dirty, 0);
            CoherentPages clean = alloc(world, PAGE, 0);
            assertThat(clean.pagePhysAddr(0)).isEqualTo(dirty.pagePhysAddr(0));
            assertThat(world.machine.cpuMemory().getLong(clean.pagePhysAddr(0))).isZero();
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-4: the coherent mask holds, not the streaming mask")
    void coherentMaskHolds() {
        try (World world = World.strict(config -> config.withStreamingMask(-1L).withCoherentMask(0xffffff))) {
            assertThat(alloc(world, PAGE, 0).dmaAddr()).isEqualTo(0xfff000);
            assertThat(alloc(world, PAGE, DmaAttrs.FORCE_CONTIGUOUS).dmaAddr()).isEqualTo(0xffe000);
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-4: without addresses or tables the pages go back")
    void pagesOfARefusedAllocationGoBack() {
        for (int attrs : new int[] {0, DmaAttrs.FORCE_CONTIGUOUS}) {
            try (World world = World.strict()) {
                long before = world.machine.pages().freeBytes();
                world.machine.failures().failNth("iommu.iova", 1);
                assertThat(world.ops.allocCoherent(world.device, 0, 3 * PAGE, Gfp.KERNEL, attrs))
                        .isNull();
                assertThat(world.failure().reason()).isEqualTo(FailureReason.NO_IOVA);
                world.machine.failures().disarm();
                world.table.failAfter(0);
                assertThat(world.ops.allocCoherent(world.device, 0, 3 * PAGE, Gfp.KERNEL, attrs))
                        .isNull();
                assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
                assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
                world.assertNothingIsHeld();
            }
        }
    }

    @Test
    void sizesThatNoMemoryHoldsAreRefused() {
        try (World world = World.strict()) {
            for (long size : new long[] {0, 1L << 40, -1L, 1L << 62}) {
                assertThat(world.ops.allocCoherent(world.device, 0, size, Gfp.KERNEL, 0))
                        .isNull();
                assertThat(world.failure().reason()).isEqualTo(FailureReason.NO_MEMORY);
                assertThat(world.failure().errno()).isEqualTo(Errno.ENOMEM);
            }
            assertThat(world.ops.allocCoherent(world.device, 0, 128 << 20, Gfp.KERNEL, 0))
                    .isNull();
            world.assertNothingIsHeld();
        }
    }
}
