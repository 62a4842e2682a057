package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.NoCaches;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.memory.VirtRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The allocating half: dma-core:ATTR-11, FE-50 to FE-57, FE-70 to FE-72, MSK-14. */
class DmaMemoryTest {
    private static final long DIRECT_MAP = 0xffff_8880_0000_0000L;
    private static final long VMALLOC = 0xffff_c900_0000_0000L;

    private final List<String> heard = new ArrayList<>();
    private final World world = World.make(World.builder().listener(clock -> listener()));
    private final DmaMemory memory = world.device.dma(1).memory();

    private DmaListener listener() {
        return new DmaListener() {
            @Override
            public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
                heard.add("allocated " + cpu + " " + Long.toHexString(dmaAddr) + " " + sizeBytes);
            }

            @Override
            public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
                heard.add("freeing " + cpu + " " + Long.toHexString(dmaAddr) + " " + sizeBytes + " after "
                        + world.backend.calls.size());
            }

            @Override
            public void allocatedPages(
                    Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
                heard.add("pages " + cpu + " " + Long.toHexString(physAddr) + " " + sizeBytes + " " + direction + " "
                        + Long.toHexString(dmaAddr));
            }

            @Override
            public void freeingPages(
                    Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
                heard.add("freeing pages " + cpu + " " + Long.toHexString(physAddr) + " " + sizeBytes + " " + direction
                        + " " + Long.toHexString(dmaAddr) + " after " + world.backend.calls.size());
            }
        };
    }

    private static <T> T present(@Nullable T value) {
        return Objects.requireNonNull(value);
    }

    @Test
    @DisplayName("dma-core:ATTR-11")
    void eachKindOfAllocationHasItsAttributes() {
        present(memory.allocCoherent(0x10, Gfp.KERNEL)).close();
        present(memory.allocCoherent(0x10, Gfp.ATOMIC | Gfp.NOWARN)).close();
        present(memory.allocWc(0x10, Gfp.KERNEL)).close();
        present(memory.allocWc(0x10, Gfp.NOWARN)).close();
        present(memory.allocAttrs(0x10, Gfp.NOWARN, DmaAttrs.NO_KERNEL_MAPPING)).close();

        assertThat(world.backend.calls)
                .containsExactly(
                        "alloc cpu 1 0x10 attrs 0x0",
                        "free cpu 1 0x4000+0x10 attrs 0x0",
                        "alloc cpu 1 0x10 gfp 0x10 attrs 0x100",
                        "free cpu 1 0x4000+0x10 attrs 0x0",
                        "alloc cpu 1 0x10 attrs 0x4",
                        "free cpu 1 0x4000+0x10 attrs 0x4",
                        "alloc cpu 1 0x10 gfp 0x10 attrs 0x104",
                        "free cpu 1 0x4000+0x10 attrs 0x4",
                        "alloc cpu 1 0x10 gfp 0x10 attrs 0x10",
                        "free cpu 1 0x4000+0x10 attrs 0x10");
    }

    @Test
    @DisplayName("dma-core:FE-52")
    void zonesAreStrippedAndEverythingElseIsPassedOn() {
        memory.allocAttrs(0x1234, Gfp.KERNEL | Gfp.DMA | Gfp.DMA32 | Gfp.HIGHMEM | Gfp.ZERO, 0xffff_ffff);

        assertThat(world.backend.calls).containsExactly("alloc cpu 1 0x1234 gfp 0x48 attrs 0xffffffffffffffff");
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-50: __GFP_COMP")
    void compoundPagesAreRefusedWithOneWarn() {
        assertThat(memory.allocCoherent(0x10, Gfp.KERNEL | Gfp.COMP)).isNull();
        assertThat(memory.allocWc(0x10, Gfp.COMP)).isNull();

        assertThat(world.backend.calls).isEmpty();
        assertThat(heard).isEmpty();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("dma_alloc_attrs: compound")).isEqualTo(2);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic allocates with compound pages: gfp 0x60, attrs 0x0 (dma-core:FE-50)");
        assertThat(world.device.dma(1).lastFailure())
                .isEqualTo(new DmaFailure(FailureReason.INVALID_FLAGS, 22, List.of((long) Gfp.COMP, 4L)));
    }

    @Test
    @DisplayName("dma-core:FE-52: records success")
    void listenersHearOfSuccessOnly() {
        CoherentBuffer buffer = present(memory.allocCoherent(0x800, Gfp.KERNEL));
        world.backend.onAlloc = size -> null;
        assertThat(memory.allocCoherent(0x800, Gfp.KERNEL)).isNull();
        buffer.close();

        assertThat(heard).containsExactly("allocated 1 4000 2048", "freeing 1 4000 2048 after 2");
        assertThat(world.backend.calls).hasSize(3);
    }

    @Test
    void memoryInOnePieceHasAnAddressInTheDirectMap() { // DBG-14 needs one
        assertThat(present(memory.allocCoherent(0x2000, 0)).cpuAddr()).isEqualTo(DIRECT_MAP + 0x4000);
    }

    @Test
    void pagesThatLieApartGetAddressesThatFollowEachOther() { // iommu:DALLOC-1
        world.backend.onAlloc = size -> new CoherentPages(0xf000_0000L, size, new long[] {0x6000, 0x2000});
        CoherentBuffer buffer = present(memory.allocCoherent(0x1800, 0));
        KernelMemory kernel = world.machine.kernelMemory();

        assertThat(buffer.cpuAddr()).isEqualTo(VMALLOC);
        assertThat(kernel.physAddr(VMALLOC + 0x1008)).isEqualTo(0x2008);
        memory.freeCoherent(0x1800, VMALLOC, 0xf000_0000L);
        assertThat(kernel.physAddr(VMALLOC)).isEqualTo(KernelMemory.NO_PHYS_ADDR);
        assertThat(kernel.vmapCount()).isZero();
    }

    @Test
    void aBackendsOwnCpuAddressIsKept() { // ALC-2: the page cookie
        long cookie = KernelMemory.pageCookie(0x6000);
        world.backend.onAlloc = size -> new CoherentPages(0xf000_0000L, size, new long[] {0x6000}).withCpuAddr(cookie);
        CoherentBuffer buffer = present(memory.allocAttrs(0x1000, 0, DmaAttrs.NO_KERNEL_MAPPING));

        assertThat(cookie).isEqualTo(0xffff_ea00_0000_0180L);
        assertThat(buffer.cpuAddr()).isEqualTo(cookie);
        assertThat(world.machine.kernelMemory().physAddr(cookie)).isEqualTo(KernelMemory.NO_PHYS_ADDR);
        memory.freeAttrs(0x1000, cookie, 0xf000_0000L, DmaAttrs.NO_KERNEL_MAPPING);
        assertThat(world.backend.calls).contains("free cpu 1 0xf0000000+0x1000 attrs 0x10");
    }

    @Test
    void memoryThatGetsNoAddressIsGivenBack() {
        MachineBuilder tiny = World.builder()
                .layout(KernelLayout.of(
                        world.machine.layout().directMap(),
                        new VirtRange(VMALLOC, VMALLOC + 0x1fff),
                        world.machine.layout().text()));
        World full = World.make(tiny);
        full.backend.onAlloc = size -> new CoherentPages(0xf000_0000L, size, new long[] {0x6000, 0x2000});

        assertThat(full.dma.allocCoherent(0x2000, 0)).isNull();
        assertThat(full.backend.calls)
                .containsExactly("alloc cpu 0 0x2000 attrs 0x0", "free cpu 0 0xf0000000+0x2000 attrs 0x0");
        assertThat(full.dma.lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
    }

    @Test
    @DisplayName("dma-core:FE-53: listener before the free, both with the caller's numbers")
    void aFreeByAddressFreesWhatWasAllocatedThere() {
        CoherentBuffer buffer = present(memory.allocCoherent(0x800, 0));
        memory.freeWc(0x123, buffer.cpuAddr(), 0x999);

        assertThat(heard).containsExactly("allocated 1 4000 2048", "freeing 1 999 291 after 1");
        assertThat(world.backend.calls).last().isEqualTo("free cpu 1 0x4000+0x800 attrs 0x4");
        assertThatThrownBy(buffer::dmaAddr).hasMessage("the coherent buffer at 0x4000 was freed");
        buffer.close();
        assertThat(world.backend.calls).as("closing it then does nothing").hasSize(2);
    }

    @Test
    @DisplayName("dma-core:FE-53: null cpu_addr -> return")
    void freeingNothingDoesNothing() {
        memory.freeCoherent(0x1000, 0, 0x4000);

        assertThat(heard).isEmpty();
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    void memoryThatIsNotThereCannotBeFreed() {
        CoherentBuffer buffer = present(memory.allocCoherent(0x1000, 0));
        long cpuAddr = buffer.cpuAddr();
        memory.freeCoherent(0x1000, cpuAddr, 0x4000);

        for (long wrong : new long[] {cpuAddr, cpuAddr + 1, 1, -1L, Long.MIN_VALUE}) {
            assertThatThrownBy(() -> memory.freeCoherent(0x1000, wrong, 0x4000))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("nic has no coherent memory at 0x" + Long.toHexString(wrong)
                            + ": freed twice, never allocated, or its region was released");
        }
        assertThat(world.backend.calls).hasSize(2);
        assertThat(heard).as("listeners hear of it before").hasSize(7);
    }

    @Test
    @DisplayName("dma-core:FE-53: WARN if irqs are disabled")
    void freeingWithoutInterruptsWarnsEachTimeAndFrees() {
        CoherentBuffer first = present(memory.allocCoherent(0x1000, 0));
        world.machine.interrupts().disable(1);
        assertThat(world.machine.interrupts().areDisabled(0)).isFalse();
        memory.freeCoherent(0x1000, first.cpuAddr(), 0x4000);
        memory.freeCoherent(0x1000, 0, 0);
        present(memory.allocCoherent(0x1000, 0)).close();

        assertThat(world.machine.log().warnCount()).isEqualTo(3);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic: CPU 1 takes no interrupts (dma-core:FE-53)");
        assertThat(world.backend.calls).hasSize(4);
        world.machine.interrupts().enable(1);
        memory.freeCoherent(0x1000, 0, 0);
        assertThat(world.machine.log().warnCount()).isEqualTo(3);
    }

    @Test
    @DisplayName("dma-core:FE-54, FE-55: rounded for the allocator, unrounded for listeners")
    void pagesAreWholeForTheAllocator() {
        DmaPages pages = present(memory.allocPages(0x1001, DmaDirection.FROM_DEVICE, Gfp.KERNEL));
        memory.freePages(0x1001, pages.physAddr(), pages.dmaAddr(), DmaDirection.FROM_DEVICE);

        assertThat(pages).isEqualTo(new DmaPages(0x5000, 0x9_5000, 0x2000));
        assertThat(world.backend.calls)
                .containsExactly(
                        "allocPages cpu 1 0x2000 FROM_DEVICE gfp 0x40",
                        "freePages cpu 1 0x5000+0x2000 at 0x95000 FROM_DEVICE");
        assertThat(heard)
                .containsExactly(
                        "pages 1 5000 4097 FROM_DEVICE 95000", "freeing pages 1 5000 4097 FROM_DEVICE 95000 after 1");
    }

    @ParameterizedTest
    @ValueSource(ints = {Gfp.DMA, Gfp.DMA32, Gfp.HIGHMEM, Gfp.COMP, Gfp.DMA | Gfp.COMP})
    @DisplayName("dma-core:FE-54")
    void pagesOfAZoneAndCompoundPagesAreRefused(int gfp) {
        assertThat(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, gfp)).isNull();
        assertThat(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, gfp)).isNull();

        assertThat(world.backend.calls).isEmpty();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        String site = Gfp.choosesZone(gfp) ? "dma_alloc_pages: zone" : "dma_alloc_pages: compound";
        assertThat(world.machine.log().count(site)).isEqualTo(2);
        assertThat(world.device.dma(1).lastFailure().reason()).isEqualTo(FailureReason.INVALID_FLAGS);
    }

    @Test
    @DisplayName("dma-core:FE-54: coherent mask 0")
    void pagesNeedACoherentMask() {
        world.device.storeCoherentMask(0);
        assertThat(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, Gfp.DMA)).isNull();
        assertThat(memory.noncontiguous().alloc(0x1000, DmaDirection.TO_DEVICE, 0, 0))
                .isNull();

        assertThat(world.machine.log().count("dma_alloc_pages: mask")).isEqualTo(2);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:TYP-6: the direction is not validated")
    void pagesMayHaveNoDirection() {
        assertThat(memory.allocPages(0x1000, DmaDirection.NONE, 0)).isNotNull();
        memory.freePages(0x1000, 0x5000, 0x9_5000, DmaDirection.NONE);
        assertThat(memory.noncontiguous().alloc(0x1000, DmaDirection.NONE, 0, 0))
                .isNotNull();
    }

    @Test
    void noPagesAreHeardOfWhenThereAreNone() { // FE-54
        world.backend.onAllocPages = size -> null;

        assertThat(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, 0)).isNull();
        assertThat(memory.allocNoncoherent(0x1000, DmaDirection.TO_DEVICE, 0)).isNull();
        assertThat(heard).isEmpty();
    }

    @Test
    @DisplayName("dma-core:TYP-10, FE-54: a size that wraps asks for nothing, which fails")
    void hugeSizesWrapToNothing() {
        world.backend.onAllocPages = size -> size == 0 ? null : new DmaPages(0, 0, size);

        assertThat(memory.allocPages(-1L, DmaDirection.TO_DEVICE, 0)).isNull();
        assertThat(memory.allocPages(0, DmaDirection.TO_DEVICE, 0)).isNull();
        assertThat(memory.noncontiguous().alloc(-0xfffL, DmaDirection.TO_DEVICE, 0, 0))
                .isNull();
        assertThat(world.backend.calls)
                .containsOnly("allocPages cpu 1 0x0 TO_DEVICE gfp 0x0")
                .hasSize(3);
    }

    @Test
    @DisplayName("dma-core:FE-56")
    void noncoherentMemoryIsPagesByTheKernelsAddress() {
        NoncoherentMemory got = present(memory.allocNoncoherent(0x1001, DmaDirection.BIDIRECTIONAL, Gfp.KERNEL));
        memory.freeNoncoherent(0x1001, got.cpuAddr(), got.dmaAddr(), DmaDirection.BIDIRECTIONAL);

        assertThat(got).isEqualTo(new NoncoherentMemory(DIRECT_MAP + 0x5000, 0x9_5000, 0x1001));
        assertThat(world.backend.calls)
                .containsExactly(
                        "allocPages cpu 1 0x2000 BIDIRECTIONAL gfp 0x40",
                        "freePages cpu 1 0x5000+0x2000 at 0x95000 BIDIRECTIONAL");
    }

    @Test
    @DisplayName("dma-core:FE-54: per-device coherent regions are not consulted")
    void pagesDoNotComeFromTheDevicesRegion() {
        assertThat(world.device.declareCoherentMemory(0, 0x8000_0000L, 0x4000)).isZero();

        assertThat(present(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, 0)).physAddr())
                .isEqualTo(0x5000);
    }

    @Test
    @DisplayName("dma-core:FE-57")
    void pagesAreShownToAProcess() {
        UserMapping part = memory.mmapPages(new UserVma(2, 1), 0x2001, 0x7abc);

        assertThat(part.result()).isZero();
        assertThat(part.pages()).isEqualTo(2);
        assertThat(part.physAddr(0)).isEqualTo(0x8000);
        assertThat(part.physAddr(1)).isEqualTo(0x9000);
        assertThat(part.protection()).isEqualTo(PageProtection.CACHED);
        assertThat(memory.mmapPages(new UserVma(1, 2), 0x2001, 0x7000).result()).isZero();
        assertThat(memory.mmapPages(new UserVma(1, 3), 0x2001, 0x7000).result()).isEqualTo(-6);
        assertThat(memory.mmapPages(new UserVma(3, 1), 0x2001, 0x7000).result()).isEqualTo(-6);
        assertThat(memory.mmapPages(new UserVma(1, -1L), 0x2001, 0x7000).result())
                .isEqualTo(-6);
        assertThat(memory.mmapPages(new UserVma(-1L, 0), 0x2001, 0x7000).result())
                .isEqualTo(-6);
        assertThat(memory.mmapPages(new UserVma(1, 0), -1L, 0x7000).result())
                .as("a size that wraps has no page")
                .isEqualTo(-6);
        assertThat(memory.mmapPages(new UserVma(1, 0), 0, 0x7000).result()).isEqualTo(-6);
    }

    @Test
    @DisplayName("dma-core:FE-70")
    void aListOfCoherentMemoryIsThePathsToMake() {
        CoherentBuffer buffer = present(memory.allocCoherent(0x1800, 0));
        SgTable sg = new SgTable(1);

        assertThat(memory.getSgTable(sg, buffer, 0x1234, 4)).isZero();
        assertThat(world.backend.calls).last().isEqualTo("getSgTable 0x4000+0x1234 attrs 0x4");
        assertThat(sg.physAddr(0)).isEqualTo(0x4000);
        assertThatThrownBy(() -> memory.getSgTable(sg, buffer, 0x1000, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the table has 1 entries already");
        world.backend.getSgTableResult = -12;
        sg.clear();
        assertThat(memory.getSgTable(sg, buffer, 0x1000, 0)).isEqualTo(-12);
        assertThat(sg.origNents()).isZero();
    }

    @Test
    @DisplayName("dma-core:FE-71, FE-72")
    void coherentMemoryIsShownByItsPath() {
        CoherentBuffer buffer = present(memory.allocCoherent(0x3000, 0));
        UserMapping part = memory.mmap(new UserVma(1, 2), buffer, 0x3000, DmaAttrs.WRITE_COMBINE);

        assertThat(part.result()).isZero();
        assertThat(part.physAddr(0)).isEqualTo(0x6000);
        assertThat(part.protection()).isEqualTo(PageProtection.CACHED);
        assertThat(world.backend.calls).last().isEqualTo("mmap 1 pages from 2 of 0x4000+0x3000 attrs 0x4");
    }

    @Test
    @DisplayName("dma-core:MSK-14")
    void whetherMemoryCanBeShownIsThePathsToSay() {
        assertThat(memory.canMmap()).isFalse();
        world.backend.canMmap = true;
        assertThat(memory.canMmap()).isTrue();
    }

    @Test
    @DisplayName("dma-core:FE-72")
    void protectionFollowsCoherenceThenWriteCombining() {
        KernelConfig plain = NoCaches.kernel();
        World snooped = World.make(World.builder().kernelConfig(plain.withWriteCombine(true)));
        World combining = World.make(
                World.builder().kernelConfig(plain.withWriteCombine(true)), config -> config.withCoherent(false));
        World uncached = World.make(World.builder().kernelConfig(plain), config -> config.withCoherent(false));

        assertThat(PageProtection.of(snooped.device, DmaAttrs.WRITE_COMBINE)).isEqualTo(PageProtection.CACHED);
        assertThat(PageProtection.of(combining.device, DmaAttrs.WRITE_COMBINE)).isEqualTo(PageProtection.WRITE_COMBINE);
        assertThat(PageProtection.of(combining.device, ~DmaAttrs.WRITE_COMBINE)).isEqualTo(PageProtection.UNCACHED);
        assertThat(PageProtection.of(uncached.device, DmaAttrs.WRITE_COMBINE)).isEqualTo(PageProtection.UNCACHED);
    }
}
