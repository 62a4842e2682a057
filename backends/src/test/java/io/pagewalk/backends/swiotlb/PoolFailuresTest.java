package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailureReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Pools that run out, as their users met them. */
class PoolFailuresTest {
    private static final long MIB = 1 << 20;

    /** All memory is pool, the mapped buffer too: no data is looked at. */
    private static int mapUntilRefused(PoolWorld world, Device device, long size) {
        int count = 0;
        while (world.map(device, MIB, size) != -1L) {
            count++;
        }
        return count;
    }

    @Test
    @DisplayName("A1")
    void leakDrainsThePoolAfterAnExactNumberOfMaps() {
        PoolWorld world = new PoolWorld(0, 32768, 1);
        Device device = world.device(0);
        assertThat(mapUntilRefused(world, device, 4000)).isEqualTo(16384);
        assertThat(world.lastLogged()).contains("(sz: 4000 bytes), total 32768 (slots), used 32768 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FULL);
    }

    @Test
    @DisplayName("A2")
    void alignmentHolesFillAPoolThatHasFreeSlots() {
        PoolWorld world = new PoolWorld(0, 32768, 1);
        Device device = world.device(0);
        assertThat(mapUntilRefused(world, device, 9100))
                .as("21 in each of 256 sets")
                .isEqualTo(5376);
        assertThat(world.lastLogged()).contains("(sz: 9100 bytes), total 32768 (slots), used 26880 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FRAGMENTED);
        assertThat(world.why(device).numbers()).containsExactly(5L, 5888L, 3L, 32768L);
        assertThat(world.map(device, MIB, 2048)).isNotEqualTo(-1L);
        world.assertSound();
    }

    @Test
    @DisplayName("A3")
    void enlargingThePoolDoesNotHelpARequestAboveTheMaximum() {
        for (int slots : new int[] {8192, 32768}) {
            PoolWorld world = new PoolWorld(0, slots, 1);
            Device device = world.device(0);
            for (long size : new long[] {2 * MIB, MIB, MIB / 2}) {
                assertThat(world.map(device, MIB, size)).isEqualTo(-1L);
                assertThat(world.lastLogged())
                        .contains("(sz: " + size + " bytes), total " + slots + " (slots), used 0 (slots)");
                assertThat(world.why(device).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
                assertThat(world.why(device).numbers()).containsExactly(size, 262144L);
            }
        }
    }

    @Test
    @DisplayName("A4")
    void largestRequestNeedsAWholeFreeSet() {
        PoolWorld world = new PoolWorld(0, 1024, 1);
        Device device = world.device(0);
        List<Long> ones = new ArrayList<>();
        for (long tlbAddr = world.map(device, MIB, 2048); tlbAddr != -1L; tlbAddr = world.map(device, MIB, 2048)) {
            ones.add(tlbAddr);
        }
        for (int set = 0; set < 8; set++) {
            for (int slot = 1; slot < 128; slot++) {
                world.unmap(device, ones.get(set * 128 + slot), 2048);
            }
        }
        assertThat(world.map(device, MIB, 262144)).isEqualTo(-1L);
        assertThat(world.lastLogged()).contains("(sz: 262144 bytes), total 1024 (slots), used 8 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FRAGMENTED);
        assertThat(world.why(device).numbers()).containsExactly(128L, 1016L, 127L, 1024L);
        world.unmap(device, ones.get(3 * 128), 2048);
        assertThat(world.map(device, MIB, 262144)).isEqualTo(world.slots.addressOf(3 * 128));
        world.assertSound();
    }

    @Test
    @DisplayName("SWM-6: ten messages in five seconds of the machine's time")
    void messagesAreLimitedInRate() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        for (int i = 0; i < 25; i++) {
            world.map(device, MIB, MIB);
        }
        assertThat(world.machine.log().entries()).hasSize(10);
        world.machine.clock().advance(5_000_000_000L);
        world.map(device, MIB, MIB);
        assertThat(world.machine.log().entries()).hasSize(11);
        assertThat(world.machine.log().count("swiotlb_tbl_map_single: full")).isEqualTo(26);
    }
}
