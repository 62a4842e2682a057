package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.rdma.AccessFlags;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Registrations of one process from several threads (rdma:UMEM-10). */
class UmemConcurrencyTest {
    private static final int THREADS = 3;
    private static final int ROUNDS = 300;
    private static final int LIMIT_PAGES = 40;

    private final UmemWorld world = Worlds.on("iommu-strict");
    private final long area = world.anon(64);
    private final AtomicLong live = new AtomicLong();

    private int registerAndRelease(int thread) {
        UmemResult result = new UmemResult();
        int made = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int pages = 1 + (round * 7 + thread) % 30;
            int error = world.umems.get(
                    world.device,
                    thread % 2,
                    world.process,
                    area + (long) thread * PAGE,
                    (long) pages * PAGE,
                    AccessFlags.LOCAL_WRITE,
                    result);
            if (error == 0) {
                assertThat(live.addAndGet(pages)).isLessThanOrEqualTo(LIMIT_PAGES);
                live.addAndGet(-pages);
                result.umem().close();
                made++;
            } else {
                assertThat(result.failure().reason()).isEqualTo(UmemFailureReason.MEMLOCK_LIMIT);
            }
        }
        return made;
    }

    @Test
    @DisplayName("rdma:UMEM-10: the limit holds for what is registered at the same time, and nothing is lost")
    void theLimitHoldsForWhatIsRegisteredAtTheSameTime() throws Exception {
        world.process.setMemlockLimit((long) LIMIT_PAGES * PAGE);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<Integer>> counts = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            int number = thread;
            counts.add(threads.submit(() -> registerAndRelease(number)));
        }
        threads.shutdown();
        assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();

        int made = 0; // a thread whose calls all meet another's charge makes none
        for (Future<Integer> count : counts) {
            made += count.get();
        }
        assertThat(made).isPositive();
        assertThat(world.pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.machine.scatterlists().liveChunks()).isEmpty();
        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
        assertThat(world.get(area, (long) LIMIT_PAGES * PAGE, 0)).isZero();
    }
}
