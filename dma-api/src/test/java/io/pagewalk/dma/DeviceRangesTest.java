package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import org.junit.jupiter.api.Test;

/** The dma-ranges of a device: dma-core:DEV-4, DIR-1 to DIR-3. */
class DeviceRangesTest {
    private static Device with(DmaRange... ranges) {
        return World.make(config -> config.withRanges(ranges)).device;
    }

    @Test
    void withoutRangesAddressesAreTheirOwn() { // DIR-1, DIR-2
        Device device = with();

        assertThat(device.hasRanges()).isFalse();
        for (long address : new long[] {0, 0x1234, Long.MIN_VALUE, -1L}) {
            assertThat(device.physToDma(address)).isEqualTo(address);
            assertThat(device.dmaToPhys(address)).isEqualTo(address);
        }
    }

    @Test
    void aRangeMovesWhatItCoversAndNothingElse() { // EX-32, EX-33
        Device device = with(new DmaRange(0x8000_0000L, 0, 0x4000_0000L));

        assertThat(device.physToDma(0x8000_1000L)).isEqualTo(0x1000);
        assertThat(device.physToDma(0x8000_0000L)).isZero();
        assertThat(device.physToDma(0xbfff_ffffL)).isEqualTo(0x3fff_ffffL);
        assertThat(device.physToDma(0xbfff_f800L)).isEqualTo(0x3fff_f800L);
        assertThat(device.physToDma(0xc000_0000L)).isEqualTo(-1L);
        assertThat(device.physToDma(0x7fff_ffffL)).isEqualTo(-1L);
        assertThat(device.dmaToPhys(0x1000)).isEqualTo(0x8000_1000L);
        assertThat(device.dmaToPhys(0x3fff_ffffL)).isEqualTo(0xbfff_ffffL);
        assertThat(device.dmaToPhys(0x4000_0000L)).isEqualTo(-1L);
    }

    @Test
    void ofOverlappingRangesTheFirstWins() { // DIR-3
        Device device = with(
                new DmaRange(0x2000, 0x1_0000, 0x1000),
                new DmaRange(0x1000, 0x2_0000, 0x4000),
                new DmaRange(0x4000, 0x2_2000, 0x4000));

        assertThat(device.physToDma(0x1fff)).isEqualTo(0x2_0fff);
        assertThat(device.physToDma(0x2000)).isEqualTo(0x1_0000);
        assertThat(device.physToDma(0x3000)).isEqualTo(0x2_2000);
        assertThat(device.physToDma(0x4fff)).isEqualTo(0x2_3fff);
        assertThat(device.physToDma(0x5000)).isEqualTo(0x2_3000);
        assertThat(device.dmaToPhys(0x2_1000)).isEqualTo(0x2000);
        assertThat(device.dmaToPhys(0x2_3fff)).isEqualTo(0x4fff);
        assertThat(device.dmaToPhys(0x2_4000)).isEqualTo(0x6000);
    }

    @Test
    void aRangeAtTheTopOfTheAddressesEndsThere() { // DIR-1, DIR-2: p >= cpu_start
        Device device = with(new DmaRange(-0x1000L, 0x1000, 0x3000), new DmaRange(0x5000, -0x1000L, 0x3000));

        assertThat(device.physToDma(-1L)).isEqualTo(0x1fff);
        assertThat(device.physToDma(0)).isEqualTo(-1L);
        assertThat(device.dmaToPhys(0x1000)).isEqualTo(-0x1000L);
        assertThat(device.dmaToPhys(-1L)).isEqualTo(0x5fff);
        assertThat(device.physToDma(0x6000)).isZero();
        assertThat(device.dmaToPhys(0)).isEqualTo(-1L);
    }

    @Test
    void sizesAreUnsigned() {
        Device device = with(new DmaRange(0, 0x4_0000_0000L, -1L));

        assertThat(device.physToDma(0x50dc_4000L)).isEqualTo(0x4_50dc_4000L); // situation B1
        assertThat(device.physToDma(Long.MIN_VALUE)).isEqualTo(0x8000_0004_0000_0000L);
        assertThat(device.physToDma(-2L)).isEqualTo(0x3_ffff_fffeL);
        assertThat(device.physToDma(-1L)).isEqualTo(-1L);
    }

    @Test
    void anEntryOfNoBytesIsRefusedAsItWouldEndTheList() { // DEV-4, DIR-3
        assertThatThrownBy(() -> new DmaRange(0x1000, 0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a dma-ranges entry of size 0 at 0x1000 ends the list (DEV-4)");
    }
}
