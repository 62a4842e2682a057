package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import org.junit.jupiter.api.Test;

/** Masks and limits: dma-core:DEV-1 to DEV-6, MSK-5 to MSK-7. */
class DeviceMaskTest {
    private static final long BITS_24 = 0xff_ffffL;
    private static final long BITS_32 = 0xffff_ffffL;
    private static final long BITS_48 = 0xffff_ffff_ffffL;

    private static Device device(World world) {
        return world.device;
    }

    @Test
    void anUnsetOrZeroMaskReadsAs32Bits() { // DEV-3
        assertThat(World.make(c -> c.withStreamingMask(null)).device.mask()).isEqualTo(BITS_32);
        assertThat(World.make(c -> c.withStreamingMask(0L)).device.mask()).isEqualTo(BITS_32);
        assertThat(World.make(c -> c.withStreamingMask(BITS_48)).device.mask()).isEqualTo(BITS_48);
        assertThat(World.make(c -> c.withStreamingMask(1L)).device.mask()).isEqualTo(1);
    }

    @Test
    void segmentLimitsDefaultWhereTheyAreZero() { // DEV-5
        Device zeroed = World.make(c -> c.withSegments(0, 0)).device;
        assertThat(zeroed.maxSegmentBytes()).isEqualTo(0x10000);
        assertThat(zeroed.segmentBoundaryMask()).isEqualTo(-1L);
        assertThat(zeroed.minAlignMask()).isZero();

        Device set = World.make(c -> c.withSegments(-1, 0xfff).withMinAlignMask(-1)).device;
        assertThat(set.maxSegmentBytes()).isEqualTo(BITS_32);
        assertThat(set.segmentBoundaryMask()).isEqualTo(0xfff);
        assertThat(set.minAlignMask()).isEqualTo(BITS_32);
    }

    @Test
    void aPciDeviceHasThePciSegmentLimits() { // DEV-6
        Device device = World.make().device;

        assertThat(device.maxSegmentBytes()).isEqualTo(65536);
        assertThat(device.segmentBoundaryMask()).isEqualTo(BITS_32);
    }

    @Test
    void aBoundaryThatIsNoPowerOfTwoIsRefused() {
        assertThatThrownBy(() -> DeviceConfig.named("nic").withSegments(0, 0x1234))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x1234");
    }

    @Test
    void limitsIgnoreAMaskOrABusLimitOfZero() { // DIR-7, DIR-8, DIR-9
        Device both = World.make(c ->
                        c.withStreamingMask(BITS_32).withCoherentMask(BITS_24).withBusLimit(0x7fff_ffffL))
                .device;
        assertThat(both.streamingLimit()).isEqualTo(0x7fff_ffffL);
        assertThat(both.coherentLimit()).isEqualTo(BITS_24);

        Device noLimit = World.make(c -> c.withMask(BITS_24)).device;
        assertThat(noLimit.streamingLimit()).isEqualTo(BITS_24);
        assertThat(noLimit.coherentLimit()).isEqualTo(BITS_24);

        Device noMask = World.make(c -> c.withMask(0).withBusLimit(BITS_48)).device;
        assertThat(noMask.streamingLimit()).isEqualTo(BITS_48);
        assertThat(noMask.coherentLimit()).isEqualTo(BITS_48);
        assertThat(World.make(c -> c.withMask(0)).device.streamingLimit()).isZero();

        Device unsigned = World.make(c -> c.withMask(-1L).withBusLimit(Long.MAX_VALUE)).device;
        assertThat(unsigned.streamingLimit()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aMaskThatIsRefusedChangesNothing() { // MSK-5, MSK-6
        World world = World.make(c -> c.withMask(BITS_48));
        world.backend.supportsMask = mask -> mask == BITS_32;

        assertThat(world.device.setMask(BITS_24)).isEqualTo(-5);
        assertThat(world.device.setCoherentMask(BITS_24)).isEqualTo(-5);
        assertThat(world.device.setMaskAndCoherent(BITS_24)).isEqualTo(-5);
        assertThat(world.device.streamingMask()).isEqualTo(BITS_48);
        assertThat(world.device.coherentMask()).isEqualTo(BITS_48);
        assertThat(world.device.skipsSync()).isFalse();
    }

    @Test
    void eachMaskIsSetByItself() { // MSK-5, MSK-6
        Device device = device(World.make(c -> c.withMask(BITS_48)));

        assertThat(device.setMask(BITS_32)).isZero();
        assertThat(device.streamingMask()).isEqualTo(BITS_32);
        assertThat(device.coherentMask()).isEqualTo(BITS_48);
        assertThat(device.setCoherentMask(BITS_24)).isZero();
        assertThat(device.streamingMask()).isEqualTo(BITS_32);
        assertThat(device.coherentMask()).isEqualTo(BITS_24);
        assertThat(device.setMaskAndCoherent(-1L)).isZero();
        assertThat(device.streamingMask()).isEqualTo(-1L);
        assertThat(device.coherentMask()).isEqualTo(-1L);
    }

    @Test
    void aDeviceWithoutAMaskCannotSetOne() { // MSK-5, MSK-7, situation B7
        Device device = device(World.make(c -> c.withStreamingMask(null).withCoherentMask(BITS_48)));

        assertThat(device.setMask(BITS_32)).isEqualTo(-5);
        assertThat(device.setMaskAndCoherent(BITS_32)).isEqualTo(-5);
        assertThat(device.hasStreamingMask()).isFalse();
        assertThat(device.coherentMask()).isEqualTo(BITS_48);
        assertThat(device.setCoherentMask(BITS_32)).isZero();
        assertThat(device.coherentMask()).isEqualTo(BITS_32);
    }

    @Test
    void theResultOfTheCoherentHalfIsIgnored() { // MSK-7
        World world = World.make(c -> c.withMask(BITS_48));
        int[] asked = new int[1];
        world.backend.supportsMask = mask -> ++asked[0] == 1;

        assertThat(world.device.setMaskAndCoherent(BITS_32)).isZero();
        assertThat(asked[0]).isEqualTo(2);
        assertThat(world.device.streamingMask()).isEqualTo(BITS_32);
        assertThat(world.device.coherentMask()).isEqualTo(BITS_48);
    }

    @Test
    void coercingGivesADeviceItsCoherentMaskAsTheOnlyOne() { // MSK-7
        World world = World.make(c -> c.withStreamingMask(null).withCoherentMask(BITS_48));

        assertThat(world.device.coerceMaskAndCoherent(BITS_32)).isZero();
        assertThat(world.device.streamingMask()).isEqualTo(BITS_32);
        assertThat(world.device.coherentMask()).isEqualTo(BITS_32);
        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(0x1000);

        world.device.setCoherentMask(BITS_24);
        assertThat(world.device.streamingMask()).isEqualTo(BITS_24);
        world.device.setMask(BITS_48);
        assertThat(world.device.coherentMask()).isEqualTo(BITS_48);
    }

    @Test
    void coercingToAMaskThatIsRefusedStillPointsAtTheCoherentOne() { // MSK-7
        World world = World.make(c -> c.withStreamingMask(null).withCoherentMask(BITS_48));
        world.backend.supportsMask = mask -> false;

        assertThat(world.device.coerceMaskAndCoherent(BITS_32)).isEqualTo(-5);
        assertThat(world.device.hasStreamingMask()).isTrue();
        assertThat(world.device.streamingMask()).isEqualTo(BITS_48);
        assertThat(world.device.coherentMask()).isEqualTo(BITS_48);
    }
}
