package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Blocks of mapped lists (rdma:BLK-1 to BLK-5). */
class BlockIteratorTest {
    private static final SgTable THREE_RUNS =
            Lists.mapped(0x4000_0000, 0x10_0000, 0x4010_0000, 0x18_0000, 0x4028_0000, 0x18_0000);

    private static List<Long> blocks(BlockIterator blocks) {
        List<Long> all = new ArrayList<>();
        while (blocks.next()) {
            all.add(blocks.dmaAddr());
        }
        return all;
    }

    private static List<Long> blocks(SgTable sg, long pageSize) {
        return blocks(new BlockIterator().start(sg, sg.nents(), pageSize));
    }

    @Test
    @DisplayName("rdma:BLK-2: each segment is cut into aligned blocks")
    void segmentsAreCutIntoBlocks() {
        assertThat(blocks(Lists.mapped(0x5_0000, 0x3000, 0x9_0000, 0x1000), 0x1000))
                .containsExactly(0x5_0000L, 0x5_1000L, 0x5_2000L, 0x9_0000L);
    }

    @Test
    @DisplayName("rdma:BLK-3, QRK-6: a block over several segments comes once")
    void aBlockOverSeveralSegmentsComesOnce() {
        assertThat(blocks(THREE_RUNS, 0x20_0000)).containsExactly(0x4000_0000L, 0x4020_0000L);
    }

    @Test
    @DisplayName("rdma:BLK-4: by the old rule it comes again for each of them")
    void byTheOldRuleItComesAgain() {
        BlockIterator old = new BlockIterator(BlockIterator.Rule.ONE_SEGMENT_A_STEP);

        assertThat(blocks(old.start(THREE_RUNS, 3, 0x20_0000)))
                .containsExactly(0x4000_0000L, 0x4000_0000L, 0x4020_0000L, 0x4020_0000L);
        assertThat(blocks(old.start(Lists.mapped(0x5_0000, 0x3000, 0x9_0000, 0x1000), 2, 0x1000)))
                .containsExactly(0x5_0000L, 0x5_1000L, 0x5_2000L, 0x9_0000L);
    }

    @Test
    @DisplayName("rdma:BLK-1, BLK-5: a region begins with the block of its first byte and ends with that of its last")
    void aRegionBeginsAndEndsWithItsBytes() {
        UmemRegion region = new UmemRegion(Lists.mapped(0x5_0000, 0x2000), 0x1_0200, 0x600);

        assertThat(blocks(new BlockIterator().start(region, 0x200))).containsExactly(0x5_0200L, 0x5_0400L, 0x5_0600L);
        assertThat(blocks(new BlockIterator().start(region, 0x1000))).containsExactly(0x5_0000L);
    }

    @Test
    @DisplayName("rdma:BLK-1: only the highest bit of the size counts, and only the segments asked for")
    void theHighestBitOfTheSizeCounts() {
        SgTable sg = Lists.mapped(0x5_0000, 0x3000, 0x9_0000, 0x1000);

        assertThat(blocks(sg, 0x1fff)).containsExactly(0x5_0000L, 0x5_1000L, 0x5_2000L, 0x9_0000L);
        assertThat(blocks(new BlockIterator().start(sg, 1, 0x1000))).containsExactly(0x5_0000L, 0x5_1000L, 0x5_2000L);
        assertThat(blocks(new BlockIterator().start(sg, 0, 0x1000))).isEmpty();
    }

    @Test
    @DisplayName("rdma:BLK-3: a block takes its bytes from the next segment, whether or not that continues it")
    void aBlockTakesItsBytesFromTheNextSegment() {
        SgTable sg = Lists.mapped(0x5_0000, 0x3000, 0x9_0000, 0x1000);

        assertThat(blocks(sg, 0x2000)).containsExactly(0x5_0000L, 0x5_2000L);
        assertThat(blocks(Lists.mapped(0x5_0000, 0x3000, 0x9_0000, 0x1001), 0x2000))
                .containsExactly(0x5_0000L, 0x5_2000L, 0x9_0000L);
    }

    @Test
    @DisplayName("rdma:BLK-2, BLK-3: a block that begins before its segment takes the bytes up to its end")
    void aBlockThatBeginsBeforeItsSegmentEndsWhereItEnds() {
        assertThat(blocks(Lists.mapped(0x5_0800, 0x1000), 0x1000)).containsExactly(0x5_0000L, 0x5_1000L);
        assertThat(blocks(Lists.mapped(0x5_0800, 0x800), 0x1000)).containsExactly(0x5_0000L);
        assertThat(blocks(Lists.mapped(0x5_0800, 0x801), 0x1000)).containsExactly(0x5_0000L, 0x5_1000L);
    }

    @Test
    @DisplayName("rdma:BLK-3: segments of 4 GiB less a page, and blocks larger than 4 GiB")
    void hugeSegmentsAndBlocks() {
        SgTable huge = Lists.mapped(0x1_0000_0000L, 0xffff_f000L, 0x1_ffff_f000L, 0x1000);

        assertThat(blocks(huge, 0x4000_0000L))
                .containsExactly(0x1_0000_0000L, 0x1_4000_0000L, 0x1_8000_0000L, 0x1_c000_0000L);
        assertThat(blocks(huge, 0x2_0000_0000L)).containsExactly(0L);
    }

    @Test
    void beforeTheStartThereIsNothing() {
        BlockIterator blocks = new BlockIterator();

        assertThat(blocks.next()).isFalse();
        assertThat(blocks.dmaAddr()).isZero();
        assertThatThrownBy(() -> blocks.start(THREE_RUNS, 4, 0x1000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("4 segments of a list of 3");
        assertThatThrownBy(() -> blocks.start(THREE_RUNS, -1, 0x1000)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> blocks.start(THREE_RUNS, 3, 0)).hasMessage("blocks of no bytes");
    }
}
