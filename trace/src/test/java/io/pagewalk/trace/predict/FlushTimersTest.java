package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class FlushTimersTest {
    private static final String START = "          <idle>-0       [001] d.h3.     3.986568: timer_start: "
            + "timer=000000004e53fbc0 function=fq_flush_timeout expires=1 [timeout=3] cpu=0 idx=59 flags=\n";
    private static final String EXPIRY = "        my-task-172     [000] ..s..     4.001732: timer_expire_entry: "
            + "timer=000000004e53fbc0 function=fq_flush_timeout now=1 baseclk=1\n";

    private static FlushTimers timers(String text) throws IOException {
        return FlushTimers.open(Predictions.stream(text), "timers");
    }

    @Test
    void startsAndExpiriesOfFlushQueuesAreReadInOrder() throws IOException {
        try (FlushTimers timers = timers("# header\n" + START + EXPIRY)) {
            assertThat(timers.name()).isEqualTo("timers");
            assertThat(timers.next()).isEqualTo(new TimerEvent(2, "000000004e53fbc0", false, 1, 3_986_568_000L));
            assertThat(timers.next()).isEqualTo(new TimerEvent(3, "000000004e53fbc0", true, 0, 4_001_732_000L));
            assertThat(timers.next()).isNull();
        }
    }

    @Test
    void otherTimersAndEventsArePassedOver() throws IOException {
        String other = START.replace("fq_flush_timeout", "process_timeout") + "x-1 [000] ..... 1.000000: hello\n"
                + START.replace("timer_start", "timer_cancel");
        try (FlushTimers timers = timers(other + EXPIRY)) {
            assertThat(timers.next())
                    .isNotNull()
                    .extracting(TimerEvent::lineNumber)
                    .isEqualTo(4L);
            assertThat(timers.next()).isNull();
        }
    }

    @Test
    void nanosecondsAndLinesWithoutFlagsAreReadToo() throws IOException {
        String line = "a-1 [003] 5.000000007: timer_start: timer=1 function=fq_flush_timeout expires=1\n";
        try (FlushTimers timers = timers(line)) {
            assertThat(timers.next()).isEqualTo(new TimerEvent(1, "1", false, 3, 5_000_000_007L));
        }
    }

    @Test
    void aRecordOfNoFlushQueueIsNamed() {
        assertThatThrownBy(() -> timers("# nothing\n").next())
                .isInstanceOf(MachineFactsException.class)
                .hasMessage("timers: has no timer_start or timer_expire_entry line of fq_flush_timeout");
    }

    @Test
    void aTimerLineThatCannotBeReadIsNamed() throws IOException {
        String damaged = START + EXPIRY.replace("[000]", "[0x0]");
        try (FlushTimers timers = timers(damaged)) {
            assertThat(timers.next()).isNotNull();
            assertThatThrownBy(timers::next).hasMessage("timers: line 2: no timer event as tracefs prints it");
        }
    }

    @Test
    void timeThatGoesBackIsNamed() throws IOException {
        try (FlushTimers timers = timers(EXPIRY + START)) {
            assertThat(timers.next()).isNotNull();
            assertThatThrownBy(timers::next)
                    .hasMessage("timers: line 2: time goes back, so the record cannot be merged");
        }
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatThrownBy(() -> FlushTimers.open(Path.of("no", "such"))).hasMessageContaining("no such file");
    }
}
