package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.memory.Addresses;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

/** iommu:INV-9 and INV-11. */
class PageSelectionTest {
    @Test
    void rangesRoundAsInTheReferenceRun() {
        assertSelects(0x1000, 0x1fff, 0x1000, 0);
        assertSelects(0x1000, 0x2fff, 0, 2);
        assertSelects(0x2000, 0x3fff, 0x2000, 1);
        assertSelects(0x3000, 0x5fff, 0, 3);
        assertSelects(0x7000, 0x8fff, 0, 4);
        assertSelects(0xff_f000, 0x100_0fff, 0, 13);
        assertSelects(0x1_3000, 0x1_5fff, 0x1_0000, 3);
        assertSelects(0x20_1000, 0x40_0fff, 0, 11);
    }

    /** iommu:VTD-18: the range of a replaced 2 MiB page ends with the first byte of its last page. */
    @Test
    void aReplacedLargePageRoundsToItself() {
        assertSelects(0x60_0000, 0x7f_f000, 0x60_0000, 9);
        assertSelects(0x4000_0000, 0x7fff_f000, 0x4000_0000, 18);
    }

    @Test
    void anEmptyGatherIsMoreThanAnySelection() {
        assertThat(PageSelection.order(-1L, 0)).isEqualTo(53);
    }

    @Property
    void theSelectionHoldsTheRangeAndNoSmallerOneDoes(
            @ForAll @LongRange(min = 0, max = (1L << 40) - 1) long first,
            @ForAll @LongRange(min = 1, max = 1L << 24) long sizeBytes) {
        long last = first + sizeBytes - 1;
        int order = PageSelection.order(first, last);
        long address = PageSelection.address(first, order);

        assertThat(address).isLessThanOrEqualTo(first);
        assertThat(address + (4096L << order) - 1).isGreaterThanOrEqualTo(last);
        if (order > 0) {
            long half = 4096L << (order - 1);
            assertThat(Addresses.alignDown(first, half)).isNotEqualTo(Addresses.alignDown(last, half));
        }
    }

    private static void assertSelects(long first, long last, long address, int order) {
        assertThat(PageSelection.order(first, last)).isEqualTo(order);
        assertThat(PageSelection.address(first, order)).isEqualTo(address);
    }
}
