package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the checks of an IOVA domain find, and the ends of its sizes (iommu:IOVA-8, IOVA-24, IOVA-28, RC-1). */
class IovaStructureTest {
    private static final long LIMIT_32 = 0xfffff;

    private final Machine machine = Machine.builder().cpus(2).ramBytes(16 << 20).build();

    private IovaDomain domain(boolean cached) {
        return new IovaDomain(machine, 4096, 1, cached);
    }

    private static List<String> broken(IovaDomain iovas) {
        List<String> broken = new ArrayList<>();
        iovas.checkStructure("dom", broken::add);
        return broken;
    }

    @Test
    @DisplayName("iommu:RC-1: sizes up to 32 granules are cached in six classes")
    void sizesUpTo32AreCached() {
        IovaDomain iovas = domain(true);
        for (long size : new long[] {1, 2, 3, 4, 8, 16, 32, 33}) {
            long pfn = iovas.allocFast(0, size, LIMIT_32, true);
            iovas.freeFast(0, pfn, size);
            assertThat(iovas.cachedPfns().contains(pfn)).as("size %d", size).isEqualTo(size <= 32);
        }
        assertThat(iovas.cachedPfns()).as("4 takes what 3 gave").hasSize(6);
        assertThat(iovas.cache(0).loadedCount(0)).isEqualTo(1);
        assertThat(iovas.cache(2).loadedCount(0)).isEqualTo(1);
        assertThat(iovas.cache(5).loadedCount(0)).isEqualTo(1);
    }

    @Test
    @DisplayName("a domain without caches gives everything back to the tree at once")
    void domainWithoutCachesKeepsNothing() {
        IovaDomain iovas = domain(false);
        long pfn = iovas.allocFast(0, 3, LIMIT_32, true);
        assertThat(pfn).isEqualTo(0xffffc);
        assertThat(iovas.tree().hi(iovas.tree().first())).as("rounded").isEqualTo(0xfffff);
        iovas.freeFast(0, pfn, 3);
        assertThat(iovas.cachedPfns()).isEmpty();
        assertThat(iovas.tree().first()).isEqualTo(IovaTree.ANCHOR);
        assertThat(iovas.allocFast(1, 4, LIMIT_32, true)).isEqualTo(pfn);
    }

    @Test
    void granuleIsTheShift() {
        assertThat(domain(true).shift()).isEqualTo(12);
        assertThat(new IovaDomain(machine, 1024, 1, false).shift()).isEqualTo(10);
    }

    @Test
    @DisplayName("iommu:DMAP-9: a range given back as none goes into the smallest class")
    void rangeOfNoSizeIsOfTheSmallestClass() {
        IovaDomain iovas = domain(true);
        long pfn = iovas.allocFast(0, 2, LIMIT_32, true);
        iovas.freeFast(0, pfn, 0);
        assertThat(iovas.cache(0).loadedCount(0)).isEqualTo(1);
        assertThat(iovas.allocFast(0, 1, LIMIT_32, true)).isEqualTo(pfn);
    }

    @Test
    @DisplayName("iommu:IOVA-8, IOVA-10: sizes of the whole space and more than half of it align to nothing but 0")
    void sizeOfHalfTheSpaceFailsAboveTheStart() {
        IovaDomain iovas = domain(false);
        assertThat(iovas.alloc(Long.MIN_VALUE + 1, -2L, true)).isEqualTo(IovaDomain.NO_PFN);
        assertThat(iovas.alloc(Long.MIN_VALUE, -2L, true))
                .as("below its alignment")
                .isEqualTo(IovaDomain.NO_PFN);
        IovaTree fromZero = new IovaTree(4096, 0);
        int range = fromZero.alloc(Long.MIN_VALUE + 1, -2L, true);
        assertThat(fromZero.lo(range)).isZero();
        assertThat(fromZero.hi(range)).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void checkFindsRangesThatOverlap() {
        IovaDomain iovas = domain(false);
        iovas.alloc(4, LIMIT_32, true);
        iovas.alloc(4, LIMIT_32, true);
        assertThat(broken(iovas)).isEmpty();
        IovaTree tree = iovas.tree();
        int upper = tree.next(tree.first());
        tree.nodes().setLo(upper, tree.hi(tree.first()));
        assertThat(broken(iovas))
                .containsExactly("dom: IOVA range 0xffff8 to 0xffffb overlaps the next one, from 0xffffb");
    }

    @Test
    void checkFindsARangeThatEndsBeforeItBegins() {
        IovaDomain iovas = domain(false);
        iovas.alloc(4, LIMIT_32, true);
        IovaTree tree = iovas.tree();
        tree.nodes().setLo(tree.first(), 0x10_0000);
        assertThat(broken(iovas))
                .containsExactly(
                        "dom: the IOVA tree and its order disagree",
                        "dom: IOVA range 0x100000 to 0xfffff overlaps the next one, from 0xffffffffffffffff");
    }

    @Test
    void checkFindsACachedPfnInsideARange() {
        IovaDomain iovas = domain(true);
        long pfn = iovas.allocFast(0, 4, LIMIT_32, true);
        iovas.freeFast(0, pfn + 1, 1);
        assertThat(broken(iovas)).containsExactly("dom: cached pfn 0xffffd starts no taken range");
    }

    @Test
    @DisplayName("iommu:RC-16, IOVA-27: the depot's ranges go back after those of the CPUs")
    void depotGoesBackToo() {
        IovaDomain iovas = new IovaDomain(machine, 4096, 1, true, 2);
        long[] pfns = new long[7];
        for (int i = 0; i < pfns.length; i++) {
            pfns[i] = iovas.allocFast(0, 1, LIMIT_32, true);
        }
        for (long pfn : pfns) {
            iovas.freeFast(0, pfn, 1);
        }
        assertThat(iovas.cache(0).depotSize()).isEqualTo(2);
        assertThat(iovas.cachedPfns()).hasSize(7);
        iovas.releaseCaches();
        assertThat(iovas.cache(0).depotSize()).isZero();
        assertThat(iovas.cachedPfns()).isEmpty();
        assertThat(iovas.tree().first()).isEqualTo(IovaTree.ANCHOR);
        assertThat(machine.log().warnCount()).isZero();
    }
}
