package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class AddressesTest {

    @Test
    void addressesAreUnsigned() {
        assertThat(Addresses.lessThan(1, -1)).isTrue();
        assertThat(Addresses.lessThan(-1, -1)).isFalse();
        assertThat(Addresses.lessOrEqual(-1, -1)).isTrue();
        assertThat(Addresses.min(1, -1)).isEqualTo(1);
        assertThat(Addresses.max(1, -1)).isEqualTo(-1);
    }

    @Test
    void aLimitOfZeroIsNoLimit() {
        assertThat(Addresses.minNotZero(0, 7)).isEqualTo(7);
        assertThat(Addresses.minNotZero(7, 0)).isEqualTo(7);
        assertThat(Addresses.minNotZero(0, 0)).isZero();
        assertThat(Addresses.minNotZero(-1, 7)).isEqualTo(7);
    }

    @Test
    @DisplayName("dma-core:TYP-4")
    void aMaskHasAsManyOnesAsItHasBits() {
        assertThat(Addresses.bitMask(0)).isZero();
        assertThat(Addresses.bitMask(24)).isEqualTo(0xff_ffffL);
        assertThat(Addresses.bitMask(32)).isEqualTo(0xffff_ffffL);
        assertThat(Addresses.bitMask(63)).isEqualTo(Long.MAX_VALUE);
        assertThat(Addresses.bitMask(64)).isEqualTo(-1L);
        assertThatThrownBy(() -> Addresses.bitMask(65)).hasMessage("a mask has 0 to 64 bits, not 65");
        assertThatThrownBy(() -> Addresses.bitMask(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @DisplayName("dma-core:TYP-10")
    void theOrderOfASizeIsTheLeastThatHoldsIt() {
        assertThat(Addresses.order(1)).isZero();
        assertThat(Addresses.order(4096)).isZero();
        assertThat(Addresses.order(4097)).isEqualTo(1);
        assertThat(Addresses.order(4L << 20)).isEqualTo(10);
        assertThat(Addresses.order((4L << 20) + 1)).isEqualTo(11);
        assertThat(Addresses.order(-1L)).isEqualTo(52);
    }

    @Test
    @DisplayName("dma-core:TYP-10")
    void nothingHasAnOrderThatNoAllocatorServes() {
        assertThat(Addresses.order(0)).isEqualTo(52).isGreaterThan(PageAllocator.MAX_ORDER);
    }

    @Test
    void rangesUpToTheLastAddressOverlapAndContainWithoutWrapping() {
        assertThat(Addresses.overlaps(-16, 16, -1, 1)).isTrue();
        assertThat(Addresses.overlaps(-16, 15, -1, 1)).isFalse();
        assertThat(Addresses.contains(-16, 16, -1, 1)).isTrue();
        assertThat(Addresses.contains(-16, 16, -1, 2)).isFalse();
        assertThat(Addresses.last(-16, 16)).isEqualTo(-1);
    }

    @Test
    void aRangeOfNoBytesOverlapsNothingAndIsContainedAnywhere() {
        assertThat(Addresses.overlaps(8, 0, 0, 16)).isFalse();
        assertThat(Addresses.overlaps(0, 16, 8, 0)).isFalse();
        assertThat(Addresses.contains(0, 16, 99, 0)).isTrue();
        assertThat(Addresses.contains(0, 0, 0, 1)).isFalse();
    }

    @Test
    void aPageIsNamedByItsMask() {
        assertThat(0x12345678L & Addresses.PAGE_MASK).isEqualTo(0x12345000L);
        assertThat(1L << Addresses.PAGE_SHIFT).isEqualTo(Addresses.PAGE_SIZE);
    }

    @Test
    void messagesShowUnsignedHexadecimal() {
        assertThat(Addresses.hex(-1)).isEqualTo("0xffffffffffffffff");
        assertThat(Addresses.hexRange(0x1000, 32)).isEqualTo("0x1000+0x20");
    }
}
