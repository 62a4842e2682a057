package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Time moves only when told to: architecture rule 2. */
class VirtualClockTest {
    private final VirtualClock clock = new VirtualClock();
    private final List<String> fired = new ArrayList<>();

    private KernelTimer timer(String name) {
        return clock.timer(cpu -> fired.add(name + " at " + clock.nowNanos()));
    }

    @Test
    void timersFireByDeadlineThenByTheOrderOfArming() {
        timer("a").arm(20, 0);
        timer("b").arm(10, 0);
        timer("c").arm(20, 0);
        timer("d").arm(10, 0);
        timer("late").arm(21, 0);
        clock.advance(20);

        assertThat(fired).containsExactly("b at 10", "d at 10", "a at 20", "c at 20");
        assertThat(clock.nowNanos()).isEqualTo(20);
        assertThat(clock.armedTimers()).isEqualTo(1);
    }

    @Test
    void aTimerFiresOnceAndRemembersItsCpu() {
        List<Integer> cpus = new ArrayList<>();
        KernelTimer timer = clock.timer(cpus::add);
        assertThat(timer.arm(5, 3)).isTrue();
        assertThat(timer.arm(1, 2)).isFalse();
        clock.advance(100);
        clock.advance(100);

        assertThat(cpus).containsExactly(3);
        assertThat(timer.isArmed()).isFalse();
        assertThat(timer.arm(1, 2)).isTrue();
        clock.advance(1);
        assertThat(cpus).containsExactly(3, 2);
    }

    @Test
    void aCancelledTimerDoesNotFire() {
        KernelTimer timer = timer("a");
        assertThat(timer.cancel()).isFalse();
        timer.arm(5, 0);
        assertThat(timer.cancel()).isTrue();
        assertThat(timer.cancel()).isFalse();
        clock.advance(10);

        assertThat(fired).isEmpty();
        assertThat(clock.armedTimers()).isZero();
    }

    @Test
    void aTimerThatRearmsItselfFiresAgainWithinTheSameAdvance() {
        KernelTimer[] self = new KernelTimer[1];
        self[0] = clock.timer(cpu -> {
            fired.add("tick at " + clock.nowNanos());
            self[0].arm(10, cpu);
        });
        self[0].arm(10, 0);
        clock.advance(35);

        assertThat(fired).containsExactly("tick at 10", "tick at 20", "tick at 30");
        assertThat(clock.nowNanos()).isEqualTo(35);
        clock.advance(5);
        assertThat(fired).hasSize(4);
    }

    @Test
    void aTimerArmedByAnotherAtTheSameMomentFiresAfterThoseArmedBefore() {
        KernelTimer inner = timer("inner");
        clock.timer(cpu -> {
                    fired.add("outer");
                    inner.arm(0, 0);
                })
                .arm(10, 0);
        timer("other").arm(10, 0);
        clock.advance(10);

        assertThat(fired).containsExactly("outer", "other at 10", "inner at 10");
    }

    @Test
    void anAdvanceFromACallbackIsNeverReentrantAndSetsALaterMoment() {
        KernelTimer later = timer("later");
        later.arm(30, 0);
        clock.timer(cpu -> {
                    clock.advanceTo(40);
                    fired.add("callback at " + clock.nowNanos());
                })
                .arm(10, 0);
        clock.advance(20);

        assertThat(fired).containsExactly("callback at 10", "later at 30");
        assertThat(clock.nowNanos()).isEqualTo(40);
    }

    @Test
    void anAdvanceFromACallbackToAnEarlierMomentThanTheTargetChangesNothing() {
        clock.timer(cpu -> clock.advance(5)).arm(10, 0);
        clock.advance(20);

        assertThat(clock.nowNanos()).isEqualTo(20);
    }

    @Test
    void anEarlierMomentChangesNothing() {
        clock.advance(100);
        KernelTimer overdue = timer("overdue");
        overdue.arm(-50, 0);
        clock.advanceTo(99);
        clock.advanceTo(0);
        clock.advanceTo(Long.MIN_VALUE);

        assertThat(fired).isEmpty();
        assertThat(clock.nowNanos()).isEqualTo(100);
        clock.advanceTo(100);
        assertThat(fired).containsExactly("overdue at 100");
    }

    @Test
    void timeCannotGoBack() {
        clock.advance(3);
        assertThatThrownBy(() -> clock.advance(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("time cannot go back by 1 ns");
        assertThat(clock.nowNanos()).isEqualTo(3);
    }

    @Test
    void momentsPastTheEndOfTimeAreTheEndOfTime() {
        clock.advance(10);
        timer("never").arm(Long.MAX_VALUE, 0);
        clock.advance(1000);
        assertThat(fired).isEmpty();

        clock.advance(Long.MAX_VALUE);
        assertThat(clock.nowNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(fired).hasSize(1);
    }

    @Test
    void aCallbackThatThrowsStopsTimeAtItsDeadline() {
        clock.timer(cpu -> {
                    throw new KernelWarnException("stop");
                })
                .arm(10, 0);
        timer("next").arm(15, 0);
        assertThatThrownBy(() -> clock.advance(20)).isInstanceOf(KernelWarnException.class);
        assertThat(clock.nowNanos()).isEqualTo(10);
        assertThat(fired).isEmpty();

        clock.advance(5);
        assertThat(fired).containsExactly("next at 15");
    }

    @Test
    void aTimerIsFoundByItsNameAndTheLatestOfANameCounts() {
        assertThat(clock.named("fq")).isNull();
        KernelTimer first = clock.timer("fq", cpu -> fired.add("first"));
        assertThat(clock.named("fq")).isSameAs(first);
        KernelTimer second = clock.timer("fq", cpu -> fired.add("second"));
        assertThat(clock.named("fq")).isSameAs(second);
        assertThat(clock.named("other")).isNull();
        first.arm(1, 0);
        second.arm(1, 0);
        clock.advance(1);
        assertThat(fired).containsExactly("first", "second");
    }

    @Test
    void aTimerThatIsHeldBackExpiresOnlyWhenTold() {
        List<Integer> cpus = new ArrayList<>();
        KernelTimer timer = clock.timer(cpus::add);
        timer.arm(5, 1);
        timer.holdBack();
        assertThat(timer.isArmed()).isTrue();
        assertThat(clock.armedTimers()).isZero();
        clock.advance(100);
        assertThat(cpus).isEmpty();
        assertThat(timer.expireNow(3)).isTrue();
        assertThat(cpus).containsExactly(3);
        assertThat(timer.isArmed()).isFalse();
        assertThat(timer.expireNow(3)).isFalse();
        assertThat(timer.arm(5, 1)).isTrue();
        assertThat(timer.arm(5, 1)).isFalse();
        clock.advance(100);
        assertThat(timer.isArmed()).isTrue();
        assertThat(timer.cancel()).isTrue();
        assertThat(timer.expireNow(3)).isFalse();
        assertThat(cpus).containsExactly(3);
    }

    @Test
    void aTimerThatTimeFiresMayExpireEarlyAsWell() {
        KernelTimer timer = timer("a");
        timer.arm(10, 0);
        clock.advance(3);
        assertThat(timer.expireNow(0)).isTrue();
        clock.advance(100);
        assertThat(fired).containsExactly("a at 3");
    }

    @Test
    void timersThatKeepFallingDueAtOneMomentEndTheAdvanceWithAnError() {
        KernelTimer[] self = new KernelTimer[1];
        long[] count = new long[1];
        self[0] = clock.timer(cpu -> {
            count[0]++;
            self[0].arm(0, cpu);
        });
        self[0].arm(7, 0);

        assertThatThrownBy(() -> clock.advance(10))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("fell due at 7 ns");
        assertThat(count[0]).isEqualTo(1_000_000);
        assertThat(clock.nowNanos()).isEqualTo(7);
        clock.timer(cpu -> fired.add("later")).arm(5, 0);
        clock.advance(5);
        assertThat(fired).as("time goes on").containsExactly("later");
    }
}
