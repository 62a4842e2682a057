package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class DeviceSettingsTest {
    private final Device device = World.make().device;

    @Test
    @DisplayName("dma-core:DEV-5")
    void segmentLimitsAreWhatTheDriverSaidLast() {
        device.setMaxSegmentBytes(0xffff_ffffL);
        device.setSegmentBoundaryMask(0xfff);
        device.setMinAlignMask(0x8000_0fffL);
        assertThat(device.maxSegmentBytes()).isEqualTo(0xffff_ffffL);
        assertThat(device.segmentBoundaryMask()).isEqualTo(0xfff);
        assertThat(device.minAlignMask()).isEqualTo(0x8000_0fffL);
    }

    @Test
    @DisplayName("dma-core:DEV-5")
    void zeroMeansTheDefaultLimits() {
        device.setMaxSegmentBytes(0);
        device.setSegmentBoundaryMask(0);
        device.setMinAlignMask(0);
        assertThat(device.maxSegmentBytes()).isEqualTo(0x10000);
        assertThat(device.segmentBoundaryMask()).isEqualTo(-1L);
        assertThat(device.minAlignMask()).isZero();
    }

    @Test
    void limitsOfMoreThan32BitsAreRefusedAndChangeNothing() {
        device.setMaxSegmentBytes(0x2000);
        device.setMinAlignMask(0xfff);
        assertThatThrownBy(() -> device.setMaxSegmentBytes(1L << 32)).hasMessageContaining("0x100000000");
        assertThatThrownBy(() -> device.setMinAlignMask(-1)).hasMessageContaining("0xffffffffffffffff");
        assertThat(device.maxSegmentBytes()).isEqualTo(0x2000);
        assertThat(device.minAlignMask()).isEqualTo(0xfff);
    }

    @Test
    void storedMasksAreNotQuestionedAndLeaveSyncSkippingAlone() {
        assertThat(device.setMask(-1L)).isZero();
        device.storeStreamingMask(0x7);
        device.storeCoherentMask(0);
        device.setBusLimit(0x3);
        assertThat(device.streamingMask()).isEqualTo(0x7);
        assertThat(device.coherentMask()).isZero();
        assertThat(device.streamingLimit()).isEqualTo(0x3);
        assertThat(device.coherentLimit()).isEqualTo(0x3);
        assertThat(device.skipsSync()).isTrue();
    }

    @Test
    @DisplayName("dma-core:MSK-7: once coerced, the two masks are one")
    void coercedMasksAreStoredTogether() {
        device.coerceMaskAndCoherent(0xffff_ffffL);
        device.storeStreamingMask(0xff_ffff);
        assertThat(device.coherentMask()).isEqualTo(0xff_ffff);
        device.storeCoherentMask(0xfff_ffff);
        assertThat(device.streamingMask()).isEqualTo(0xfff_ffff);
    }

    @Test
    @DisplayName("dma-core:MSK-9: the backend requires 32 bits")
    void aMaskOrABusLimitBelowWhatIsRequiredLimitsAddressing() {
        device.storeStreamingMask(0);
        assertThat(device.isAddressingLimited())
                .as("an unset mask counts as 32 bits")
                .isFalse();
        device.setBusLimit(0xffff_fffeL);
        assertThat(device.isAddressingLimited()).isTrue();
        device.setBusLimit(0);
        device.storeStreamingMask(0xffff_fffeL);
        assertThat(device.isAddressingLimited()).isTrue();
    }

    @Test
    void flagsOfAllocationsStripAndTellZones() {
        int gfp = Gfp.KERNEL | Gfp.DMA | Gfp.HIGHMEM | Gfp.ZERO;
        assertThat(Gfp.choosesZone(gfp)).isTrue();
        assertThat(Gfp.withoutZones(gfp)).isEqualTo(Gfp.KERNEL | Gfp.ZERO);
        assertThat(Gfp.choosesZone(Gfp.withoutZones(gfp))).isFalse();
        assertThat(Gfp.has(gfp, Gfp.DMA | Gfp.ZERO)).isTrue();
        assertThat(Gfp.has(gfp, Gfp.DMA32)).isFalse();
    }
}
