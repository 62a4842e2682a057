package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.TraceHeader;
import org.junit.jupiter.api.Test;

class TaskContextTest {
    private static TaskContext of(int pid, int cpu, String flags) {
        return TaskContext.of(new TraceHeader(1, "t", pid, cpu, flags, 0));
    }

    @Test
    void aTaskIsTheSameOnEveryCpu() {
        assertThat(of(7, 0, ".....")).isEqualTo(of(7, 1, "d..1."));
        assertThat(of(7, 0, ".....")).isNotEqualTo(of(8, 0, "....."));
    }

    @Test
    void anIdleTaskAndAnInterruptAreOfTheirCpu() {
        assertThat(of(0, 0, ".....")).isNotEqualTo(of(0, 1, "....."));
        assertThat(of(7, 0, "d.h1.")).isNotEqualTo(of(7, 1, "d.h1."));
        assertThat(of(7, 0, "d.h1.")).isEqualTo(of(7, 0, "dNh2."));
    }

    @Test
    void deeperLevelsInterruptOnlyTheirOwnTask() {
        assertThat(of(7, 0, "..s1.").interrupts(of(7, 0, "....."))).isTrue();
        assertThat(of(7, 0, "d.h1.").interrupts(of(7, 0, "..s1."))).isTrue();
        assertThat(of(7, 0, "d.H1.").interrupts(of(7, 0, "d.h1."))).isTrue();
        assertThat(of(7, 0, ".....").interrupts(of(7, 0, "....."))).isFalse();
        assertThat(of(7, 0, "..s1.").interrupts(of(7, 0, "d.h1."))).isFalse();
        assertThat(of(8, 0, "d.h1.").interrupts(of(7, 0, "....."))).isFalse();
    }

    @Test
    void withoutFlagsThereAreOnlyTasks() {
        assertThat(of(7, 0, "")).isEqualTo(of(7, 1, "....."));
        assertThat(of(7, 0, "d.").level()).isZero();
        assertThat(of(7, 0, "d.x1.").level()).isZero();
    }
}
