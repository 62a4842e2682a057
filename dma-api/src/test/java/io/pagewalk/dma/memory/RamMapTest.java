package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class RamMapTest {

    private static final long GIB = 1L << 30;

    @Test
    void aPcHasAHoleBelow4GiB() {
        RamMap ram = RamMap.sizedWithHole(8 * GIB);

        assertThat(ram.ranges()).containsExactly(new PhysRange(0, 3 * GIB - 1), new PhysRange(4 * GIB, 9 * GIB - 1));
        assertThat(ram.contains(3 * GIB - 1, 1)).isTrue();
        assertThat(ram.contains(3 * GIB - 1, 2)).isFalse();
        assertThat(ram.contains(RamMap.PC_HOLE_FIRST, 1)).isFalse();
        assertThat(ram.contains(RamMap.PC_HOLE_LAST, 1)).isFalse();
        assertThat(ram.top()).isEqualTo(9 * GIB - 1);
        assertThat(ram.maxPfn()).isEqualTo((9 * GIB) >>> 12);
        assertThat(ram.sizeBytes()).isEqualTo(8 * GIB);
    }

    @Test
    void aPcWithUpTo3GiBHasNoRamAboveTheHole() {
        assertThat(RamMap.sizedWithHole(3 * GIB).ranges()).containsExactly(new PhysRange(0, 3 * GIB - 1));
        assertThat(RamMap.sizedWithHole(3 * GIB + 4096).top()).isEqualTo(4 * GIB + 4095);
    }

    @Test
    void rangesThatTouchStayApartInTheListButAreOneStretchOfRam() {
        RamMap ram = RamMap.of(new PhysRange(200, 299), new PhysRange(100, 199));

        assertThat(ram.ranges()).containsExactly(new PhysRange(100, 199), new PhysRange(200, 299));
        assertThat(ram.contains(150, 100)).isTrue();
        assertThat(ram.bytesFrom(150)).isEqualTo(150);
    }

    @Test
    void rangesThatOverlapAreRefused() {
        assertThatThrownBy(() -> RamMap.of(new PhysRange(0, 0x1fff), new PhysRange(0x1fff, 0x2fff)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("RAM ranges [0x0, 0x1fff] and [0x1fff, 0x2fff] overlap");
        assertThatThrownBy(RamMap::of).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void ramMayReachTheLastAddress() {
        RamMap ram = RamMap.of(new PhysRange(-4096, -1));

        assertThat(ram.contains(-4096, 4096)).isTrue();
        assertThat(ram.contains(-1, 2)).isFalse();
        assertThat(ram.bytesFrom(-4096)).isEqualTo(4096);
        assertThat(ram.maxPfn()).isEqualTo(1L << 52);
    }

    @Test
    void maxPfnLeavesOutAFrameThatIsNotWhole() {
        assertThat(RamMap.of(new PhysRange(0, 0x2ffe)).maxPfn()).isEqualTo(2);
        assertThat(RamMap.of(new PhysRange(0, 0x2fff)).maxPfn()).isEqualTo(3);
        assertThat(RamMap.of(new PhysRange(0, 0x3000)).maxPfn()).isEqualTo(3);
    }

    @Test
    void whatIsNotRamIsRefusedByAddressAndSize() {
        assertThatThrownBy(() -> RamMap.sizedWithHole(GIB).require(GIB - 4, 8))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("physical address 0x3ffffffc+0x8 is not RAM");
    }

    @Test
    void aRangeEndsNotBeforeItStarts() {
        assertThat(PhysRange.ofSize(16, 16)).isEqualTo(new PhysRange(16, 31));
        assertThat(new PhysRange(16, 31).sizeBytes()).isEqualTo(16);
        assertThatThrownBy(() -> new PhysRange(-1, 1)).hasMessageContaining("0xffffffffffffffff");
        assertThatThrownBy(() -> PhysRange.ofSize(16, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> PhysRange.ofSize(-16, 17)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void mapsOfTheSameRangesAreEqual() {
        assertThat(RamMap.sizedWithHole(GIB))
                .isEqualTo(RamMap.of(new PhysRange(0, GIB - 1)))
                .hasSameHashCodeAs(RamMap.of(new PhysRange(0, GIB - 1)))
                .isNotEqualTo(RamMap.sizedWithHole(2 * GIB))
                .hasToString("RAM [[0x0, 0x3fffffff]]");
    }
}
