package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.predict.PredictionResult.Judgement;
import io.pagewalk.trace.replay.MachineSpec;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The addresses that a real kernel gave out, from its boot log and its trace. */
class RecordedPredictionsTest {
    private static void assertAllOf(Predictions prediction, Map<AddressKind, Long> judged) {
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().inLineOrder().judged()).isEqualTo(judged);
        assertThat(prediction.result().inLineOrder().predicted()).isEqualTo(judged);
        assertThat(prediction.result().ok()).isTrue();
    }

    @Test
    void everyAddressOfTheBundledTraceComesOutOfItsBundledBootLog() throws IOException {
        try (TraceReader reader = BundledTrace.open()) {
            Predictions prediction = Predictions.run(reader, BootLog.bundled(), MachineSpec.DEFAULT, null);
            assertAllOf(prediction, Map.of(AddressKind.PAGE, 9147L, AddressKind.SEGMENT, 11642L));
            assertThat(prediction.result().notJudged()).isEqualTo(Map.of(NotJudged.ALLOC, 17L));
            assertThat(prediction.result().machine().backend())
                    .isEqualTo("direct, bounced where a mask does not reach");
        }
    }

    @Test
    void everyBounceOfAForcedPoolComesOut() throws IOException {
        Predictions prediction = Predictions.recorded("predict/swiotlb.txt.gz", Predictions.logOf("swiotlb"), null);
        assertAllOf(prediction, Map.of(AddressKind.PAGE, 46L, AddressKind.SEGMENT, 474L));
        assertThat(prediction.result().machine().backend()).isEqualTo("swiotlb, every mapping bounced");
    }

    /** The whole trace: 1,071 failed pages, and 223 lists that failed without a line. */
    @Test
    void everyAddressAndEveryFailureOfAPoolThatIsTooSmallComesOut() throws IOException {
        Predictions prediction = Predictions.recorded("traces/trace-fail.txt.gz", Predictions.logOf("fail"), null);
        assertAllOf(
                prediction,
                Map.of(
                        AddressKind.PAGE,
                        4188L,
                        AddressKind.SEGMENT,
                        3340L,
                        AddressKind.FAILED_PAGE,
                        1071L,
                        AddressKind.FAILED_LIST,
                        223L));
        assertThat(prediction.result().notJudged())
                .isEqualTo(Map.of(NotJudged.ALLOC, 13L, NotJudged.BOUNCE_OF_FAILED_LIST, 64L));
    }

    @Test
    void aStrictIommuMissesOnlyTheOverlappedCallInLineOrderAndNoneOnceItIsMoved() throws IOException {
        Predictions prediction = Predictions.recorded("predict/strict.txt.gz", Predictions.logOf("strict"), null);
        assertThat(prediction.messages())
                .containsExactly("line 15743: fio-335 on CPU 0: 0000:00:04.0: page recorded at 0xffca2000, predicted"
                        + " 0xffca0000");
        assertThat(prediction.misses().get(0).order()).isEqualTo(Miss.Order.OF_LINES);
        assertThat(prediction.moves()).containsExactly(new Move(15742, 15740, "fio-335", "0000:00:04.0", 0xffca2000L));
        PredictionResult result = prediction.result();
        assertThat(result.moves()).isEqualTo(1);
        assertThat(result.inLineOrder().allJudged()).isEqualTo(2424);
        assertThat(result.inLineOrder().allPredicted()).isEqualTo(2423);
        assertThat(result.inLineOrder().isComplete()).isFalse();
        assertThat(result.deciding().judged())
                .isEqualTo(Map.of(AddressKind.PAGE, 2121L, AddressKind.LIST, 292L, AddressKind.COHERENT, 11L));
        assertThat(result.deciding().isComplete()).isTrue();
        assertThat(result.ok()).isTrue();
        assertThat(result.notJudged()).isEqualTo(Map.of(NotJudged.MAP_WITHOUT_CALL, 1L));
    }

    @Test
    void aLazyIommuComesOutWhenItsTimersExpireAtTheRecordedMoments() throws IOException {
        try (FlushTimers timers = FlushTimers.open(Predictions.resource("predict/fqtimer-lazy1.txt.gz"), "timers")) {
            Predictions prediction = Predictions.recorded("predict/lazy1.txt.gz", Predictions.logOf("lazy1"), timers);
            assertAllOf(prediction, Map.of(AddressKind.PAGE, 565L, AddressKind.COHERENT, 11L));
            assertThat(prediction.result().judgement()).isEqualTo(Judgement.PREDICTED);
            assertThat(prediction.result().timers()).isEqualTo(new TimerFigures(4, 15, 15, 14, 14));
        }
    }

    @Test
    void aLazyIommuWithoutItsTimersIsJudgedByValidity() throws IOException {
        Predictions prediction = Predictions.recorded("predict/lazy.txt.gz", Predictions.logOf("lazy"), null);
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().judgement()).isEqualTo(Judgement.VALID);
        assertThat(prediction.result().timers()).isNull();
        assertThat(prediction.result().ok()).isTrue();
    }

    /** Two CPUs, no column of flags: trace-cmd and perf tell as much as is needed. */
    @Test
    void otherFormatsPredictAsWell() throws IOException {
        assertAllOf(
                Predictions.recorded("traces/tc-strict.report.txt.gz", Predictions.logOf("strict"), null),
                Map.of(AddressKind.PAGE, 535L, AddressKind.LIST, 98L, AddressKind.COHERENT, 17L));
        assertAllOf(
                Predictions.recorded("traces/perf-strict.script.txt.gz", Predictions.logOf("strict"), null),
                Map.of(AddressKind.PAGE, 524L, AddressKind.LIST, 108L, AddressKind.COHERENT, 17L));
    }

    @Test
    void withoutTheDriversAlignmentBouncesOfADiskMiss() throws Exception {
        MachineSpec spec = MachineSpec.parse("m", "{\"drivers\":{\"nvme\":{\"minAlignMask\":0}}}");
        try (TraceReader reader =
                TraceReader.open(Predictions.resource("predict/swiotlb.txt.gz"), "predict/swiotlb.txt.gz")) {
            Predictions prediction = Predictions.run(reader, Predictions.logOf("swiotlb"), spec, null);
            assertThat(prediction.result().ok()).isFalse();
            assertThat(prediction.result().inLineOrder().allPredicted()).isEqualTo(518);
            assertThat(prediction.misses())
                    .hasSize(2)
                    .allMatch(miss -> miss.device().equals("0000:00:04.0"));
        }
    }
}
