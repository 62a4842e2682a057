package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Devices at work while drivers map, unmap and invalidate. */
@Timeout(120)
class VtdConcurrencyTest {
    private static final long PAGE = VtdWorld.PAGE;

    @Test
    void invalidatingADomainWaitsForTheAccessThatHoldsAStaleTranslation() throws InterruptedException {
        VtdWorld world = VtdWorld.create();
        world.map(0x5000, 0x800_0000, PAGE, 1);
        long token = world.port.beginAccess();
        assertThat(world.port.translate(0x5000, Access.READ)).isEqualTo(0x800_0000);
        world.table.unmapPages(0x5000, PAGE, new TablePageList());
        AtomicBoolean ended = new AtomicBoolean();
        AtomicBoolean tooEarly = new AtomicBoolean();
        CountDownLatch invalidating = new CountDownLatch(1);
        Thread driver = new Thread(() -> {
            invalidating.countDown();
            world.driver.invalidateDomain(world.domainId);
            tooEarly.set(!ended.get());
        });
        driver.start();
        invalidating.await();
        for (int i = 0; i < 1000; i++) {
            Thread.onSpinWait();
        }
        ended.set(true);
        world.port.endAccess(token);
        driver.join();

        assertThat(tooEarly).isFalse();
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(6));
    }

    /**
     * The driver gives a page to the device, takes it back, invalidates, and scribbles over it as its next owner would.
     * The device writes to whatever it reaches; its writes must never show after the invalidation.
     */
    @Test
    void afterAnInvalidationNoWriteOfTheDeviceArrives() throws InterruptedException {
        VtdWorld world = VtdWorld.create();
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong reached = new AtomicLong();
        Thread device = new Thread(() -> {
            while (!stop.get()) {
                long token = world.port.beginAccess();
                long physAddr = world.port.translate(0x5000, Access.WRITE);
                if (!BusPort.isFault(physAddr)) {
                    world.machine.memory().putLong(physAddr, 0xdead);
                    reached.incrementAndGet();
                }
                world.port.endAccess(token);
            }
        });
        device.start();
        long page = 0x800_0000;
        long wrong = 0;
        for (int round = 0; round < 20_000 || reached.get() < 100; round++) {
            world.map(0x5000, page, PAGE, 1);
            world.unmap(0x5000, PAGE);
            world.machine.memory().putLong(page, round);
            wrong += world.machine.memory().getLong(page) == round ? 0 : 1;
            page = 0x800_0000 + round % 64 * PAGE;
        }
        stop.set(true);
        device.join();

        for (long check = 0x800_0000; check < 0x800_0000 + 64 * PAGE; check += PAGE) {
            wrong += world.machine.memory().getLong(check) == 0xdead ? 1 : 0;
        }
        assertThat(wrong).isZero();
        assertThat(world.violations()).isEmpty();
    }

    /** Disjoint ranges below shared tables: both threads bring the same missing tables, and none is lost. */
    @Test
    void threadsThatMapDisjointRangesShareTheirTables() throws InterruptedException {
        for (int round = 0; round < 50; round++) {
            VtdWorld world = VtdWorld.create();
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 3; t++) {
                long offset = t * PAGE;
                threads.add(new Thread(() -> mapEveryThird(world, go, offset)));
            }
            threads.forEach(Thread::start);
            go.countDown();
            for (Thread thread : threads) {
                thread.join();
            }

            for (long i = 0; i < 3 * 8; i++) {
                long iova = i / 3 * (1L << 30) + i % 3 * PAGE;
                assertThat(world.table.iovaToPhys(iova)).isEqualTo(0x1000_0000 + i % 3 * PAGE);
            }
            assertThat(world.table.tablePages()).isEqualTo(2 + 2 * 8);
            assertThat(world.violations()).isEmpty();
        }
    }

    private static void mapEveryThird(VtdWorld world, CountDownLatch go, long offset) {
        try {
            go.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        for (long gigabyte = 0; gigabyte < 8; gigabyte++) {
            world.map(gigabyte << 30 | offset, 0x1000_0000 + offset, PAGE, 1);
        }
    }

    @Test
    void invalidationsFromSeveralThreadsAllTakeEffect() throws InterruptedException {
        VtdWorld world = VtdWorld.create();
        List<Thread> threads = new ArrayList<>();
        AtomicLong wrong = new AtomicLong();
        for (int t = 0; t < 3; t++) {
            long iova = (t + 1L) << 21;
            threads.add(new Thread(() -> {
                for (int i = 0; i < 3000; i++) {
                    world.map(iova, 0x1000_0000 + i * PAGE, PAGE, 1);
                    wrong.addAndGet(world.translate(iova, Access.READ) == 0x1000_0000 + i * PAGE ? 0 : 1);
                    world.unmap(iova, PAGE);
                    wrong.addAndGet(BusPort.isFault(world.translate(iova, Access.READ)) ? 0 : 1);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }

        assertThat(wrong).hasValue(0);
        assertThat(world.violations()).isEmpty();
    }
}
