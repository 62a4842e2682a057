package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.KernelBugException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PageSizesTest {
    private static final long VTD = TreeMapPageTable.SIZES_4K_2M_1G;
    private static final long K4 = 1L << 12;
    private static final long M2 = 1L << 21;
    private static final long G1 = 1L << 30;

    /** The chunks of a range, as page size, count, page size, count... */
    private static List<Long> chunks(long bitmap, long iova, long physAddr, long size) {
        List<Long> chunks = new ArrayList<>();
        long done = 0;
        while (done != size) {
            long pageSize = PageSizes.choose(bitmap, iova + done, physAddr + done, size - done);
            long count = PageSizes.count(bitmap, pageSize, iova + done, physAddr + done, size - done);
            chunks.add(pageSize);
            chunks.add(count);
            done += pageSize * count;
        }
        return chunks;
    }

    @Test
    @DisplayName("iommu:CORE-13: all seven examples")
    void rangesAreCutIntoTheChunksOfTheKernel() {
        assertThat(chunks(VTD, 0, 0, 0x40201000)).containsExactly(G1, 1L, M2, 1L, K4, 1L);
        assertThat(chunks(VTD, 0x1ff000, 0x3ff000, 0x402000)).containsExactly(K4, 1L, M2, 2L, K4, 1L);
        assertThat(chunks(VTD, 0x1ff000, 0x400000, 0x402000)).containsExactly(K4, 0x402L);
        assertThat(chunks(VTD, 0x3fe00000, 0x7fe00000, 0x40400000)).containsExactly(M2, 1L, G1, 1L, M2, 1L);
        assertThat(chunks(VTD, 0x3ff00000, 0x7ff00000, 0x80200000L)).containsExactly(K4, 0x100L, G1, 2L, K4, 0x100L);
        assertThat(chunks(VTD, 0x201000, 0x401000, 0x3ff000)).containsExactly(K4, 0x1ffL, M2, 1L);
        assertThat(chunks(VTD, 0x201000, 0x401000, 0x200000)).containsExactly(K4, 0x200L);
    }

    @Test
    @DisplayName("iommu:CORE-13: a format with every power of two")
    void formatWithEveryPowerOfTwoTakesEachOnce() {
        long amd = (1L << 36) - (1L << 12);
        assertThat(chunks(amd, 0x1000, 0x1000, 0x7000)).containsExactly(K4, 1L, 2 * K4, 1L, 4 * K4, 1L);
    }

    @Test
    @DisplayName("iommu:CORE-11: a next larger page at the end of the address space does not overflow")
    void lookaheadAtTheEndOfTheAddressSpaceDoesNotOverflow() {
        long bitmap = K4 | 1L << 63;
        assertThat(PageSizes.count(bitmap, K4, -0x2000L, -0x2000L, 0x2000)).isEqualTo(2);
    }

    @Test
    @DisplayName("iommu:CORE-10: no size that fits is a bug")
    void noSizeThatFitsIsABug() {
        assertThatThrownBy(() -> PageSizes.choose(M2, 0x1000, 0x1000, M2))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("iova 0x1000");
    }
}
