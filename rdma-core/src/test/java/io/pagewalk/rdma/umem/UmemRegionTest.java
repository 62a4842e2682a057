package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.umem.PageSizes.Rule;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What a region counts, and the page sizes it may have (rdma:UMEM-20, UMEM-24 to UMEM-26, UMEM-31, PGSZ). */
class UmemRegionTest {
    private static final long ALL = -0x1000L;
    private static final long FEW = 0x4020_1000L;
    private static final SgTable NOWHERE = Lists.mapped(0, 0x1000);

    private static long blocks(long iova, long length, long pageSize) {
        return new UmemRegion(NOWHERE, iova, length).numDmaBlocks(pageSize);
    }

    @Test
    @DisplayName("rdma:UMEM-24, UMEM-25: blocks and pages are those that the range touches")
    void blocksAreThoseThatTheRangeTouches() {
        assertThat(blocks(0x1_0fff, 2, 4096)).isEqualTo(2);
        assertThat(blocks(0x1_0000, 0, 4096)).isZero();
        assertThat(blocks(0x1_0001, 0, 4096)).isEqualTo(1);
        assertThat(blocks(0x1_0200, 0x1000, 4096)).isEqualTo(2);
        assertThat(blocks(0x1_0200, 0x1000, 0x200)).isEqualTo(8);
        assertThat(new UmemRegion(NOWHERE, 0x1_0200, 0x1000).numPages()).isEqualTo(2);
        assertThat(blocks(0, 0xc000_0000_0000_0000L, 2)).isEqualTo(0x6000_0000_0000_0000L);
    }

    @Test
    @DisplayName("rdma:UMEM-23, UMEM-25: pages are counted from iova, which a driver may move")
    void pagesAreCountedFromIova() {
        UmemRegion region = new UmemRegion(NOWHERE, 0x1_0000, 0x1000);
        assertThat(region.iova()).isEqualTo(0x1_0000);
        region.setIova(0x7_0800);

        assertThat(region.numPages()).isEqualTo(2);
        assertThat(region.userAddr()).isEqualTo(0x1_0000);
        assertThat(region.lengthBytes()).isEqualTo(0x1000);
        assertThat(region.table()).isSameAs(NOWHERE);
        assertThat(region).hasToString("0x10000+0x1000 at iova 0x70800 in 1 segments");
    }

    @Test
    @DisplayName("rdma:UMEM-20, UMEM-26: the offset is the address's, the DMA offset the DMA address's too")
    void offsetsAreOfAddressAndDmaAddress() {
        UmemRegion region = new UmemRegion(Lists.mapped(0x5_3000, 0x2000), 0x1_0240, 0x1000);
        region.setIova(0x7_0800);

        assertThat(region.offset()).isEqualTo(0x240);
        assertThat(region.dmaOffset(0x1000)).isEqualTo(0x240);
        assertThat(region.dmaOffset(0x4000)).isEqualTo(0x3240);
    }

    @Test
    @DisplayName("rdma:UMEM-31: both maps lead from an address of the process to memory and to the device's address")
    void bothMapsLeadFromTheProcess() {
        SgTable sg = new SgTable(3);
        sg.add(0x10_0000, 0x2000).add(0x30_0000, 0x1000).add(0x31_0000, 0x1000);
        sg.setDma(0, 0x5000, 0x3000);
        sg.setDma(1, 0xf_0000, 0x1000);
        sg.mapped(2);
        UmemRegion region = new UmemRegion(sg, 0x7000_0240L, 0x3000);

        assertThat(region.physAddr(0x7000_0240L)).isEqualTo(0x10_0240);
        assertThat(region.physAddr(0x7000_0000L)).isEqualTo(0x10_0000);
        assertThat(region.physAddr(0x7000_1fffL)).isEqualTo(0x10_1fff);
        assertThat(region.physAddr(0x7000_2000L)).isEqualTo(0x30_0000);
        assertThat(region.physAddr(0x7000_3fffL)).isEqualTo(0x31_0fff);
        assertThat(region.physAddr(0x7000_4000L)).isEqualTo(UmemRegion.NOWHERE);
        assertThat(region.physAddr(0x6fff_ffffL)).isEqualTo(UmemRegion.NOWHERE);
        assertThat(region.dmaAddr(0x7000_2fffL)).isEqualTo(0x7fff);
        assertThat(region.dmaAddr(0x7000_3000L)).isEqualTo(0xf_0000);
        assertThat(region.dmaAddr(0x7000_4000L)).isEqualTo(UmemRegion.NOWHERE);
        assertThat(region.dmaAddr(0x6fff_ffffL)).isEqualTo(UmemRegion.NOWHERE);
    }

    // ---- page sizes

    private static UmemRegion region(long userAddr, long length, String segments) {
        String[] numbers = segments.split("[+ ]", -1);
        long[] values = new long[numbers.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = Long.parseUnsignedLong(numbers[i], 16);
        }
        return new UmemRegion(Lists.mapped(values), userAddr, length);
    }

    @ParameterizedTest(name = "rdma:PGSZ-EX{0}")
    @CsvSource({
        "1, 7f0000200000, 7f0000200000, 400000, 100000000+400000, few, 200000",
        "2, 7f0000200000, 7f0000200000, 200000, 100001000+200000, few, 1000",
        "3, 10000, 10000, 4000, 50000+4000, all, 4000",
        "4, 10000, 10000, 5000, 50000+5000, all, 8000",
        "5, 10000, 10000, 6000, 50000+2000 92000+4000, all, 2000",
        "6, 10200, 10200, 1000, 50000+2000, all, 2000",
        "7, 10200, 10200, 1000, 50000+1000 81000+1000, all, 1000",
        "8, 10200, 10400, 1000, 50000+2000, all, 0"
    })
    void workedExamples(
            int example, String address, String virt, String length, String segments, String sizes, String result) {
        long virtAddr = Long.parseLong(virt, 16);
        UmemRegion region = region(Long.parseLong(address, 16), Long.parseLong(length, 16), segments);

        long pageSize = region.findBestPgsz(sizes.equals("all") ? ALL : FEW, virtAddr);

        assertThat(Long.toHexString(pageSize)).isEqualTo(result);
        assertThat(region.iova()).as("PGSZ-1").isEqualTo(virtAddr);
    }

    @Test
    @DisplayName("rdma:PGSZ-9, PGSZ-EX9, PGSZ-EX10: an offset that the device cannot hold leaves no page size")
    void offsetsBeyondTheMaskLeaveNoPageSize() {
        UmemRegion held = region(0x1_0240, 0x3000, "50000+4000");
        UmemRegion tooFine = region(0x1_0210, 0x3000, "50000+4000");

        assertThat(held.findBestPgoff(ALL, 0xfc0)).isEqualTo(0x4000);
        assertThat(held.iova()).isEqualTo(0x240);
        assertThat(tooFine.findBestPgoff(ALL, 0xfc0)).isZero();
        assertThat(tooFine.iova()).isEqualTo(0x200);
    }

    @Test
    @DisplayName("rdma:PGSZ-8: by the old rule a run that is split into segments ends a block at each")
    void byTheOldRuleEachSegmentEndsABlock() {
        UmemRegion region = region(0x4000_0000L, 0x20_0000, "40000000+100000 40100000+100000");

        assertThat(region.findBestPgsz(ALL, 0x4000_0000L, Rule.WHERE_SEGMENTS_END))
                .isEqualTo(0x10_0000);
        assertThat(region.findBestPgsz(ALL, 0x4000_0000L)).isEqualTo(0x20_0000);
    }

    @ParameterizedTest
    @EnumSource(Rule.class)
    @DisplayName("rdma:PGSZ-8: PGSZ-EX1, EX3 and EX5 are the same by both rules")
    void unsplitRunsAreTheSameByBothRules(Rule rule) {
        assertThat(region(0x7f00_0020_0000L, 0x40_0000, "100000000+400000").findBestPgsz(FEW, 0x7f00_0020_0000L, rule))
                .isEqualTo(0x20_0000);
        assertThat(region(0x1_0000, 0x4000, "50000+4000").findBestPgsz(ALL, 0x1_0000, rule))
                .isEqualTo(0x4000);
        assertThat(region(0x1_0000, 0x6000, "50000+2000 92000+4000").findBestPgsz(ALL, 0x1_0000, rule))
                .isEqualTo(0x2000);
    }

    @Test
    @DisplayName("rdma:PGSZ-3, QRK-5: a range that wraps has no page size, and by the old rule it may have one")
    void aRangeThatWrapsHasNoPageSize() {
        UmemRegion region = region(0, 0x2000, "ffffffffffff0000+2000");

        assertThat(region.findBestPgsz(ALL, -0x1000L)).isZero();
        assertThat(region.iova()).isEqualTo(-0x1000L);
        assertThat(region.findBestPgsz(ALL, -0x2000L)).isEqualTo(0x2000);
        assertThat(region.findBestPgsz(ALL, -0x1000L, Rule.WHERE_SEGMENTS_END)).isEqualTo(0x1000);
    }

    @Test
    @DisplayName("rdma:PGSZ-3: no bytes have no page size but at address 0")
    void noBytesHaveNoPageSize() {
        assertThat(region(0, 0, "0+1000").findBestPgsz(ALL, 0x1000)).isZero();
        assertThat(region(0, 0, "0+1000").findBestPgsz(ALL, 0)).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    @DisplayName("rdma:PGSZ-4: of the sizes that hold everything the smallest is the largest allowed")
    void theSmallestSizeThatHoldsEverythingIsEnough() {
        assertThat(region(0x1_0000, 1, "10000+1000").findBestPgsz(ALL, 0x1_0000))
                .isEqualTo(0x1000);
        assertThat(region(0x1_0000, 1, "10000+1000").findBestPgsz(-1L, 0x1_0000))
                .isEqualTo(2);
        assertThat(region(0x1_0000, 2, "10000+1000").findBestPgsz(-1L, 0x1_0000))
                .isEqualTo(2);
        assertThat(region(0x1_0000, 3, "10000+1000").findBestPgsz(-1L, 0x1_0000))
                .isEqualTo(4);
        assertThat(region(0x1_0000, 0x1000, "10000+1000").findBestPgsz(0x800, 0x1_0000))
                .isEqualTo(0x800);
        assertThat(region(0, 0xffff_f000L, "0+fffff000").findBestPgsz(ALL, 0x7fff_ffff_ffff_f000L))
                .isEqualTo(0x1000);
    }

    @Test
    @DisplayName("rdma:PGSZ-5, QRK-5: a run that ends at 2^64 is not continued from 0")
    void aRunDoesNotContinueOverTheEnd() {
        UmemRegion region = region(0, 0x2000, "fffffffffffff000+1000 0+1000");

        assertThat(region.findBestPgsz(ALL, 0x1000)).isEqualTo(0x2000);
        assertThat(region.findBestPgsz(ALL, 0xf000)).isEqualTo(0x1_0000);
    }

    @Test
    @DisplayName("rdma:PGSZ-6: the first segment's offset is taken off once, and runs are measured whole")
    void theOffsetIsTakenOffOnce() {
        UmemRegion region = region(0x1_0800, 0x3000, "40000+2000 42000+2000");

        assertThat(region.findBestPgsz(ALL, 0x5_0800)).isEqualTo(0x4000);
        UmemRegion broken = region(0x1_0800, 0x3000, "40000+2000 52000+2000");
        assertThat(broken.findBestPgsz(ALL, 0x5_0800)).isEqualTo(0x2000);
        assertThat(region.findBestPgsz(ALL, 0x5_0800, Rule.WHERE_SEGMENTS_END)).isEqualTo(0x2000);
    }
}
