package io.pagewalk.backends.iommu.pgtable;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuProt;
import org.junit.jupiter.api.Test;

/** iommu:VTD-9 to VTD-11, VTD-13. */
class VtdPteLayoutTest {
    private static final int RW = IommuProt.READ | IommuProt.WRITE;

    @Test
    void leavesHaveTheBytesOfTheReferenceRun() {
        assertThat(0x800_0000L | VtdPteLayout.leafBits(RW, 1)).isEqualTo(0x800_0003L);
        assertThat(0x800_1000L | VtdPteLayout.leafBits(IommuProt.READ, 1)).isEqualTo(0x800_1001L);
        assertThat(0x800_2000L | VtdPteLayout.leafBits(IommuProt.WRITE, 1)).isEqualTo(0x800_2003L);
        assertThat(0x4000_0000L | VtdPteLayout.leafBits(RW, 2)).isEqualTo(0x4000_0083L);
        assertThat(0x8000_0000L | VtdPteLayout.leafBits(RW, 3)).isEqualTo(0x8000_0083L);
    }

    @Test
    void flagsThatVtdDoesNotKnowLeaveNoTrace() {
        int all = RW | IommuProt.CACHE | IommuProt.NOEXEC | IommuProt.MMIO | IommuProt.PRIV;

        assertThat(VtdPteLayout.leafBits(all, 1)).isEqualTo(3);
    }

    @Test
    void aTableEntryAllowsEverything() {
        assertThat(VtdPteLayout.tableEntry(0x1234_5000L)).isEqualTo(0x1234_5003L);
    }

    @Test
    void presentIsWhatMayBeReadOrWritten() {
        assertThat(VtdPteLayout.isPresent(1)).isTrue();
        assertThat(VtdPteLayout.isPresent(2)).isTrue();
        assertThat(VtdPteLayout.isPresent(0x8000_0080L)).isFalse();
    }

    @Test
    void theIndexTakesNineBitsPerLevel() {
        long pfn = 1L << 36 | 2L << 27 | 3L << 18 | 4L << 9 | 5;

        assertThat(VtdPteLayout.index(pfn, 1)).isEqualTo(5);
        assertThat(VtdPteLayout.index(pfn, 2)).isEqualTo(4);
        assertThat(VtdPteLayout.index(pfn, 3)).isEqualTo(3);
        assertThat(VtdPteLayout.index(pfn, 4)).isEqualTo(2);
        assertThat(VtdPteLayout.index(pfn, 5)).isEqualTo(1);
        assertThat(VtdPteLayout.slot(0x10_0000, pfn, 1)).isEqualTo(0x10_0028);
    }

    @Test
    void spansGrowByFiveHundredAndTwelve() {
        assertThat(VtdPteLayout.bytesAt(1)).isEqualTo(4096);
        assertThat(VtdPteLayout.bytesAt(2)).isEqualTo(2L << 20);
        assertThat(VtdPteLayout.bytesAt(3)).isEqualTo(1L << 30);
        assertThat(VtdPteLayout.pagesAt(4)).isEqualTo(1L << 27);
    }

    @Test
    void threeLevelsReachThirtyNineBits() {
        assertThat(VtdPteLayout.reaches((1L << 27) - 1, 3)).isTrue();
        assertThat(VtdPteLayout.reaches(1L << 27, 3)).isFalse();
    }
}
