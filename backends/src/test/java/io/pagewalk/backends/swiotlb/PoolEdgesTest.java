package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Where the search's counts end, and what the checks of a pool say at the edges. */
class PoolEdgesTest {
    private static final long SLOT = 0x800;

    @Test
    @DisplayName("SWS-6: a slot that the budget would reach one step later is missed")
    void budgetEndsWithTheAreasSlots() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0xffff);
        for (int slot : new int[] {1, 33, 65, 97}) {
            assertThat(world.map(device, 0x800, 0x800)).isEqualTo(world.slots.addressOf(slot));
        }
        world.unmap(device, world.slots.addressOf(1), 0x800);
        world.slots.area(0).startNextSearchAt(2);
        assertThat(world.map(device, 0x800, 0x800))
                .as("31 single steps to 33, 3 strides to checked 127, slot 0 makes 128")
                .isEqualTo(INVALID_PHYS_ADDR);
        world.slots.area(0).startNextSearchAt(3);
        assertThat(world.map(device, 0x800, 0x800)).as("30 single steps").isEqualTo(world.slots.addressOf(1));
    }

    @Test
    @DisplayName("SWS-4: an area is not scanned for more than it has free, even where a run goes on into the next one")
    void runIntoTheNextAreaDoesNotCount() {
        IoTlbPool pool = new IoTlbPool(0, 128, 2);
        for (int slot = 0; slot < 63; slot++) {
            assertThat(pool.allocate(0, 0x800, SLOT, 0, 0, 0, -1)).isEqualTo(slot);
        }
        assertThat(pool.table().freeRun(63)).isEqualTo(65);
        assertThat(pool.allocate(0, 0x800, 2 * SLOT - 1, 0, 0, 0, -1)).isEqualTo(64);
    }

    @Test
    void areaOfOneSlotIsTheSmallest() {
        IoTlbPool pool = new IoTlbPool(0, 2, 2);
        assertThat(pool.areaSlots()).isEqualTo(1);
        assertThat(pool.allocate(1, 0x800, 1, 0, 0, 0, -1)).isEqualTo(1);
        assertThatThrownBy(() -> new IoTlbPool(0, 1, 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a pool of 1 slots cannot have 2 areas");
    }

    private static List<String> broken(PoolWorld world) {
        List<String> broken = new ArrayList<>();
        world.pool.checkStructure(broken::add);
        return broken;
    }

    private static List<String> held(PoolWorld world) {
        List<String> held = new ArrayList<>();
        world.pool.checkIdle(held::add);
        return held;
    }

    @Test
    @DisplayName("SWS-12: a run of free slots that stops short is found")
    void runThatStopsShortIsFound() {
        PoolWorld world = new PoolWorld(128, 1);
        world.slots.table().claim(10, 0, 0);
        assertThat(broken(world))
                .containsExactly("swiotlb pool at 0x2000000+0x40000: slot 9 says that 1 slots are free from there,"
                        + " it is 119");
    }

    @Test
    @DisplayName("SWM-12: a mapping of nothing behind a full slot is one of its own")
    void mappingOfNothingBehindAFullSlotIsSound() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0x7ff);
        assertThat(world.map(device, 0x10000, 0x800)).isEqualTo(world.slots.addressOf(0));
        assertThat(world.map(device, 0x30010, 0)).isEqualTo(world.slots.addressOf(1) + 0x10);
        world.assertSound();
    }

    @Test
    void heldSlotsAreNamedByTheirArea() {
        PoolWorld world = new PoolWorld(256, 2);
        world.map(world.device(0), 1, 0x10000, 0x800, 0);
        assertThat(held(world))
                .containsExactly(
                        "swiotlb pool at 0x2000000+0x80000: area 1 has 1 slots in use, the first is 128 for original"
                                + " 0x10000",
                        "swiotlb pool at 0x2000000+0x80000: 1 slots are in use");
    }

    @Test
    void countWithoutASlotNamesNone() {
        PoolWorld world = new PoolWorld(256, 2);
        world.slots.area(1).addUsed(3);
        assertThat(held(world))
                .containsExactly("swiotlb pool at 0x2000000+0x80000: area 1 has 3 slots in use, the first is none");
    }
}
