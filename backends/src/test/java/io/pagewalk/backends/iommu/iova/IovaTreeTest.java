package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.KernelBugException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The worked examples of the range tree, which say exactly what comes out, and its corners. */
class IovaTreeTest {
    private static final long GRANULE = 4096;
    private static final long LIMIT_32 = 0xfffff;
    private static final long NO_PFN = -1L;

    private static IovaTree tree(long startPfn) {
        return new IovaTree(GRANULE, startPfn);
    }

    private static long alloc(IovaTree tree, long size, long limitPfn) {
        return alloc(tree, size, limitPfn, true);
    }

    private static long alloc(IovaTree tree, long size, long limitPfn, boolean sizeAligned) {
        int range = tree.alloc(size, limitPfn, sizeAligned);
        return range == IovaTree.NONE ? NO_PFN : tree.lo(range);
    }

    private static long[] allocEach(IovaTree tree, long limitPfn, long... sizes) {
        return LongStream.of(sizes).map(size -> alloc(tree, size, limitPfn)).toArray();
    }

    private static List<String> ranges(IovaTree tree) {
        List<String> all = new ArrayList<>();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            all.add(String.format("%x-%x", tree.lo(range), tree.hi(range)));
        }
        return all;
    }

    @Test
    @DisplayName("iommu 1.6-A: from the top, aligned to the size; a freed range moves the pointer up")
    void exampleA() {
        IovaTree tree = tree(1);
        assertThat(allocEach(tree, LIMIT_32, 1, 1, 3, 4, 1))
                .containsExactly(0xfffff, 0xffffe, 0xffff8, 0xffff4, 0xffff3);
        assertThat(alloc(tree, 3, LIMIT_32, false)).isEqualTo(0xffff0);
        assertThat(ranges(tree)).contains("ffff8-ffffa", "ffff0-ffff2");
        tree.free(0xffffe);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xfffff);
        assertThat(allocEach(tree, LIMIT_32, 1, 1)).containsExactly(0xffffe, 0xffffd);
    }

    @Test
    @DisplayName("iommu 1.6-C: sizes that are no power of two leave the rest of their alignment free")
    void exampleC() {
        IovaTree tree = tree(1);
        allocEach(tree, LIMIT_32, 0x101, 0x101, 0x80);
        assertThat(ranges(tree)).containsExactly("ffb80-ffbff", "ffc00-ffd00", "ffe00-fff00");
    }

    @Test
    @DisplayName("iommu 1.6-D: holes above the pointer are not looked at (IOVA-17)")
    void exampleD() {
        IovaTree tree = tree(1);
        assertThat(allocEach(tree, LIMIT_32, 4, 4, 4, 4, 4, 4))
                .containsExactly(0xffffc, 0xffff8, 0xffff4, 0xffff0, 0xfffec, 0xfffe8);
        tree.free(0xfffec);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xffff0);
        tree.free(0xffff8);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xffffc);
        assertThat(allocEach(tree, LIMIT_32, 8, 8, 8)).containsExactly(0xfffe0, 0xfffd8, 0xfffd0);
        assertThat(allocEach(tree, LIMIT_32, 4, 4, 4)).containsExactly(0xfffcc, 0xfffc8, 0xfffc4);
    }

    @Test
    @DisplayName("iommu 1.6-E: a size that failed is refused at once until a range below 4 GiB is removed")
    void exampleE() {
        IovaTree tree = tree(0xfff00);
        assertThat(allocEach(tree, LIMIT_32, 0x40, 0x40, 0x40)).containsExactly(0xfffc0, 0xfff80, 0xfff40);
        assertThat(alloc(tree, 0x41, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(0x41);
        assertThat(alloc(tree, 0x40, LIMIT_32)).isEqualTo(0xfff00);
        assertThat(tree.max32AllocSize()).isEqualTo(0x41);
        assertThat(alloc(tree, 0x40, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(0x40);
        assertThat(alloc(tree, 0x20, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(alloc(tree, 0x40, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(0x20);
        assertThat(alloc(tree, 0x10, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(0x10);
        tree.free(0xfff80);
        assertThat(tree.max32AllocSize()).isEqualTo(0x100000);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xfffc0);
        assertThat(alloc(tree, 0x40, LIMIT_32)).isEqualTo(0xfff80);
    }

    @Test
    @DisplayName("iommu 1.6-F: a search that fails below the pointer is retried once above it (IOVA-12)")
    void exampleF() {
        IovaTree tree = tree(0xffff0);
        assertThat(allocEach(tree, LIMIT_32, 4, 4, 4)).containsExactly(0xffffc, 0xffff8, 0xffff4);
        tree.free(0xffffc);
        assertThat(tree.cached32Range()).isEqualTo(IovaTree.ANCHOR);
        assertThat(alloc(tree, 8, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(8);
        assertThat(allocEach(tree, LIMIT_32, 4, 4)).containsExactly(0xffffc, 0xffff0);
    }

    @Test
    @DisplayName("iommu 1.6-G: a low limit pulls the 32-bit pointer down for all 32-bit requests")
    void exampleG() {
        IovaTree tree = tree(1);
        long[] limits = {0x7fff, LIMIT_32, 0x7fff, 0xfffffffffL, 0x1fffff, LIMIT_32};
        assertThat(LongStream.of(limits).map(limit -> alloc(tree, 1, limit)).toArray())
                .containsExactly(0x7fff, 0x7ffe, 0x7ffd, 0xfffffffffL, 0x1fffff, 0x7ffc);
    }

    @Test
    @DisplayName("iommu 1.6-H: the reserved windows of a PC")
    void exampleH() {
        IovaTree tree = tree(1);
        tree.reserve(0xa0, 0xbf);
        tree.reserve(0xc0000, 0xfebff);
        tree.reserve(0xfee00, 0xfeeff);
        assertThat(allocEach(tree, LIMIT_32, 1, 1, 1, 0x1000, 0x100, 0x20000, 0x200, 1))
                .containsExactly(0xfffff, 0xffffe, 0xffffd, 0xbf000, 0xbef00, 0x80000, 0x7fe00, 0x7fdff);
    }

    @Test
    @DisplayName("iommu 1.6-I: a granule smaller than a page")
    void exampleI() {
        IovaTree tree = new IovaTree(512, 8);
        assertThat(tree.dma32Pfn()).isEqualTo(0x800000);
        assertThat(allocEach(tree, 0x7fffff, 8, 3)).containsExactly(0x7ffff8, 0x7ffff4);
        assertThat(ranges(tree)).containsExactly("7ffff4-7ffff6", "7ffff8-7fffff");
    }

    @Test
    @DisplayName("iommu:IOVA-2: a granule must be a power of two up to a page")
    void granuleThatIsNoPowerOfTwoUpToAPageIsABug() {
        assertThatThrownBy(() -> new IovaTree(8192, 1))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("0x2000");
        assertThatThrownBy(() -> new IovaTree(1536, 1)).isInstanceOf(KernelBugException.class);
        assertThatThrownBy(() -> new IovaTree(0, 1)).isInstanceOf(KernelBugException.class);
    }

    @Test
    @DisplayName("iommu:IOVA-5: the inclusive limit 0xfffff uses the 32-bit pointer, 0x100000 the other")
    void onlyLimitsBelow4GibUseThe32BitPointer() {
        IovaTree tree = tree(1);
        assertThat(alloc(tree, 1, 0x100000)).isEqualTo(0x100000);
        assertThat(tree.cached32Range()).isEqualTo(IovaTree.ANCHOR);
        assertThat(alloc(tree, 1, LIMIT_32)).isEqualTo(0xfffff);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xfffff);
        assertThat(tree.lo(tree.cachedRange())).isEqualTo(0x100000);
    }

    @Test
    @DisplayName("iommu:IOVA-14: a failing request above 4 GiB raises max32AllocSize")
    void failureOfALargeRequestRaisesWhatASmallOneLowered() {
        IovaTree tree = tree(0xffff0);
        tree.reserve(0xffff0, 0xfffff);
        assertThat(alloc(tree, 1, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(1);
        assertThat(alloc(tree, 0x20000, 0x10ffff)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(0x20000);
    }

    @Test
    @DisplayName("iommu:IOVA-14: one request that can never fit shuts 32-bit space")
    void requestBelowTheStartShutsAllOf32BitSpace() {
        IovaTree tree = tree(1);
        assertThat(alloc(tree, 1, 0)).isEqualTo(NO_PFN);
        assertThat(alloc(tree, 1, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(alloc(tree, 1, LIMIT_32 + 1)).isEqualTo(LIMIT_32 + 1);
    }

    @Test
    @DisplayName("iommu:IOVA-18: a range is freed by any of its pfns; an unknown one is ignored")
    void freeTakesAnyPfnOfARange() {
        IovaTree tree = tree(1);
        alloc(tree, 8, LIMIT_32);
        tree.free(0xfffff - 8);
        assertThat(ranges(tree)).hasSize(1);
        tree.free(0xffffb);
        assertThat(ranges(tree)).isEmpty();
    }

    @Test
    @DisplayName("iommu:IOVA-20, IOVA-21: overlapping reservations become abutting ranges")
    void overlappingReservationsAreCutNotMerged() {
        IovaTree tree = tree(1);
        tree.reserve(0x100, 0x1ff);
        tree.reserve(0x180, 0x27f);
        assertThat(ranges(tree)).containsExactly("100-1ff", "200-27f");
        tree.reserve(0x80, 0x300);
        assertThat(ranges(tree)).containsExactly("80-1ff", "200-27f", "280-300");
        int range = tree.reserve(0x120, 0x130);
        assertThat(tree.lo(range)).isEqualTo(0x80);
        assertThat(ranges(tree)).containsExactly("80-1ff", "200-27f", "280-300");
    }

    @Test
    @DisplayName("iommu:IOVA-20: a reservation beyond 64 bits of address is refused")
    void reservationBeyondTheAddressSpaceIsRefused() {
        IovaTree tree = tree(1);
        assertThat(tree.reserve(1, -1L >>> 12)).isNotEqualTo(IovaTree.NONE);
        assertThat(tree.reserve(1, (-1L >>> 12) + 1)).isEqualTo(IovaTree.NONE);
    }

    @Test
    @DisplayName("iommu:IOVA-22: reserving moves no pointer and leaves max32AllocSize")
    void reservingMovesNoPointer() {
        IovaTree tree = tree(0xffff0);
        alloc(tree, 1, LIMIT_32);
        alloc(tree, 0x20, LIMIT_32);
        tree.reserve(0xffff0, 0xffff3);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(0xfffff);
        assertThat(tree.max32AllocSize()).isEqualTo(0x20);
    }

    @Test
    @DisplayName("removed ranges are remembered until their place is used again")
    void removedRangesAreRemembered() {
        IovaTree tree = tree(1);
        alloc(tree, 4, LIMIT_32);
        alloc(tree, 1, LIMIT_32);
        tree.free(0xffffc);
        List<String> remembered = new ArrayList<>();
        tree.forEachRemembered((lo, hi) -> remembered.add(String.format("%x-%x", lo, hi)));
        assertThat(remembered).containsExactly("ffffc-fffff");
    }

    @Test
    @DisplayName("iommu:IOVA-7 (b): a range that lies across 4 GiB resets max32AllocSize and leaves the 32-bit pointer")
    void rangeAcross4GibOpens32BitSpace() {
        IovaTree tree = tree(0xffff0);
        assertThat(alloc(tree, 0x18, 0x100007, false)).isEqualTo(0xffff0);
        assertThat(ranges(tree)).containsExactly("ffff0-100007");
        assertThat(tree.lo(tree.cachedRange())).as("IOVA-6: not below 4 GiB").isEqualTo(0xffff0);
        assertThat(tree.cached32Range()).isEqualTo(IovaTree.ANCHOR);
        assertThat(alloc(tree, 1, LIMIT_32)).isEqualTo(NO_PFN);
        assertThat(tree.max32AllocSize()).isEqualTo(1);
        tree.free(0x100000);
        assertThat(tree.max32AllocSize()).isEqualTo(0x100000);
        assertThat(tree.cached32Range()).isEqualTo(IovaTree.ANCHOR);
        assertThat(tree.cachedRange()).isEqualTo(IovaTree.ANCHOR);
        assertThat(alloc(tree, 1, LIMIT_32)).isEqualTo(0xfffff);
    }

    @Test
    @DisplayName("iommu:IOVA-7 (b): a range that begins at 4 GiB does not")
    void rangeAt4GibDoesNotOpen32BitSpace() {
        IovaTree tree = tree(0xfffff);
        assertThat(allocEach(tree, LIMIT_32, 1, 1)).containsExactly(0xfffff, NO_PFN);
        assertThat(alloc(tree, 1, 0x100000)).isEqualTo(0x100000);
        tree.free(0x100000);
        assertThat(tree.max32AllocSize()).isEqualTo(1);
        tree.free(0xfffff);
        assertThat(tree.max32AllocSize()).isEqualTo(0x100000);
    }

    @Test
    @DisplayName("iommu:IOVA-13, QK-2: a size above its limit wraps, ends the walk at once and fails")
    void sizeAboveItsLimitFails() {
        IovaTree tree = tree(1);
        assertThat(alloc(tree, 0x20, 0xf)).isEqualTo(NO_PFN);
        assertThat(alloc(tree, 0x200000, 0x10ffff)).isEqualTo(NO_PFN);
        assertThat(ranges(tree)).isEmpty();
    }

    @Test
    @DisplayName("iommu:IOVA-4, IOVA-29: the start is the lowest pfn given")
    void startIsTheLowestPfn() {
        IovaTree tree = tree(3);
        assertThat(allocEach(tree, 5, 1, 1, 1, 1)).containsExactly(5, 4, 3, NO_PFN);
    }
}
