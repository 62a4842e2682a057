package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaPages;
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
            assertThat(world.failure().reason()).isEqualTo(FailureReason.INJECTED);
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
                assertThat(world.failure().reason()).isEqualTo(FailureReason.INJECTED);
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

    @Test
    @DisplayName("iommu:DALLOC-1: who may not wait gets pages that lie together")
    void atomicAllocationsAreContiguous() {
        try (World world = World.strict()) {
            world.machine.failures().failNth("iommu.pages", 1);
            assertThat(world.ops.allocCoherent(world.device, 0, 2 << 20, Gfp.ATOMIC, 0))
                    .as("one block, for which there is no substitute")
                    .isNull();
            world.machine.failures().disarm();
            CoherentPages coherent =
                    Objects.requireNonNull(world.ops.allocCoherent(world.device, 0, 5 * PAGE, Gfp.ATOMIC, 0));
            assertThat(coherent.pagePhysAddr(4)).isEqualTo(coherent.pagePhysAddr(0) + 4 * PAGE);
            world.ops.freeCoherent(world.device, 0, coherent, 0);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-3, DALLOC-4: a list with an entry for each run, and one DMA segment for all")
    void listOfPagesHasOneSegment() {
        try (World world = World.strict()) {
            long before = world.machine.pages().freeBytes();
            holdPage(world);
            SgTable sg = Objects.requireNonNull(
                    world.ops.allocNoncontiguous(world.device, 0, 2 * PAGE + 1, DmaDirection.TO_DEVICE, Gfp.KERNEL, 0));
            assertThat(sg.nents()).isEqualTo(1);
            assertThat(sg.dmaLengthBytes(0)).isEqualTo(3 * PAGE);
            assertThat(sg.dmaAddr(0)).isEqualTo(0xffff_c000L);
            long mapped = 0;
            for (int i = 0; i < sg.origNents(); i++) {
                assertThat(world.table.iovaToPhys(sg.dmaAddr(0) + mapped)).isEqualTo(sg.physAddr(i));
                mapped += sg.lengthBytes(i);
            }
            assertThat(mapped).isEqualTo(3 * PAGE);
            assertThat(world.table.leaf(sg.dmaAddr(0)).prot())
                    .as("both directions, whatever is asked for")
                    .isEqualTo(7);
            assertThat(world.idleViolations()).contains("coherent allocations of 3 pages were not freed");
            world.ops.freeNoncontiguous(world.device, 0, 2 * PAGE + 1, sg, DmaDirection.TO_DEVICE);
            world.assertNothingIsHeld();
            assertThat(world.machine.pages().freeBytes()).isEqualTo(before - PAGE);
        }
    }

    /** Breaks the order of the free pages up. */
    private static void holdPage(World world) {
        world.machine.pages().allocPages(Zone.NORMAL, 0);
    }

    @Test
    @DisplayName("iommu:DALLOC-3, DALLOC-4: without pages, addresses or tables nothing is held")
    void refusedListHoldsNothing() {
        for (String failing : new String[] {"iommu.pages", "iommu.iova", ""}) {
            try (World world = World.strict()) {
                long before = world.machine.pages().freeBytes();
                if (failing.isEmpty()) {
                    world.table.failAfter(0);
                } else {
                    world.machine.failures().failNth(failing, 1);
                }
                assertThat(world.ops.allocNoncontiguous(
                                world.device,
                                0,
                                3 * PAGE,
                                DmaDirection.TO_DEVICE,
                                Gfp.KERNEL,
                                DmaAttrs.ALLOC_SINGLE_PAGES))
                        .isNull();
                assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
                world.machine.failures().disarm();
                world.backend.quiesce();
                assertThat(world.idleViolations()).isEmpty();
            }
        }
    }

    @Test
    @DisplayName("iommu:DALLOC-3, DALLOC-4: pages of the domain that are smaller leave the size at the granule")
    void smallDomainPagesKeepTheGranule() {
        RecordingDriver driver = new RecordingDriver(1L << 9, RecordingDriver.APERTURE_48);
        try (World world = World.of(World.builder().build(), driver, false, c -> c)) {
            CoherentPages coherent = alloc(world, PAGE + 1, 0);
            assertThat(coherent.pageCount()).isEqualTo(2);
            assertThat(world.table.leaves()).hasSize(9);
            world.ops.freeCoherent(world.device, 0, coherent, 0);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName(
            "dma-core:FE-54: pages allocated for streaming use are zeroed, contiguous, mapped by the streaming mask")
    void streamingPagesAreMappedLikeABuffer() {
        try (World world = World.strict(config -> config.withStreamingMask(0xff_ffffL))) {
            long before = world.machine.pages().freeBytes();
            DmaPages pages = Objects.requireNonNull(
                    world.ops.allocPages(world.device, 0, 4 * PAGE, DmaDirection.FROM_DEVICE, Gfp.KERNEL));
            assertThat(pages.dmaAddr()).isEqualTo(0xff_c000L);
            assertThat(world.table.iovaToPhys(0xff_ffffL)).isEqualTo(pages.physAddr() + 4 * PAGE - 1);
            assertThat(world.table.leaf(0xff_c000L).prot()).isEqualTo(6);
            assertThat(world.idleViolations()).contains("coherent allocations of 4 pages were not freed");
            world.ops.freePages(world.device, 0, pages, DmaDirection.FROM_DEVICE);
            world.assertNothingIsHeld();
            world.machine.failures().failNth("iommu.iova", 1);
            assertThat(world.ops.allocPages(world.device, 0, PAGE, DmaDirection.FROM_DEVICE, Gfp.KERNEL))
                    .isNull();
            world.machine.failures().failNth("iommu.pages", 1);
            assertThat(world.ops.allocPages(world.device, 0, PAGE, DmaDirection.FROM_DEVICE, Gfp.KERNEL))
                    .isNull();
            assertThat(world.failure().reason()).isEqualTo(FailureReason.INJECTED);
            assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
        }
    }

    @Test
    @DisplayName("dma-core:FE-70: a contiguous block is one entry of whole pages, anything else runs up to the size")
    void coherentMemoryBecomesAList() {
        try (World world = World.strict()) {
            CoherentPages block = alloc(world, PAGE + 1, DmaAttrs.FORCE_CONTIGUOUS);
            SgTable sg = new SgTable(1);
            assertThat(world.ops.getSgTable(world.device, sg, block, PAGE + 1, 0))
                    .isZero();
            assertThat(sg.origNents()).isEqualTo(1);
            assertThat(sg.lengthBytes(0)).isEqualTo(2 * PAGE);
            assertThat(sg.physAddr(0)).isEqualTo(block.pagePhysAddr(0));
            assertThat(sg.dmaAddr(0)).isZero();
            CoherentPages apart = new CoherentPages(0x1000, 2 * PAGE + 5, new long[] {0x7000, 0x9000, 0xa000});
            SgTable runs = new SgTable(1);
            assertThat(world.ops.getSgTable(world.device, runs, apart, 2 * PAGE + 5, 0))
                    .isZero();
            assertThat(runs.origNents()).isEqualTo(2);
            assertThat(runs.physAddr(1)).isEqualTo(0x9000);
            assertThat(runs.lengthBytes(0)).isEqualTo(PAGE);
            assertThat(runs.lengthBytes(1)).isEqualTo(PAGE + 5);
        }
    }

    @Test
    @DisplayName("dma-core:FE-71, MSK-14: a process sees the pages in order, or -ENXIO beyond them")
    void coherentMemoryIsShownToAProcess() {
        try (World world = World.strict()) {
            CoherentPages apart = new CoherentPages(0x1000, 3 * PAGE, new long[] {0x7000, 0x9000, 0xa000});
            assertThat(world.ops.canMmap(world.device)).isTrue();
            UserMapping seen = world.ops.mmap(world.device, new UserVma(2, 1), apart, 3 * PAGE, 0);
            assertThat(seen.result()).isZero();
            assertThat(seen.physAddr(0)).isEqualTo(0x9000);
            assertThat(seen.physAddr(1)).isEqualTo(0xa000);
            assertThat(world.ops
                            .mmap(world.device, new UserVma(2, 1), apart, 2 * PAGE, 0)
                            .result())
                    .isEqualTo(-Errno.ENXIO);
        }
    }

    @Test
    @DisplayName("dma-core:ALC-9: contiguous memory comes from the device's own area, else from the default one")
    void contiguousMemoryComesFromCma() {
        PhysRange own = new PhysRange(0x100_0000, 0x10f_ffff);
        PhysRange others = new PhysRange(0x200_0000, 0x20f_ffff);
        Machine machine = World.builder()
                .cma(new CmaAreas().withDefault(others).with("codec", own))
                .build();
        RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_48);
        try (World world = World.of(machine, driver, false, config -> config.withCmaArea("codec"))) {
            CoherentPages page = alloc(world, PAGE, DmaAttrs.FORCE_CONTIGUOUS);
            assertThat(page.pagePhysAddr(0)).isEqualTo(0x100_0000);
            assertThat(machine.cma().named("codec").usedPages()).isEqualTo(1);
            world.ops.freeCoherent(world.device, 0, page, 0);
            assertThat(machine.cma().named("codec").usedPages()).isZero();
            CoherentPages atomic =
                    Objects.requireNonNull(world.ops.allocCoherent(world.device, 0, PAGE, Gfp.ATOMIC, 0));
            assertThat(machine.cma().named("codec").usedPages())
                    .as("no waiting, no area")
                    .isZero();
            world.ops.freeCoherent(world.device, 0, atomic, 0);
            Device plain = machine.addDevice(DeviceConfig.named("plain"));
            CoherentPages two = Objects.requireNonNull(world.backend
                    .attach(plain)
                    .allocCoherent(plain, 0, 2 * PAGE, Gfp.KERNEL, DmaAttrs.FORCE_CONTIGUOUS));
            assertThat(two.pagePhysAddr(0)).isEqualTo(0x200_0000);
            long used = Objects.requireNonNull(machine.cma().defaultArea()).usedPages();
            assertThat(used).isEqualTo(2);
            assertThat(world.backend
                            .attach(machine.addDevice(DeviceConfig.named("third")))
                            .allocCoherent(plain, 0, PAGE, Gfp.KERNEL, DmaAttrs.FORCE_CONTIGUOUS))
                    .isNotNull();
            assertThat(Objects.requireNonNull(machine.cma().defaultArea()).usedPages())
                    .as("a single page is not worth an area")
                    .isEqualTo(2);
        }
    }
}
