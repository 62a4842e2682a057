package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent.SwiotlbBounced;
import io.pagewalk.trace.TraceHeader;
import org.junit.jupiter.api.Test;

class AttemptsTest {
    private static final TraceHeader HEADER = TraceHeader.ofCpu(1, 0);
    private final Attempts attempts = new Attempts();

    private static SwiotlbBounced bounce(long physAddr) {
        return new SwiotlbBounced(HEADER, "dev", -1L, physAddr, 512, true);
    }

    private static SgEvent.MapSg list(int fullNents, long... physAddrs) {
        boolean truncated = fullNents != physAddrs.length;
        return new SgEvent.MapSg(
                HEADER,
                "dev",
                DmaDirection.TO_DEVICE,
                physAddrs,
                physAddrs.clone(),
                new long[physAddrs.length],
                fullNents,
                fullNents,
                truncated,
                0);
    }

    @Test
    void aListTakesItsBouncesLatestFirstAndLeavesEarlierAttempts() {
        Attempts.Attempt failed = attempts.begin();
        failed.add(bounce(1), 100);
        failed.add(bounce(2), -1L);
        assertThat(failed.hasFailed()).isTrue();
        Attempts.Attempt second = attempts.begin();
        second.add(bounce(1), 300);
        second.add(bounce(2), 400);
        Attempts.Claim claim = attempts.claim(list(2, 1, 2));
        assertThat(claim.addrs()).containsExactly(300, 400);
        assertThat(claim.sizes()).containsExactly(512, 512);
        assertThat(attempts.all()).containsExactly(failed);
        assertThat(failed.bounces()).hasSize(2);
    }

    @Test
    void whatAListDoesNotTakeOfAnAttemptStays() {
        Attempts.Attempt attempt = attempts.begin();
        attempt.add(bounce(9), 100);
        attempt.add(bounce(1), 200);
        Attempts.Claim claim = attempts.claim(list(2, 7, 1));
        assertThat(claim.has(0)).isFalse();
        assertThat(claim.has(1)).isTrue();
        assertThat(claim.addrs()[1]).isEqualTo(200);
        assertThat(attempts.current()).isSameAs(attempt);
        assertThat(attempt.bounces()).hasSize(1);
        assertThat(attempt.last().dmaAddr()).isEqualTo(100);
    }

    /** The kernel prints 128 entries; the bounces of the rest are the list's too. */
    @Test
    void bouncesBeyondThePrintedEntriesBelongToALongList() {
        Attempts.Attempt attempt = attempts.begin();
        for (int i = 1; i <= 4; i++) {
            attempt.add(bounce(i), 100L * i);
        }
        Attempts.Claim claim = attempts.claim(list(4, 1, 2));
        assertThat(claim.addrs()).containsExactly(100, 200, 300, 400);
        assertThat(attempts.current()).isNull();
    }

    @Test
    void aLongListOfWhichNotAllBouncedHasOnlyItsPrintedEntries() {
        attempts.begin().add(bounce(2), 200);
        Attempts.Claim claim = attempts.claim(list(4, 1, 2));
        assertThat(claim.addrs()).containsExactly(0, 200);
    }

    @Test
    void entriesOfAFailedAttemptAreNowhere() {
        Attempts.Attempt failed = attempts.begin();
        failed.add(bounce(1), 100);
        failed.add(bounce(2), -1L);
        assertThat(attempts.claim(list(2, 1, 2)).addrs()).containsExactly(-1, -1);
        assertThat(attempts.current()).isNull();
    }

    @Test
    void aPageTakesTheLastBounceWhenItIsItsOwn() {
        Attempts.Attempt attempt = attempts.begin();
        attempt.add(bounce(1), 100);
        attempt.add(bounce(2), 200);
        assertThat(attempts.takeLast("dev", 1, 512)).isNull();
        assertThat(attempts.takeLast("other", 2, 512)).isNull();
        assertThat(attempts.takeLast("dev", 2, 511)).isNull();
        assertThat(attempts.takeLast("dev", 2, 512)).isEqualTo(new Attempts.Bounce(bounce(2), 200));
        assertThat(attempts.current()).isSameAs(attempt);
        assertThat(attempts.takeLast("dev", 1, 512)).isNotNull();
        assertThat(attempts.current()).isNull();
        assertThat(attempts.takeLast("dev", 1, 512)).isNull();
    }

    @Test
    void theOldestOf64AttemptsGivesWay() {
        Attempts.Attempt first = attempts.begin();
        for (int i = 1; i < 64; i++) {
            assertThat(attempts.limit()).isNull();
            attempts.begin();
        }
        assertThat(attempts.limit()).isSameAs(first);
        assertThat(attempts.limit()).isNull();
    }
}
