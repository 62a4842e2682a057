package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** The chosen page size is the largest that shows every byte where it is; blocks rebuild the range (rdma:PGSZ, BLK). */
class PageSizesProperties {
    private static final int PAGE = 0x1000;
    private static final long ALL_SIZES = -PAGE;

    /** A region over segments of whole pages, some of which continue the one before. */
    record Case(long userAddr, long virtAddr, long length, long pageSizes, List<long[]> segments) {
        UmemRegion region() {
            SgTable sg = new SgTable(1);
            for (long[] segment : segments) {
                sg.add(0, segment[1]);
                sg.setDma(sg.entries() - 1, segment[0], segment[1]);
            }
            sg.mapped(segments.size());
            return new UmemRegion(sg, userAddr, length);
        }

        @Override
        public String toString() {
            StringBuilder text = new StringBuilder(
                    String.format("at 0x%x for 0x%x+0x%x sizes 0x%x:", userAddr, virtAddr, length, pageSizes));
            segments.forEach(s -> text.append(String.format(" 0x%x+0x%x", s[0], s[1])));
            return text.toString();
        }
    }

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> pages = Arbitraries.of(1, 2, 3, 4, 8, 16);
        Arbitrary<Long> starts = Arbitraries.of(1L, 2L, 3L, 4L, 6L, 8L, 16L, 24L, 32L, 64L, 100L, 128L, 512L);
        Arbitrary<List<Long>> jumps = Arbitraries.oneOf(Arbitraries.just(0L), starts)
                .list()
                .ofMinSize(1)
                .ofMaxSize(5);
        Arbitrary<Long> inPage = Arbitraries.of(0L, 0L, 1L, 0x200L, 0x800L, 0xfffL);
        Arbitrary<Long> virtPage = Arbitraries.of(0L, 1L, 2L, 4L, 8L, 16L, 32L, 64L, 128L, 512L);
        Arbitrary<Long> sizes = Arbitraries.of(ALL_SIZES, 0x4020_1000L, 0x1000L, 0x7000L, 0x8000L, 0x1_1000L);
        Arbitrary<Long> cut = Arbitraries.of(0L, 1L, 0x801L, 0xfffL);
        return Combinators.combine(pages.list().ofSize(5), jumps, inPage, virtPage, sizes, cut)
                .as(PageSizesProperties::make);
    }

    private static Case make(
            List<Integer> pages, List<Long> jumps, long inPage, long virtPage, long pageSizes, long cut) {
        List<long[]> segments = new ArrayList<>();
        long next = 0x10_0000;
        long total = 0;
        for (int i = 0; i < jumps.size(); i++) {
            long start = next + jumps.get(i) * PAGE;
            long bytes = (long) pages.get(i) * PAGE;
            segments.add(new long[] {start, bytes});
            next = start + bytes;
            total += bytes;
        }
        long length = Math.max(1, total - inPage - cut);
        return new Case(0x7000_0000L + inPage, 0x4000_0000L + virtPage * PAGE + inPage, length, pageSizes, segments);
    }

    /** The DMA address of each byte of a region's pages that lies in the region, by page: what a table has to show. */
    private static long dmaAddr(Case c, long offset) {
        long left = offset + (c.userAddr & (PAGE - 1));
        for (long[] segment : c.segments) {
            if (left < segment[1]) {
                return segment[0] + left;
            }
            left -= segment[1];
        }
        throw new AssertionError("offset " + offset + " is outside " + c);
    }

    /**
     * Whether blocks of a size can show the region: each byte has the same low bits in both addresses, and all bytes of
     * a block keep their distance.
     */
    private static boolean works(Case c, long size) {
        long distance = 0;
        long block = -1;
        for (long offset = 0; offset < c.length; offset += PAGE - ((c.virtAddr + offset) & (PAGE - 1))) {
            long virt = c.virtAddr + offset;
            long here = dmaAddr(c, offset) - virt;
            boolean sameBlock = virt / size == block;
            if ((here & (size - 1)) != 0 || (sameBlock && here != distance)) {
                return false;
            }
            block = virt / size;
            distance = here;
        }
        return true;
    }

    /**
     * Any size that works and is not needlessly large is found: the least that holds everything is the largest tried.
     */
    private static long bruteForce(Case c) {
        long best = 0;
        for (int bit = 12; bit < 40; bit++) {
            long size = 1L << bit;
            if ((c.pageSizes & size) != 0 && works(c, size)) {
                best = size;
                if (c.virtAddr / size == (c.virtAddr + c.length - 1) / size) {
                    return best;
                }
            }
        }
        return best;
    }

    @Property(tries = 3000)
    void theChosenSizeIsTheLargestThatWorks(@ForAll("cases") Case c) {
        UmemRegion region = c.region();
        long size = region.findBestPgsz(c.pageSizes, c.virtAddr);

        Statistics.collect(size == 0 ? "none" : size == PAGE ? "page" : "larger");
        if (size != 0) {
            assertThat(works(c, size)).as("0x%x works", size).isTrue();
        }
        assertThat(size).isEqualTo(bruteForce(c));
    }

    @Property(tries = 2000)
    void byTheOldRuleTheSizeWorksTooAndIsNeverLarger(@ForAll("cases") Case c) {
        long old = c.region().findBestPgsz(c.pageSizes, c.virtAddr, PageSizes.Rule.WHERE_SEGMENTS_END);

        assertThat(old == 0 || works(c, old)).isTrue();
        assertThat(old).isLessThanOrEqualTo(c.region().findBestPgsz(c.pageSizes, c.virtAddr));
    }

    /** A table of the blocks, indexed as a device does, leads from every byte to where it is (rdma:BLK-1 to BLK-5). */
    @Property(tries = 2000)
    void blocksRebuildTheRange(@ForAll("cases") Case c) {
        UmemRegion region = c.region();
        long size = region.findBestPgsz(c.pageSizes, c.virtAddr);
        if (size == 0) {
            return;
        }
        List<Long> blocks = new ArrayList<>();
        for (BlockIterator i = new BlockIterator().start(region, size); i.next(); ) {
            blocks.add(i.dmaAddr());
        }

        assertThat(blocks).hasSize((int) region.numDmaBlocks(size));
        long inFirst = region.dmaOffset(size);
        for (long offset = 0; offset < c.length; offset += 0x3ff) {
            long at = inFirst + offset;
            assertThat(blocks.get((int) (at / size)) + at % size).isEqualTo(dmaAddr(c, offset));
        }
    }

    /** Over a bare list, the blocks of a page's size are its pages in order, by both rules. */
    @Property
    void blocksOfPagesAreThePages(@ForAll("cases") Case c, @ForAll BlockIterator.Rule rule) {
        SgTable sg = c.region().table();
        List<Long> pages = new ArrayList<>();
        c.segments.forEach(s -> {
            for (long page = s[0]; page < s[0] + s[1]; page += PAGE) {
                pages.add(page);
            }
        });
        List<Long> blocks = new ArrayList<>();
        for (BlockIterator i = new BlockIterator(rule).start(sg, sg.nents(), PAGE); i.next(); ) {
            blocks.add(i.dmaAddr());
        }

        assertThat(blocks).isEqualTo(pages);
    }

    /** The old rule yields the same blocks in the same order, some of them again. */
    @Property
    void theOldRuleOnlyRepeats(@ForAll("cases") Case c) {
        UmemRegion region = c.region();
        long size = region.findBestPgsz(c.pageSizes, c.virtAddr);
        if (size == 0) {
            return;
        }
        SgTable sg = region.table();
        Set<Long> now = new LinkedHashSet<>();
        for (BlockIterator i = new BlockIterator().start(sg, sg.nents(), size); i.next(); ) {
            assertThat(now.add(i.dmaAddr())).isTrue();
        }
        Set<Long> before = new LinkedHashSet<>();
        for (BlockIterator i = new BlockIterator(BlockIterator.Rule.ONE_SEGMENT_A_STEP).start(sg, sg.nents(), size);
                i.next(); ) {
            before.add(i.dmaAddr());
        }

        assertThat(List.copyOf(before)).isEqualTo(List.copyOf(now));
    }
}
