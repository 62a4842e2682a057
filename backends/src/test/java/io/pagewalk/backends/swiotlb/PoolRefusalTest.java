package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailureReason;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Why a pool refuses: for a length that even an empty pool has no place for, or for what is in use (SWM-6, SWM-15). */
class PoolRefusalTest {
    private static final long SLOT = 0x800;

    private static void assertRefused(PoolWorld world, Device device, long orig, long size, FailureReason reason) {
        assertThat(world.map(device, orig, size)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(world.why(device).reason()).isEqualTo(reason);
    }

    @Test
    @DisplayName("SWM-15, EX-22: a lucky offset that an empty pool has a place for is refused for what is in use")
    void luckyOffsetAboveTheMaximumIsRefusedForWhatIsInUse() {
        for (long boundary : new long[] {0, 0x3_ffff}) {
            PoolWorld world = new PoolWorld(128, 1);
            Device device = world.device(0x7ff, boundary);
            world.map(device, 0x10000, 1);
            assertRefused(world, device, 0x1abc, 0x3_fd44, FailureReason.POOL_FULL);
            assertThat(world.why(device).numbers()).containsExactly(128L, 127L, 127L, 128L);
            assertRefused(world, device, 0x1abc, 0x3_fd45, FailureReason.EXCEEDS_MAX_MAPPING);
            assertThat(world.why(device).numbers()).containsExactly(0x3_fd45L, 0x3_f800L);
        }
    }

    @Test
    @DisplayName("SWS-4: the place is the one slot with the original's bits, here the second of its set")
    void placeIsWhereTheOriginalsBitsAre() {
        for (long boundary : new long[] {0, 0x3_ffff}) {
            PoolWorld world = new PoolWorld(128, 1);
            Device device = world.device(0x1fff, boundary);
            world.slots.area(0).startNextSearchAt(5);
            assertThat(world.map(world.device(0), 0x10000, 1)).isEqualTo(PoolWorld.START + 5 * SLOT);
            assertRefused(world, device, 0x1_0800, 127 * SLOT, FailureReason.POOL_FRAGMENTED);
            assertThat(world.why(device).numbers()).containsExactly(127L, 127L, 122L, 128L);
            assertRefused(world, device, 0x1_0000, 127 * SLOT, FailureReason.POOL_FRAGMENTED);
            assertRefused(world, device, 0x1_1000, 127 * SLOT, FailureReason.EXCEEDS_MAX_MAPPING);
        }
    }

    @Test
    @DisplayName("SWS-4: bits of a slot behind the pool's last one are no place")
    void placeBehindThePoolIsNone() {
        PoolWorld world = new PoolWorld(64, 1);
        Device device = world.device(0x3_ffff);
        assertRefused(world, device, 0x2_0000, 0x100, FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.why(device).numbers()).containsExactly(0x100L, 0L);
        assertThat(world.map(device, 0x1_f800, 0x100)).isEqualTo(PoolWorld.START + 63 * SLOT);
    }

    @Test
    @DisplayName("SWS-1, SWS-4: the one place must not cross the device's segment boundary")
    void placeAcrossABoundaryIsNone() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0x3_ffff, 0x3fff);
        assertRefused(world, device, 2 * SLOT, 7 * SLOT, FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.map(device, 2 * SLOT, 6 * SLOT)).isEqualTo(PoolWorld.START + 2 * SLOT);
        assertRefused(world, device, 2 * SLOT, 6 * SLOT, FailureReason.POOL_FRAGMENTED);
    }

    @Test
    @DisplayName("SWM-6: the area with most free slots decides between full and fragmented")
    void mostFreeAreaDecides() {
        PoolWorld world = new PoolWorld(256, 2);
        Device device = world.device(0);
        world.map(device, 0, 0x10000, 120 * SLOT - 1, 0);
        world.map(device, 1, 0x10000, 64 * SLOT - 1, 0);
        assertRefused(world, device, 0x10000, 65 * SLOT, FailureReason.POOL_FULL);
        assertThat(world.why(device).numbers()).containsExactly(65L, 72L, 64L, 256L);
        world.slots.area(1).startNextSearchAt(100);
        world.map(device, 1, 0x10000, 1, 0);
        assertRefused(world, device, 0x10000, 63 * SLOT, FailureReason.POOL_FRAGMENTED);
        assertThat(world.why(device).numbers()).containsExactly(63L, 71L, 36L, 256L);
    }

    @Test
    @DisplayName("SWM-2: an alignment above a page warns once, with its numbers; a page's does not")
    void alignmentAboveAPageWarnsOnce() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0);
        world.map(device, 0, 0x10000, 1, 0xfff);
        assertThat(world.machine.log().entries()).isEmpty();
        world.map(device, 0, 0x10000, 1, 0x1fff);
        world.map(device, 0, 0x10000, 1, 0x3fff);
        assertThat(world.machine.log().entries())
                .singleElement()
                .extracting(entry -> entry.text())
                .isEqualTo(device.name() + ": alignment mask 0x1fff is above 0xfff (dma-core:SWM-2)");
        assertThat(world.machine.log().count("swiotlb_tbl_map_single: alignment"))
                .isEqualTo(2);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
    }
}
