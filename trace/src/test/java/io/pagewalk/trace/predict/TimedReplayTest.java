package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NIC;
import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.MachineSpec;
import java.io.IOException;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** A lazy IOMMU whose flushes come at the recorded moments; line n of a trace is n milliseconds behind the second. */
class TimedReplayTest {
    private static final long PAGE = 0x1000;
    private static final long TOP = 0xffff_f000L;

    private final Lines lines = new Lines();
    private final StringBuilder record = new StringBuilder();

    private void page(String device, long iova) {
        lines.map(iova, 0x5000, PAGE).mapPage(device, iova, 0x5000, PAGE);
    }

    private void unmapPage(String device, long iova) {
        lines.unmap(iova, PAGE).unmapPage(device, iova, PAGE);
    }

    private void timer(String event, String hash, int micros) {
        record.append(String.format(
                Locale.ROOT,
                "  a-1 [000] ..s.. 1.%06d: %s: timer=%s function=fq_flush_timeout now=1%n",
                micros,
                event,
                hash));
    }

    private Predictions predicted() throws IOException {
        try (FlushTimers timers = FlushTimers.open(Predictions.stream(record.toString()), "timers");
                TraceReader reader = TraceReader.open(Predictions.stream(lines.toString()), "trace")) {
            return Predictions.run(reader, Predictions.log(Predictions.LAZY), MachineSpec.DEFAULT, timers);
        }
    }

    @Test
    void anAddressComesBackOnlyBehindTheRecordedExpiryHoweverLateItIs() throws IOException {
        page(NVME, TOP);
        unmapPage(NVME, TOP); // at 3 ms
        timer("timer_start", "aa", 3_001);
        lines.after(400_000);
        page(NVME, TOP - PAGE);
        lines.after(400_000); // at 807 ms
        timer("timer_expire_entry", "aa", 806_000);
        page(NVME, TOP);
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().timers()).isEqualTo(new TimerFigures(1, 1, 1, 1, 1));
        assertThat(prediction.result().ok()).isTrue();
        assertThat(prediction.result().overlappedMoved()).isNull();
    }

    @Test
    void anExpiryAtTheTimeOfALineComesBeforeItAndAStartBehindIt() throws IOException {
        page(NVME, TOP);
        unmapPage(NVME, TOP); // at 3 ms
        timer("timer_start", "aa", 3_000);
        timer("timer_expire_entry", "aa", 5_000);
        page(NVME, TOP); // at 5 ms
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().timers()).isEqualTo(new TimerFigures(1, 1, 1, 1, 1));
    }

    @Test
    void theFirstStartOfAHashBelongsToTheDeviceThatArmedItsTimer() throws IOException {
        page(NVME, TOP);
        page(NIC, TOP);
        unmapPage(NVME, TOP); // at 5 ms
        timer("timer_start", "aa", 5_001);
        unmapPage(NIC, TOP); // at 7 ms
        timer("timer_start", "bb", 7_001);
        timer("timer_expire_entry", "bb", 8_001);
        page(NIC, TOP);
        page(NVME, TOP - PAGE);
        timer("timer_expire_entry", "aa", 12_500);
        page(NVME, TOP);
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().timers()).isEqualTo(new TimerFigures(2, 2, 2, 2, 2));
    }

    @Test
    void startsAndExpiriesThatTheMachineDoesNotShareAreCounted() throws IOException {
        page(NVME, TOP);
        timer("timer_start", "aa", 2_500);
        timer("timer_expire_entry", "aa", 2_600);
        unmapPage(NVME, TOP);
        timer("timer_expire_entry", "bb", 3_500);
        timer("timer_start", "bb", 3_600);
        page(NVME, TOP);
        assertThat(predicted().result().timers()).isEqualTo(new TimerFigures(1, 2, 0, 2, 1));
    }
}
