package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Timers against a sorted list: architecture rule 2. */
class VirtualClockProperties {
    private record Armed(int index, long deadline) {}

    @Property
    void howTimeIsCutIntoStepsChangesNeitherOrderNorMoments(
            @ForAll @Size(max = 12) List<@IntRange(max = 30) Integer> delays,
            @ForAll @Size(min = 1, max = 8) List<@IntRange(max = 20) Integer> steps) {
        VirtualClock clock = new VirtualClock();
        List<Armed> fired = new ArrayList<>();
        List<Armed> expected = new ArrayList<>();
        for (int i = 0; i < delays.size(); i++) {
            int index = i;
            clock.timer(cpu -> fired.add(new Armed(index, clock.nowNanos()))).arm(delays.get(i), 0);
            expected.add(new Armed(i, delays.get(i)));
        }
        steps.forEach(clock::advance);
        long end = steps.stream().mapToLong(Integer::longValue).sum();
        expected.removeIf(armed -> armed.deadline() > end);
        expected.sort(Comparator.comparingLong(Armed::deadline).thenComparingInt(Armed::index));

        assertThat(fired).isEqualTo(expected);
        assertThat(clock.nowNanos()).isEqualTo(end);
        assertThat(clock.armedTimers()).isEqualTo(delays.size() - expected.size());
    }
}
