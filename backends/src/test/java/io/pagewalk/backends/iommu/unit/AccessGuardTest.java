package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The guarantees that {@link AccessGuard} lists. */
@Timeout(60)
class AccessGuardTest {
    @Test
    void anIdleGuardDrainsAtOnce() {
        AccessGuard guard = new AccessGuard(4);
        for (int i = 0; i < 10; i++) {
            guard.end(guard.begin());
            guard.drain();
        }

        assertThat(guard.inFlight()).isZero();
    }

    @Test
    void accessesAreCountedInAnyOrderOfEnding() {
        AccessGuard guard = new AccessGuard(2);
        long first = guard.begin();
        long second = guard.begin();

        assertThat(guard.inFlight()).isEqualTo(2);
        guard.end(first);
        guard.end(second);
        assertThat(guard.inFlight()).isZero();
    }

    @Test
    void drainReturnsOnlyAfterTheAccessesThatBeganBefore() throws InterruptedException {
        AccessGuard guard = new AccessGuard(1);
        for (int round = 0; round < 200; round++) {
            long token = guard.begin();
            AtomicBoolean ended = new AtomicBoolean();
            AtomicBoolean drainedTooEarly = new AtomicBoolean();
            CountDownLatch draining = new CountDownLatch(1);
            Thread drainer = new Thread(() -> {
                draining.countDown();
                guard.drain();
                drainedTooEarly.set(!ended.get());
            });
            drainer.start();
            draining.await();
            guard.end(guard.begin());
            ended.set(true);
            guard.end(token);
            drainer.join();
            assertThat(drainedTooEarly).isFalse();
        }
    }

    /** Somebody is always inside, but nobody for ever: a drain that waited for emptiness would not end. */
    @Test
    void drainDoesNotWaitForAccessesThatBeginLater() throws InterruptedException {
        AccessGuard guard = new AccessGuard(1);
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch started = new CountDownLatch(1);
        Thread overlapping = new Thread(() -> {
            long inside = guard.begin();
            started.countDown();
            while (!stop.get()) {
                long next = guard.begin();
                guard.end(inside);
                inside = next;
            }
            guard.end(inside);
        });
        overlapping.start();
        started.await();

        for (int i = 0; i < 1000; i++) {
            guard.drain();
        }

        stop.set(true);
        overlapping.join();
        guard.drain();
        assertThat(guard.inFlight()).isZero();
    }

    /**
     * A writer takes a resource away, drains, and poisons it; readers who found it must not meet the poison. This is what an
     * invalidation does with a page.
     */
    @Test
    void nobodyIsInsideWithWhatWasTakenAwayBeforeTheDrain() throws InterruptedException {
        AccessGuard guard = new AccessGuard(2);
        AtomicInteger published = new AtomicInteger(-1);
        AtomicLong[] resources = new AtomicLong[64];
        for (int i = 0; i < resources.length; i++) {
            resources[i] = new AtomicLong();
        }
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong poisoned = new AtomicLong();
        Runnable reading = () -> {
            while (!stop.get()) {
                long token = guard.begin();
                int found = published.get();
                if (found >= 0) {
                    poisoned.addAndGet(resources[found % resources.length].get() == found ? 0 : 1);
                }
                guard.end(token);
            }
        };
        Thread one = new Thread(reading);
        Thread two = new Thread(reading);
        one.start();
        two.start();

        for (int i = 0; i < 20_000; i++) {
            resources[i % resources.length].set(i);
            published.set(i);
            published.set(-1);
            guard.drain();
            resources[i % resources.length].set(-1);
        }

        stop.set(true);
        one.join();
        two.join();
        assertThat(poisoned).hasValue(0);
    }
}
