package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The caches in front of the tree: the worked examples, and what runs on other CPUs and later. */
class IovaDomainTest {
    private static final long LIMIT_32 = 0xfffff;
    private static final long MILLISECOND = 1_000_000;

    private final Machine machine = Machine.builder().cpus(2).ramBytes(16 << 20).build();
    private IovaDomain iovas = domain(1);

    private IovaDomain domain(long startPfn) {
        return new IovaDomain(machine, 4096, startPfn, true);
    }

    @AfterEach
    void structureIsSound() {
        List<String> violations = new ArrayList<>();
        iovas.checkStructure("domain", violations::add);
        assertThat(violations).isEmpty();
        machine.close();
    }

    private long alloc(long size) {
        return alloc(size, LIMIT_32);
    }

    private long alloc(long size, long limitPfn) {
        return iovas.allocFast(0, size, limitPfn, true);
    }

    private long[] allocEach(long... sizes) {
        return LongStream.of(sizes).map(this::alloc).toArray();
    }

    private void free(long pfn, long size) {
        iovas.freeFast(0, pfn, size);
    }

    private int ranges() {
        int count = 0;
        for (int range = iovas.tree().first();
                range != IovaTree.ANCHOR;
                range = iovas.tree().next(range)) {
            count++;
        }
        return count;
    }

    @Test
    @DisplayName("iommu 1.6-B: sizes below 32 are rounded, freed ones come back from the cache, the newest first")
    void exampleB() {
        assertThat(allocEach(1, 3, 5, 32, 33, 1)).containsExactly(0xfffff, 0xffff8, 0xffff0, 0xfffc0, 0xfff80, 0xfff7f);
        free(0xffff8, 3);
        free(0xffff0, 5);
        free(0xfffc0, 32);
        free(0xfff80, 33);
        free(0xfffff, 1);
        free(0xfff7f, 1);
        assertThat(ranges()).isEqualTo(5);
        assertThat(iovas.tree().find(0xfff80)).isEqualTo(IovaTree.NONE);
        assertThat(allocEach(2, 4, 6, 1, 1, 1, 17))
                .containsExactly(0xfffbe, 0xffff8, 0xffff0, 0xfff7f, 0xfffff, 0xfffbd, 0xfffc0);
    }

    @Test
    @DisplayName("iommu 1.6-J: what all CPUs cached is returned before a request fails, if the caller says so")
    void exampleJ() {
        iovas = domain(0xffff8);
        long[] pfns = allocEach(1, 1, 1, 1, 1, 1, 1, 1);
        for (int i = 0; i < pfns.length; i++) {
            iovas.freeFast(i % 2, pfns[i], 1);
        }
        assertThat(iovas.allocFast(0, 8, LIMIT_32, false)).isZero();
        assertThat(iovas.tree().max32AllocSize()).isEqualTo(8);
        assertThat(iovas.allocFast(0, 8, LIMIT_32, true)).isEqualTo(0xffff8);
        assertThat(iovas.tree().max32AllocSize()).isEqualTo(0x100000);
    }

    @Test
    @DisplayName("iommu:RC-12: a cached pfn above the limit is passed over and moves nowhere but into the hole")
    void cachedPfnsAboveTheLimitStay() {
        assertThat(alloc(1)).isEqualTo(0xfffff);
        assertThat(alloc(1, 0x1fffff)).isEqualTo(0x1fffff);
        assertThat(alloc(1, 0x1fffff)).isEqualTo(0x1ffffe);
        free(0xfffff, 1);
        free(0x1fffff, 1);
        free(0x1ffffe, 1);
        assertThat(allocEach(1, 1)).containsExactly(0xfffff, 0xffffe);
        assertThat(alloc(1, 0x1fffff)).isEqualTo(0x1fffff);
        assertThat(alloc(1, 0x1fffff)).isEqualTo(0x1ffffe);
    }

    @Test
    @DisplayName("iommu:RC-13: a limit smaller than the size lets any cached pfn pass")
    void limitBelowTheSizeLetsAnyCachedPfnPass() {
        free(alloc(32), 32);
        assertThat(alloc(32, 0xa)).isEqualTo(0xfffe0);
    }

    @Test
    @DisplayName("iommu:RC-18: magazines fill, go to the depot and come back in that order")
    void magazinesGoThroughTheDepot() {
        for (int i = 0; i < 520; i++) {
            assertThat(alloc(1)).isEqualTo(0xfffff - i);
        }
        IovaRcache cache = iovas.cache(0);
        for (int i = 1; i <= 520; i++) {
            free(0x100000 - i, 1);
            switch (i) {
                case 127 -> assertMagazines(cache, 127, 0, 0);
                case 128 -> assertMagazines(cache, 1, 127, 0);
                case 254 -> assertMagazines(cache, 127, 127, 0);
                case 255 -> assertMagazines(cache, 1, 127, 1);
                case 382 -> assertMagazines(cache, 1, 127, 2);
                case 509 -> assertMagazines(cache, 1, 127, 3);
                case 520 -> assertMagazines(cache, 12, 127, 3);
                default -> {}
            }
        }
        long[] again = new long[521];
        int[] depot = new int[521];
        for (int i = 1; i <= 520; i++) {
            again[i] = alloc(1);
            depot[i] = cache.depotSize();
        }
        assertThat(List.of(
                        again[1],
                        again[12],
                        again[13],
                        again[139],
                        again[140],
                        again[266],
                        again[267],
                        again[394],
                        again[520]))
                .containsExactly(
                        0xffdf8L, 0xffe03L, 0xfff81L, 0xfffffL, 0xffe04L, 0xffe82L, 0xffe83L, 0xfff02L, 0xfff80L);
        assertThat(List.of(depot[139], depot[140], depot[267], depot[394])).containsExactly(3, 2, 1, 0);
    }

    private static void assertMagazines(IovaRcache cache, int loaded, int prev, int depot) {
        assertThat(List.of(cache.loadedCount(0), cache.prevCount(0), cache.depotSize()))
                .containsExactly(loaded, prev, depot);
    }

    private void fillDepot(int magazines) {
        int count = 127 * (magazines + 2);
        long[] pfns = new long[count];
        for (int i = 0; i < count; i++) {
            pfns[i] = alloc(1);
        }
        for (long pfn : pfns) {
            free(pfn, 1);
        }
    }

    @Test
    @DisplayName("iommu:RC-14: the trim work takes one magazine each 100 ms while there are more than CPUs")
    void trimWorkTakesOneMagazineARun() {
        fillDepot(4);
        IovaRcache cache = iovas.cache(0);
        int taken = ranges();
        assertThat(cache.depotSize()).isEqualTo(4);
        machine.clock().advance(99 * MILLISECOND);
        assertThat(cache.depotSize()).isEqualTo(4);
        machine.clock().advance(MILLISECOND);
        assertThat(cache.depotSize()).isEqualTo(3);
        assertThat(ranges()).isEqualTo(taken - 127);
        machine.clock().advance(100 * MILLISECOND);
        assertThat(cache.depotSize()).isEqualTo(2);
        machine.clock().advance(1000 * MILLISECOND);
        assertThat(cache.depotSize()).isEqualTo(2);
        assertThat(machine.clock().armedTimers()).isZero();
    }

    @Test
    @DisplayName("iommu:RC-5: without memory for a magazine the pfn goes to the tree")
    void freeWithoutAMagazineGoesToTheTree() {
        long[] pfns = new long[255];
        for (int i = 0; i < 255; i++) {
            pfns[i] = alloc(1);
        }
        machine.failures().failNth("iommu.magazine", 1);
        for (long pfn : pfns) {
            free(pfn, 1);
        }
        assertThat(machine.failures().failedAt()).isEqualTo("iommu.magazine");
        assertMagazines(iovas.cache(0), 127, 127, 0);
        assertThat(ranges()).isEqualTo(254);
    }

    @Test
    @DisplayName("iommu:RC-10: a magazine fetched for a request that finds nothing in it stays")
    void magazineThatHeldNothingStaysLoaded() {
        long high = iovas.allocFast(0, 1, 0x1fffff, true);
        for (int i = 0; i < 127; i++) {
            alloc(1);
        }
        free(high, 1);
        for (int i = 0; i < 126; i++) {
            free(0xfffff - i, 1);
        }
        free(0xfffff - 126, 1);
        assertMagazines(iovas.cache(0), 1, 127, 0);
        assertThat(alloc(1)).isEqualTo(0xfffff - 126);
        for (int i = 0; i < 126; i++) {
            assertThat(alloc(1)).isNotEqualTo(high);
        }
        assertThat(alloc(1)).isEqualTo(0xfffff - 127);
        assertMagazines(iovas.cache(0), 1, 0, 0);
    }

    @Test
    @DisplayName("iommu:RC-4: each CPU has its own cache")
    void cachesOfCpusAreApart() {
        free(alloc(1), 1);
        assertThat(iovas.allocFast(1, 1, LIMIT_32, true)).isEqualTo(0xffffe);
        assertThat(iovas.allocFast(0, 1, LIMIT_32, true)).isEqualTo(0xfffff);
    }

    @Test
    @DisplayName("iommu:RC-17: returning a pfn that is in no range warns and goes on")
    void cachedPfnOfNoRangeIsReported() {
        free(0x1234, 1);
        iovas.releaseCaches();
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThat(machine.log().entries().get(0).text()).contains("0x1234");
    }

    @Test
    @DisplayName("iommu:IOVA-20: reserving beyond 64 bits of address warns")
    void reservingBeyondTheAddressSpaceWarns() {
        assertThat(iovas.reserve(0, 1L << 52)).isFalse();
        assertThat(machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    void structureCheckFindsAPfnThatIsCachedTwice() {
        long pfn = alloc(1);
        free(pfn, 1);
        free(pfn, 1);
        List<String> violations = new ArrayList<>();
        iovas.checkStructure("domain", violations::add);
        assertThat(violations).containsExactly("domain: pfn 0xfffff is cached twice");
        alloc(1);
    }

    @Test
    void structureCheckFindsACachedPfnThatIsNotTaken() {
        free(0x77, 1);
        List<String> violations = new ArrayList<>();
        iovas.checkStructure("domain", violations::add);
        assertThat(violations).containsExactly("domain: cached pfn 0x77 starts no taken range");
        iovas.releaseCaches();
    }

    @Test
    @DisplayName("iommu:IOVA-15: only a range that leaves the tree opens 32-bit space again, not one that is cached")
    void cachedRangesDoNotOpen32BitSpace() {
        iovas = domain(0xffff8);
        long[] pfns = allocEach(1, 1, 1, 1, 1, 1, 1, 1);
        assertThat(iovas.allocFast(0, 1, LIMIT_32, false)).isZero();
        assertThat(iovas.tree().max32AllocSize()).isEqualTo(1);
        free(pfns[0], 1);
        assertThat(iovas.tree().max32AllocSize()).isEqualTo(1);
        assertThat(iovas.allocFast(1, 1, LIMIT_32, false)).as("another CPU").isZero();
        assertThat(iovas.allocFast(1, 1, LIMIT_32, true)).isEqualTo(pfns[0]);
        assertThat(iovas.tree().max32AllocSize()).isEqualTo(0x100000);
    }

    @Test
    @DisplayName("iommu:IOVA-24: 32 and 33 granules are not rounded, 31 are")
    void sizesBelow32AreRounded() {
        long rounded = alloc(31);
        long exact = alloc(33);
        int range = iovas.tree().find(rounded);
        assertThat(iovas.tree().hi(range) - iovas.tree().lo(range) + 1).isEqualTo(32);
        range = iovas.tree().find(exact);
        assertThat(iovas.tree().hi(range) - iovas.tree().lo(range) + 1).isEqualTo(33);
        assertThat(exact % 64).isZero();
    }

    @Test
    @DisplayName("iommu:RC-13: a limit just below the size wraps, one that equals it does not")
    void boundWrapsOnlyBelowTheSize() {
        long pfn = alloc(32);
        free(pfn, 32);
        assertThat(iovas.allocFast(0, 32, 0x1f, false))
                .as("bound 0: pfn 0 only")
                .isZero();
        assertThat(iovas.allocFast(0, 32, 0x1e, false)).as("bound wraps").isEqualTo(pfn);
    }

    @Test
    @DisplayName("iommu:RC-9: the magazine chosen is the only one searched")
    void otherMagazinesAreNotSearched() {
        iovas = new IovaDomain(machine, 4096, 1, true, 1);
        long low = alloc(1, 0xff);
        long high = alloc(1, 0x1fffff);
        free(low, 1);
        free(high, 1);
        assertThat(iovas.cache(0).loadedCount(0)).isEqualTo(1);
        assertThat(iovas.cache(0).prevCount(0)).isEqualTo(1);
        assertThat(alloc(1, 0xff)).as("low stays in prev").isNotEqualTo(low);
        assertThat(alloc(1, 0x1fffff)).isEqualTo(high);
        assertThat(alloc(1, 0xff)).isEqualTo(low);
    }

    @Test
    @DisplayName("iommu:IOVA-23, RC-19: a closed domain trims nothing any more")
    void closedDomainTrimsNothing() {
        iovas = new IovaDomain(machine, 4096, 1, true, 1);
        long[] pfns = allocEach(1, 1, 1, 1, 1, 1);
        for (long pfn : pfns) {
            free(pfn, 1);
        }
        assertThat(iovas.cache(0).depotSize()).isEqualTo(4);
        iovas.close();
        machine.clock().advance(1000 * MILLISECOND);
        assertThat(iovas.cache(0).depotSize()).isEqualTo(4);
    }
}
