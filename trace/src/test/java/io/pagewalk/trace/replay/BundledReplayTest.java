package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.FailureReason;
import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.replay.ReplayResult.Content;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The bundled trace, whole, on every backend there is. */
class BundledReplayTest {
    private static final long POOL_BYTES = 64L << 20;

    @ParameterizedTest
    @EnumSource(Touch.class)
    void theBundledTraceRunsWithoutAMismatchOnEveryBackend(Touch touch) throws IOException {
        ReplayOptions options =
                Replays.UNTIMED.withBackends(Replays.soundBackends()).withTouch(touch);
        ReplayResult result = Replays.of(BundledTrace.open(), options);
        assertThat(result.content()).isEqualTo(Content.REPLAYED);
        assertThat(result.anomalies()).isEmpty();
        assertThat(result.backends()).hasSizeGreaterThanOrEqualTo(3);
        assertThat(result.backends()).allSatisfy(BundledReplayTest::isSound);
        if (touch == Touch.FULL) {
            Tally direct = result.backends().get(0).total();
            assertThat(direct.bytesVerified()).isGreaterThanOrEqualTo(direct.bytesMapped());
        }
    }

    private static void isSound(BackendResult backend) {
        Tally total = backend.total();
        assertThat(backend.ok()).as("%s: %s", backend.name(), backend).isTrue();
        assertThat(total.mapsTried()).isEqualTo(9147 + 405);
        assertThat(Replays.accountedFor(total)).isEqualTo(total.mapsTried());
        assertThat(total.mapsDone() + total.failed()).isEqualTo(total.mapsTried());
        assertThat(total.stillLive()).isZero();
        assertThat(total.allocsDone()).isEqualTo(17);
        assertThat(total.frees()).isEqualTo(17);
        assertThat(total.staleReads() + total.blockedReads()).isEqualTo(total.unmaps());
        assertThat(total.staleReads()).isLessThanOrEqualTo(backend.blocksAfterUnmap() ? 0 : total.unmaps());
        assertThat(total.failuresByReason()).isEqualTo(expectedFailures(backend.name()));
        assertThat(backend.byDevice().values().stream().reduce(Tally.ZERO, Tally::plus))
                .isEqualTo(total);
        assertThat(backend.residentBytes()).isLessThan(POOL_BYTES + (16L << 20));
    }

    /** 65 single mappings and 4 lists have a piece of more than 256 KiB, which cannot bounce. */
    private static Map<FailureReason, Long> expectedFailures(String backend) {
        return backend.equals("swiotlb") ? Map.of(FailureReason.EXCEEDS_MAX_MAPPING, 65L + 4L) : Map.of();
    }
}
