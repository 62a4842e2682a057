package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.events.LiveRange;
import io.pagewalk.dma.events.MappingLedger;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that is together on the bus: dma-core:FE-64, FE-65. */
class NoncontiguousMemoryTest {
    private static final long VMALLOC = 0xffff_c900_0000_0000L;
    private static final DmaDirection IN = DmaDirection.FROM_DEVICE;

    private final List<String> heard = new ArrayList<>();
    private final World world = World.make(World.builder().listener(clock -> listener()));
    private final NoncontiguousMemory memory = world.device.dma(1).memory().noncontiguous();

    private DmaListener listener() {
        return new DmaListener() {
            @Override
            public void mappedSg(
                    Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
                heard.add("mapped " + cpu + " " + nents + " " + direction + " to " + result);
            }

            @Override
            public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
                heard.add("unmapping " + cpu + " " + nents + " " + direction + " after " + world.backend.calls.size());
            }

            @Override
            public void allocatedPages(
                    Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
                heard.add("pages");
            }
        };
    }

    private SgTable alloc(long sizeBytes, int attrs) {
        return Objects.requireNonNull(memory.alloc(sizeBytes, IN, Gfp.KERNEL, attrs));
    }

    /** Behind an IOMMU: 0x6000, 0x2000 and 0x3000 at one device address. */
    private void behindAnIommu() {
        world.backend.isDmaIommu = true;
        world.backend.onAllocNoncontiguous = () -> {
            SgTable sg = new SgTable(2).add(0x6000, 0x1000).add(0x2000, 0x2000);
            sg.setDma(0, 0xfff0_0000L, 0x3000);
            return sg;
        };
    }

    @Test
    @DisplayName("dma-core:FE-64: length and dma_len = PAGE-rounded size; nents=1")
    void withoutAnIommuItIsOneEntryOfPages() {
        SgTable sg = alloc(0x1001, DmaAttrs.ALLOC_SINGLE_PAGES);

        assertThat(sg.origNents()).isEqualTo(1);
        assertThat(sg.nents()).isEqualTo(1);
        assertThat(sg.physAddr(0)).isEqualTo(0x5000);
        assertThat(sg.offset(0)).isZero();
        assertThat(sg.lengthBytes(0)).isEqualTo(0x2000);
        assertThat(sg.dmaAddr(0)).isEqualTo(0x9_5000);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x2000);
        assertThat(world.backend.calls).containsExactly("allocPages cpu 1 0x2000 FROM_DEVICE gfp 0x40");
        assertThat(heard).as("recorded as a list").containsExactly("mapped 1 1 FROM_DEVICE to 1");
    }

    @Test
    @DisplayName("dma-core:FE-65: the check comes before the free")
    void withoutAnIommuItIsFreedAsPages() {
        SgTable sg = alloc(0x1001, 0);
        heard.clear();
        memory.free(0x1001, sg, IN);

        assertThat(heard).containsExactly("unmapping 1 1 FROM_DEVICE after 1");
        assertThat(world.backend.calls).last().isEqualTo("freePages cpu 1 0x5000+0x2000 at 0x95000 FROM_DEVICE");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 0x10, 0x20, 0x40, 0x100, 0x200, 0x180, 0xc0, Integer.MIN_VALUE})
    @DisplayName("dma-core:FE-64, ATTR-10")
    void anyAttributeButSinglePagesIsRefused(int attrs) {
        behindAnIommu();
        assertThat(memory.alloc(0x1000, IN, Gfp.COMP, attrs)).isNull();
        assertThat(memory.alloc(0x1000, IN, 0, attrs)).isNull();

        assertThat(world.machine.log().count("dma_alloc_noncontiguous: attrs")).isEqualTo(2);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.device.dma(1).lastFailure())
                .isEqualTo(new DmaFailure(FailureReason.INVALID_FLAGS, 22, List.of(0L, (long) attrs)));
        assertThat(world.backend.calls).isEmpty();
        assertThat(heard).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-64: COMP")
    void compoundPagesAreRefusedBehindAnIommuToo() {
        behindAnIommu();
        assertThat(memory.alloc(0x1000, IN, Gfp.COMP, 0)).isNull();
        assertThat(memory.alloc(0x1000, IN, Gfp.COMP, DmaAttrs.ALLOC_SINGLE_PAGES))
                .isNull();

        assertThat(world.machine.log().count("dma_alloc_noncontiguous: compound"))
                .isEqualTo(2);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-64: without an IOMMU dma_alloc_pages refuses, behind one nobody does")
    void zonesAreRefusedWithoutAnIommuOnly() {
        assertThat(memory.alloc(0x1000, IN, Gfp.DMA32, 0)).isNull();
        assertThat(world.machine.log().count("dma_alloc_pages: zone")).isEqualTo(1);

        behindAnIommu();
        world.device.storeCoherentMask(0);
        assertThat(memory.alloc(0x2800, IN, Gfp.DMA32, 0x80)).isNotNull();
        assertThat(world.backend.calls)
                .containsExactly("allocNoncontiguous cpu 1 0x2800 FROM_DEVICE gfp 0x4 attrs 0x80");
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("iommu:DALLOC-3, DALLOC-4")
    void behindAnIommuAListOfManyEntriesHasOneSegment() {
        behindAnIommu();
        SgTable sg = alloc(0x2800, 0);
        memory.free(0x2800, sg, IN);

        assertThat(sg.origNents()).isEqualTo(2);
        assertThat(sg.nents()).isEqualTo(1);
        assertThat(heard).containsExactly("mapped 1 2 FROM_DEVICE to 1", "unmapping 1 2 FROM_DEVICE after 1");
        assertThat(world.backend.calls).last().isEqualTo("freeNoncontiguous cpu 1 0xfff00000+0x2800 FROM_DEVICE");
    }

    @Test
    void noMemoryIsNull() {
        world.backend.onAllocPages = size -> null;
        assertThat(memory.alloc(0x1000, IN, 0, 0)).isNull();
        behindAnIommu();
        world.backend.onAllocNoncontiguous = () -> null;
        assertThat(memory.alloc(0x1000, IN, 0, 0)).isNull();

        assertThat(heard).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-65: vmap returns the page's kernel address; vunmap nothing")
    void withoutAnIommuTheDirectMapShowsIt() {
        SgTable sg = alloc(0x1001, 0);

        assertThat(memory.vmap(0x1001, sg)).isEqualTo(0xffff_8880_0000_5000L);
        memory.vunmap(0xffff_8880_0000_5000L);
        memory.vunmap(0);
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
    }

    @Test
    @DisplayName("dma-core:FE-65 behind an IOMMU")
    void behindAnIommuItIsMappedTogether() {
        behindAnIommu();
        SgTable sg = alloc(0x2800, 0);
        long cpuAddr = memory.vmap(0x2800, sg);

        assertThat(cpuAddr).isEqualTo(VMALLOC);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0xfff)).isEqualTo(0x6fff);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x1000)).isEqualTo(0x2000);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x2fff)).isEqualTo(0x3fff);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x3000)).isEqualTo(-1L);
        memory.vunmap(cpuAddr);
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
        assertThatThrownBy(() -> memory.vunmap(cpuAddr)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void noMorePagesAreMappedThanTheSizeHas() {
        behindAnIommu();
        SgTable sg = alloc(0x2800, 0);

        memory.vmap(0x1001, sg);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x1fff)).isEqualTo(0x2fff);
        assertThat(world.machine.kernelMemory().physAddr(VMALLOC + 0x2000)).isEqualTo(-1L);
        assertThat(memory.mmap(new UserVma(3, 0), 1L << 40, sg).result())
                .as("nor than the list has")
                .isZero();
        assertThat(memory.mmap(new UserVma(4, 0), 1L << 40, sg).result()).isEqualTo(-6);
        assertThat(memory.mmap(new UserVma(1, 0), -1L, sg).result()).isEqualTo(-6);
    }

    @Test
    @DisplayName("dma-core:FE-65, FE-57")
    void itIsShownToAProcess() {
        SgTable pages = alloc(0x1001, 0);
        UserMapping one = memory.mmap(new UserVma(1, 1), 0x1001, pages);
        assertThat(one.physAddr(0)).isEqualTo(0x6000);
        assertThat(one.protection()).isEqualTo(PageProtection.CACHED);
        assertThat(memory.mmap(new UserVma(2, 1), 0x1001, pages).result()).isEqualTo(-6);

        behindAnIommu();
        UserMapping two = memory.mmap(new UserVma(2, 1), 0x2800, alloc(0x2800, 0));
        assertThat(two.physAddr(0)).isEqualTo(0x2000);
        assertThat(two.physAddr(1)).isEqualTo(0x3000);
        assertThat(two.protection()).isEqualTo(PageProtection.CACHED);
    }

    @Test
    void anEmptyTableIsRefused() {
        SgTable empty = new SgTable(1);
        for (Runnable use : new Runnable[] {
            () -> memory.free(1, empty, IN), () -> memory.vmap(1, empty), () -> memory.mmap(new UserVma(1, 0), 1, empty)
        }) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("an empty table is no noncontiguous memory");
        }
        assertThat(heard).isEmpty();
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    void aLengthOfMoreThan32BitsIsCutAsEntriesAre() { // SG-1
        SgTable sg = alloc(0x1_0000_1001L, 0);

        assertThat(sg.lengthBytes(0)).isEqualTo(0x2000);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x2000);
    }

    @Test
    void theLedgerKnowsItWhileItLives() {
        MappingLedger[] ledger = new MappingLedger[1];
        World told = World.make(World.builder().listener(clock -> ledger[0] = new MappingLedger(clock::nowNanos)));
        NoncontiguousMemory there = told.dma.memory().noncontiguous();
        SgTable sg = Objects.requireNonNull(there.alloc(0x1000, IN, 0, 0));

        assertThat(Objects.requireNonNull(ledger[0].nearestBelow(told.device, 0x9_5fff))
                        .kind())
                .isEqualTo(LiveRange.Kind.SG);
        there.free(0x1000, sg, IN);
        assertThat(ledger[0].liveCount()).isZero();
        told.dma.memory().allocPages(0x1001, IN, 0);
        LiveRange pages = Objects.requireNonNull(ledger[0].nearestBelow(told.device, 0x9_5fff));
        assertThat(pages.kind()).isEqualTo(LiveRange.Kind.PAGES);
        assertThat(pages.sizeBytes()).isEqualTo(0x1001);
        assertThat(pages.direction()).isEqualTo(IN);
        told.dma.memory().freePages(0x1001, 0x5000, 0x9_5000, IN);
        assertThat(ledger[0].liveCount()).isZero();
    }

    @Test
    void aTableOfMorePagesThanTheMachineHasIsRefused() {
        behindAnIommu();
        SgTable absurd = new SgTable(1);
        for (int i = 0; i < 0x100; i++) {
            absurd.add(0, 0xffff_f000L);
        }

        assertThatThrownBy(() -> memory.vmap(-1L << 12, absurd))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the table names 268435200 pages");
        assertThatThrownBy(() -> memory.mmap(new UserVma(1, 0), -1L << 12, absurd))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(world.machine.kernelMemory().vmapCount()).isZero();
        assertThat(memory.vmap(0x1000, absurd)).as("the size is what counts").isEqualTo(VMALLOC);
    }
}
