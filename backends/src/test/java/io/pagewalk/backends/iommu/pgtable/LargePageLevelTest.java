package io.pagewalk.backends.iommu.pgtable;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** iommu:VTD-15, the reference run. */
class LargePageLevelTest {
    @Test
    void alignmentAndLengthDecide() {
        assertThat(SecondStageMap.largePageLevel(0x200, 0x400, 0x200, 2)).isEqualTo(2);
        assertThat(SecondStageMap.largePageLevel(0x200, 0x401, 0x200, 2)).isEqualTo(1);
        assertThat(SecondStageMap.largePageLevel(0x200, 0x400, 0x1ff, 2)).isEqualTo(1);
        assertThat(SecondStageMap.largePageLevel(0, 0, 0x40000, 2)).isEqualTo(3);
        assertThat(SecondStageMap.largePageLevel(0x40000, 0x40000, 0x3ffff, 2)).isEqualTo(2);
        assertThat(SecondStageMap.largePageLevel(0x200, 0x400, 0x80000, 2)).isEqualTo(2);
    }

    @Test
    void theUnitsSizesAreTheLimit() {
        assertThat(SecondStageMap.largePageLevel(0, 0, 0x40000, 1)).isEqualTo(2);
        assertThat(SecondStageMap.largePageLevel(0, 0, 0x40000, 0)).isEqualTo(1);
    }
}
