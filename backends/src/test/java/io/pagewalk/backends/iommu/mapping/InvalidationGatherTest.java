package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What is gathered, and what has to be invalidated before more is. */
class InvalidationGatherTest {
    private final InvalidationGather gather = new InvalidationGather();

    private void begin(boolean queued) {
        gather.init(queued);
    }

    @Test
    @DisplayName("iommu:CORE-23: empty is all ones to 0, with no size and no pages")
    void emptyGatherRunsBackwards() {
        begin(true);
        assertThat(gather.firstIova()).isEqualTo(-1L);
        assertThat(gather.lastIova()).isZero();
        assertThat(gather.freed().isEmpty()).isTrue();
        assertThat(gather.isQueued()).isTrue();
        assertThat(gather.mustSyncBefore(0x5000, 0x1000)).isFalse();
    }

    @Test
    @DisplayName("iommu:CORE-24: the range grows both ways, its end inclusive")
    void rangeGrowsBothWays() {
        begin(false);
        gather.add(0x3000, 0x1000);
        gather.add(0x2000, 0x1000);
        gather.add(0x4000, 0x1000);
        assertThat(gather.firstIova()).isEqualTo(0x2000);
        assertThat(gather.lastIova()).isEqualTo(0x4fff);
        gather.add(0x2800, 0x100);
        assertThat(gather.firstIova()).isEqualTo(0x2000);
        assertThat(gather.lastIova()).isEqualTo(0x4fff);
    }

    @Test
    @DisplayName("iommu:CORE-25, QK-13: what touches on either side is not apart; a byte between them is")
    void touchingRangesAreNotDisjoint() {
        begin(false);
        gather.add(0x3000, 0x1000);
        assertThat(gather.mustSyncBefore(0x4000, 0x1000)).isFalse();
        assertThat(gather.mustSyncBefore(0x2000, 0x1000)).isFalse();
        assertThat(gather.mustSyncBefore(0x4001, 0x1000)).isTrue();
        assertThat(gather.mustSyncBefore(0x1fff, 0x1000)).isTrue();
        assertThat(gather.mustSyncBefore(0x3000, 0x1000)).isFalse();
    }

    @Test
    @DisplayName("iommu:CORE-26: another size needs a sync first, whatever is between; the sync ends queueing")
    void anotherSizeNeedsASync() {
        begin(true);
        gather.add(0x3000, 0x1000);
        gather.freed().add(0x7000);
        assertThat(gather.mustSyncBefore(0x4000, 0x2000)).isTrue();
        gather.initAfterSync();
        assertThat(gather.isQueued()).isFalse();
        assertThat(gather.freed().isEmpty()).isTrue();
        assertThat(gather.firstIova()).isEqualTo(-1L);
        assertThat(gather.mustSyncBefore(0x4000, 0x2000)).isFalse();
    }

    @Test
    @DisplayName("iommu:CORE-25: a gather that ends at address 0 looks empty, as in the kernel")
    void gatherOfNothingButByteZeroLooksEmpty() {
        begin(false);
        gather.add(0, 1);
        assertThat(gather.mustSyncBefore(0x9000, 1)).isFalse();
    }
}
