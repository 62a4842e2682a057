package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BlockRunsTest {

    private final BlockRuns runs = new BlockRuns(2);

    @Test
    void neighboursAreOneRun() {
        runs.add(8);
        runs.add(16);
        runs.add(12);

        assertThat(runs).hasToString("order 2: {2=4}");
        assertThat(runs.contains(8)).isTrue();
        assertThat(runs.contains(19)).isTrue();
        assertThat(runs.contains(20)).isFalse();
        assertThat(runs.contains(4)).isFalse();
    }

    @Test
    void theLowestBlockIsTakenFirst() {
        runs.addAll(8, 19);
        runs.add(0);

        assertThat(runs.takeLowest()).isZero();
        assertThat(runs.takeLowest()).isEqualTo(8);
        assertThat(runs).hasToString("order 2: {3=4}");
    }

    @Test
    void removingCutsAllRunsThatARangeTouches() {
        runs.addAll(0, 7);
        runs.add(16);
        runs.addAll(24, 39);

        runs.removeAll(7, 25);

        assertThat(runs).hasToString("order 2: {0=0, 7=9}");
        runs.removeAll(0, 100);
        assertThat(runs.isEmpty()).isTrue();
    }

    @Test
    void removingTheMiddleOfARunLeavesBothEnds() {
        runs.addAll(0, 19);
        runs.remove(8);
        assertThat(runs).hasToString("order 2: {0=1, 3=4}");
    }

    @Test
    void framesAreCountedToTheFrame() {
        runs.addAll(0, 7);
        runs.addAll(12, 19);

        assertThat(runs.framesWithin(0, 100)).isEqualTo(16);
        assertThat(runs.framesWithin(6, 13)).isEqualTo(4);
        assertThat(runs.framesWithin(8, 11)).isZero();
        assertThat(runs.framesWithin(13, 14)).isEqualTo(2);
    }
}
