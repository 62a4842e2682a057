package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which reuses of addresses the flushes of a queue allow; times in milliseconds. */
class FlushChancesTest {
    private final FlushChances flushes = new FlushChances();

    private void unmap(long millis) {
        flushes.unmap(0, millis * 1_000_000);
    }

    private boolean reuse(long unmapped, long taken) {
        return flushes.reuse(unmapped * 1_000_000, taken * 1_000_000);
    }

    @Test
    void theTimerTakesAtLeastATickFromTheFirstUnmapOn() {
        unmap(100);
        assertThat(reuse(100, 103)).isFalse();
    }

    @Test
    void aTickLaterTheTimerMayHaveExpired() {
        unmap(100);
        assertThat(reuse(100, 104)).isTrue();
    }

    @Test
    void anUnmapJustBeforeTheTimersExpiryIsFlushedAtOnce() {
        unmap(100);
        unmap(109);
        assertThat(reuse(109, 110)).isTrue();
    }

    @Test
    void oneFlushServesAllThatWereUnmappedBeforeIt() {
        unmap(100);
        unmap(101);
        unmap(102);
        assertThat(reuse(100, 110)).isTrue();
        assertThat(reuse(101, 111)).isTrue();
        assertThat(reuse(102, 112)).isTrue();
    }

    @Test
    void twoFlushesOfTheTimerAreAtLeastATickApart() {
        unmap(100);
        assertThat(reuse(100, 110)).isTrue(); // at 104 or later
        unmap(111);
        assertThat(reuse(111, 112)).isTrue(); // at 108 or later, so at 112
        unmap(113);
        assertThat(reuse(113, 114)).isFalse(); // not before 115
        unmap(120);
        assertThat(reuse(120, 121)).isTrue();
    }

    @Test
    void aLateUnmapMakesTheFlushThatServesItLate() {
        unmap(100);
        unmap(110);
        assertThat(reuse(100, 110)).isTrue();
        assertThat(reuse(110, 120)).isTrue(); // the same flush, then at 110
        unmap(111);
        assertThat(reuse(111, 113)).isFalse(); // not before 114
    }

    @Test
    void aFullQueueIsFlushedAtOnceAndLeavesTheTimerAlone() {
        for (int i = 0; i < 254; i++) {
            unmap(100);
        }
        assertThat(reuse(100, 101)).isFalse();
        FlushChances full = new FlushChances();
        for (int i = 0; i < 255; i++) {
            full.unmap(0, 100_000_000);
        }
        assertThat(full.reuse(100_000_000, 101_000_000)).isTrue();
        full.unmap(0, 104_000_000);
        assertThat(full.reuse(104_000_000, 104_500_000)).isTrue();
    }

    @Test
    void unmapsOfAllCpusDoNotAddUp() {
        for (int i = 0; i < 254; i++) {
            flushes.unmap(i & 1, 100_000_000);
            flushes.unmap(2, 100_000_000);
        }
        assertThat(reuse(100, 101)).isFalse();
    }
}
