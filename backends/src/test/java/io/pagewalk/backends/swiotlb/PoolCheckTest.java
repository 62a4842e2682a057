package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The checks find what is broken, and name it. */
class PoolCheckTest {
    private final PoolWorld world = new PoolWorld(256, 2);
    private final Device device = world.device(0);

    private List<String> broken() {
        List<String> broken = new ArrayList<>();
        world.pool.checkStructure(broken::add);
        return broken;
    }

    @Test
    void slotInUseIsHeld() {
        world.map(device, 0x10000, 0x900);
        List<String> held = new ArrayList<>();
        world.pool.checkIdle(held::add);
        assertThat(held).hasSize(2);
        assertThat(held.get(0)).contains("area 0 has 2 slots in use, the first is 0 for original 0x10000");
        assertThat(broken()).isEmpty();
    }

    @Test
    void wrongCounterOfAnAreaIsFound() {
        world.slots.area(1).addUsed(1);
        assertThat(broken()).singleElement().asString().contains("area 1 counts 1 slots in use, 0 are");
    }

    @Test
    void lostSlotIsFound() {
        world.slots.table().claim(5, 1, 0x800);
        assertThat(broken())
                .anyMatch(v -> v.contains("area 0 counts 0 slots in use, 1 are"))
                .anyMatch(v -> v.contains("its areas use 1 slots, its total says 0"));
    }

    @Test
    void wrongIndexIsFound() {
        world.slots.area(0).startNextSearchAt(128);
        assertThat(broken()).singleElement().asString().contains("the index of area 0 is 128 of 128");
    }

    @Test
    void originalOfAFreeSlotIsFound() {
        world.slots.table().describe(7, 1, 0x5000, 3);
        assertThat(broken())
                .singleElement()
                .asString()
                .contains("free slot 7 holds original 0x5000, size 0x0 and 3 padding");
    }

    @Test
    void mappingTornApartIsFound() {
        world.map(device, 0x10000, 0x1800);
        world.slots.table().release(1, 1);
        assertThat(broken()).anyMatch(v -> v.contains("slot 0 has 0x1800 bytes to go, slot 1 has 0x0"));
    }

    @Test
    void mappingWithAJumpInItsOriginalIsFound() {
        world.map(device, 0x10000, 0x1800);
        world.slots.table().describe(1, 1, 0x90000, 0);
        assertThat(broken()).anyMatch(v -> v.contains("slot 0 bounces 0x10000, slot 1 0x90000"));
    }

    @Test
    void wrongRunOfFreeSlotsIsFound() {
        world.slots.table().claim(5, 1, 0x800);
        world.slots.table().release(5, 0);
        world.slots.table().claim(4, 1, 0x800);
        assertThat(broken()).isNotEmpty();
    }
}
