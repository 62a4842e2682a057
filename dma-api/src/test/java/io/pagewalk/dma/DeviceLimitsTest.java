package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of segments and dma-ranges: dma-core:DEV-5, DEV-6, DIR-4, DIR-5. */
class DeviceLimitsTest {
    @Test
    @DisplayName("dma-core:DEV-5: setters with null parms WARN once, nothing stored")
    void withoutParmsNothingIsStored() {
        World world = World.make(config ->
                config.withSegments(0x2000, 0xfff).withMinAlignMask(0xfff).withoutDmaParms());
        Device device = world.device;
        for (int i = 0; i < 2; i++) {
            device.setMaxSegmentBytes(0x4000);
            device.setSegmentBoundaryMask(0xffff);
            device.setMinAlignMask(0xff);
        }

        assertThat(device.maxSegmentBytes()).isEqualTo(0x10000);
        assertThat(device.segmentBoundaryMask()).isEqualTo(-1L);
        assertThat(device.minAlignMask()).isZero();
        assertThat(world.machine.log().warnCount()).isEqualTo(3);
        assertThat(world.machine.log().count("dma_set_max_seg_size")).isEqualTo(2);
        assertThat(world.machine.log().count("dma_set_seg_boundary")).isEqualTo(2);
        assertThat(world.machine.log().count("dma_set_min_align_mask")).isEqualTo(2);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic has no dma_parms, nothing is stored (dma-core:DEV-5)");
    }

    @Test
    void aValueThatIsNotOneIsRefusedWithoutParmsToo() {
        World world = World.make(DeviceConfig::withoutDmaParms);

        assertThatThrownBy(() -> world.device.setMaxSegmentBytes(1L << 32))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:DEV-6: platform device")
    void aPlatformDeviceHas32BitMasksAndParmsOfZeros() {
        DeviceConfig config = DeviceConfig.platform("dw-mmc");
        Device device = World.builder().build().addDevice(config);

        assertThat(config.pci()).isFalse();
        assertThat(config.hasDmaParms()).isTrue();
        assertThat(config.streamingMask()).isEqualTo(0xffff_ffffL);
        assertThat(device.streamingMask()).isEqualTo(0xffff_ffffL);
        assertThat(device.coherentMask()).isEqualTo(0xffff_ffffL);
        assertThat(device.maxSegmentBytes()).isEqualTo(0x10000);
        assertThat(device.segmentBoundaryMask()).isEqualTo(-1L);
        assertThat(device.minAlignMask()).isZero();
        device.setMaxSegmentBytes(0x1234);
        assertThat(device.maxSegmentBytes()).isEqualTo(0x1234);
        assertThat(DeviceConfig.platform("x").withMask(0xff).streamingMask())
                .as("if still unset")
                .isEqualTo(0xff);
    }

    @Test
    @DisplayName("dma-core:DEV-5: (boundary>>s)+1; with dev==null (0xffffffff>>s)+1")
    void theBoundaryIsCountedInPages() {
        Device device = World.make().device;
        assertThat(DeviceLimits.segmentBoundaryPages(device, 12)).isEqualTo(0x10_0000);
        device.setSegmentBoundaryMask(0x1fff);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 12)).isEqualTo(2);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 13)).isEqualTo(1);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 0)).isEqualTo(0x2000);
        device.setSegmentBoundaryMask(0);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 12)).isEqualTo(1L << 52);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 63)).isEqualTo(2);
        assertThat(DeviceLimits.segmentBoundaryPages(device, 0)).as("2^64").isZero();
        assertThat(DeviceLimits.segmentBoundaryPages(null, 12)).isEqualTo(0x10_0000);
        assertThat(DeviceLimits.segmentBoundaryPages(null, 0)).isEqualTo(0x1_0000_0000L);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 64, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void aPageOfNoSizeIsRefused(int shift) {
        assertThatThrownBy(() -> DeviceLimits.segmentBoundaryPages(null, shift))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a page of 2^" + shift + " bytes");
    }

    @Test
    @DisplayName("dma-core:DIR-4")
    void theEndsOfTheRangesAreKnown() {
        Device none = World.make().device;
        assertThat(none.lowestRangeDmaAddr()).isEqualTo(-1L);
        assertThat(none.highestRangeDmaAddr()).isZero();

        Device some = World.make(config -> config.withRanges(
                        new DmaRange(0, 0x8000_0000_0000_0000L, 0x1000),
                        new DmaRange(0x10000, 0x4000, 0x2000),
                        new DmaRange(0x20000, 0x9000, 0x1000)))
                .device;
        assertThat(some.lowestRangeDmaAddr()).isEqualTo(0x4000);
        assertThat(some.highestRangeDmaAddr()).isEqualTo(0x8000_0000_0000_0fffL);
        assertThat(some.ranges()).hasSize(3);
    }

    @Test
    @DisplayName("dma-core:DIR-5: else one-entry map, 0")
    void anOffsetIsARangeOfOneEntry() {
        World world = World.make();
        assertThat(world.device.setOffset(0x1_0000, 0x8_0000, 0x4000)).isZero();

        assertThat(world.device.ranges()).containsExactly(new DmaRange(0x1_0000, 0x8_0000, 0x4000));
        assertThat(world.device.hasRanges()).isTrue();
        assertThat(world.device.physToDma(0x1_3fff)).isEqualTo(0x8_3fff);
        assertThat(world.device.physToDma(0x1_4000)).isEqualTo(-1L);
        assertThat(world.device.dmaToPhys(0x8_0001)).isEqualTo(0x1_0001);
        assertThat(world.device.dmaToPhys(0x1_0000)).isEqualTo(-1L);
        assertThat(world.device.lowestRangeDmaAddr()).isEqualTo(0x8_0000);
        assertThat(world.device.highestRangeDmaAddr()).isEqualTo(0x8_3fff);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:DIR-5: existing map -> error log, -EINVAL")
    void aDeviceWithRangesKeepsThem() {
        World world = World.make(config -> config.withRanges(new DmaRange(0, 0x4000, 0x1000)));
        assertThat(world.device.setOffset(0x1_0000, 0x8_0000, 0x4000)).isEqualTo(-22);
        assertThat(world.device.setOffset(0, 0, 0)).as("asked first").isEqualTo(-22);

        assertThat(world.device.physToDma(0)).isEqualTo(0x4000);
        assertThat(world.machine.log().entries()).hasSize(2);
        assertThat(world.machine.log().warnCount()).isZero();
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic has dma-ranges already (dma-core:DIR-5)");
    }

    @Test
    @DisplayName("dma-core:DIR-5: cpu==dma -> 0 with no map")
    void noOffsetIsNoMap() {
        Device device = World.make().device;
        assertThat(device.setOffset(0x4000, 0x4000, 0x1000)).isZero();

        assertThat(device.hasRanges()).isFalse();
        assertThat(device.ranges()).isEmpty();
        assertThat(device.physToDma(0x9000)).isEqualTo(0x9000);
        assertThat(device.setOffset(0x4000, 0x5000, 0x1000)).isZero();
    }

    @Test
    @DisplayName("dma-core:DIR-5: allocation failure -ENOMEM")
    void withoutMemoryThereIsNoMap() {
        World world = World.make();
        world.machine.failures().failNth("dma.range_map", 1);

        assertThat(world.device.setOffset(0, 0x5000, 0x1000)).isEqualTo(-12);
        assertThat(world.device.hasRanges()).isFalse();
        assertThat(world.device.setOffset(0, 0x5000, 0x1000)).isZero();
    }

    @Test
    @DisplayName("dma-core:DIR-3, DIR-4, DIR-5: the entry of size 0 ends the map")
    void anOffsetOfNoSizeIsAMapInWhichNothingIsFound() {
        Device device = World.make().device;
        assertThat(device.setOffset(0, 0x5000, 0)).isZero();

        assertThat(device.hasRanges()).isTrue();
        assertThat(device.ranges()).isEmpty();
        assertThat(device.physToDma(0)).isEqualTo(-1L);
        assertThat(device.dmaToPhys(0x5000)).isEqualTo(-1L);
        assertThat(device.lowestRangeDmaAddr()).isEqualTo(-1L);
        assertThat(device.highestRangeDmaAddr()).isZero();
        assertThat(device.setOffset(0, 0x5000, 0)).isEqualTo(-22);
    }

    @Test
    void theBusDoesWhatItsOwnRangesSay() { // DIR-5: the driver's word does not move wires
        DmaRange told = new DmaRange(0, 0x4000, 0x1000);
        DmaRange real = new DmaRange(0, 0x8000, 0x1000);

        assertThat(DeviceConfig.named("a").busRanges()).isEmpty();
        assertThat(DeviceConfig.named("a").withRanges(told).busRanges()).containsExactly(told);
        assertThat(DeviceConfig.named("a").withRanges(told).withBusRanges(real).busRanges())
                .containsExactly(real);
        assertThat(DeviceConfig.named("a").withBusRanges(real).ranges()).isEmpty();
        assertThat(DeviceConfig.named("a").withRanges(told).withBusRanges().busRanges())
                .isEmpty();
    }
}
