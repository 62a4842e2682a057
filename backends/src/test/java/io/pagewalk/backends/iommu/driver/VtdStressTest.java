package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two threads map and unmap, a device walks and writes, a fourth thread invalidates all the while. What the device gets
 * is never anything but what was mapped there, and never after the unmap has returned.
 */
@Timeout(120)
class VtdStressTest {
    private static final long PAGE = VtdWorld.PAGE;
    private static final int ROUNDS = 5 * Math.max(100, Integer.getInteger("jqwik.tries.default", 200));
    private static final long BASE = 0x1000_0000L;
    private static final long MARK = 0xdead_beefL;

    /** Ranges lie a gigabyte apart, so that each round brings and takes tables of two levels. */
    private static long iovaOf(int thread, int slot) {
        return (2L * slot + thread + 1) << 30;
    }

    private static long physAddrOf(int thread, int slot) {
        return BASE + (16L * thread + slot) * PAGE;
    }

    private static final class Run {
        final VtdWorld world;
        final AtomicBoolean stop = new AtomicBoolean();
        final AtomicLong wrong = new AtomicLong();
        final AtomicLong reached = new AtomicLong();

        Run(BackendOptions options) {
            world = VtdWorld.create(options);
        }

        /** Maps a page, lets it be, unmaps, and writes what the device must not overwrite any more. */
        void drive(int thread) {
            PhysicalMemory memory = world.machine.memory();
            for (int round = 0; round < ROUNDS; round++) {
                int slot = round % 4;
                long physAddr = physAddrOf(thread, slot);
                world.map(iovaOf(thread, slot), physAddr, PAGE, 1);
                for (int i = 0; i < 50 && round % 4 == 0; i++) {
                    Thread.onSpinWait();
                }
                world.unmap(iovaOf(thread, slot), 1L << 30);
                memory.putLong(physAddr, round);
                wrong.addAndGet(memory.getLong(physAddr) == round ? 0 : 1);
            }
        }

        /** Writes wherever it gets to; what it gets to must be what belongs there. */
        void access() {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            while (!stop.get()) {
                int thread = random.nextInt(2);
                int slot = random.nextInt(4);
                long token = world.port.beginAccess();
                long physAddr = world.port.translate(iovaOf(thread, slot), Access.WRITE);
                if (!BusPort.isFault(physAddr)) {
                    reached.incrementAndGet();
                    boolean right = physAddr == physAddrOf(thread, slot);
                    wrong.addAndGet(right ? 0 : 1);
                    if (right) {
                        world.machine.memory().putLong(physAddr, MARK);
                    }
                } else if (BusPort.faultCode(physAddr) != 5) {
                    wrong.incrementAndGet();
                }
                world.port.endAccess(token);
            }
        }

        void invalidate() {
            while (!stop.get()) {
                world.driver.invalidateDomain(world.domainId);
            }
        }
    }

    private static void run(BackendOptions options) throws InterruptedException {
        Run run = new Run(options);
        List<Thread> drivers = new ArrayList<>();
        for (int t = 0; t < 2; t++) {
            int thread = t;
            drivers.add(new Thread(() -> run.drive(thread)));
        }
        List<Thread> others = List.of(new Thread(run::access), new Thread(run::invalidate));
        others.forEach(Thread::start);
        drivers.forEach(Thread::start);
        for (Thread driver : drivers) {
            driver.join();
        }
        run.stop.set(true);
        for (Thread other : others) {
            other.join();
        }

        assertThat(run.wrong).hasValue(0);
        for (int slot = 0; slot < 4; slot++) {
            assertThat(run.world.machine.memory().getLong(physAddrOf(0, slot))).isNotEqualTo(MARK);
            assertThat(run.world.machine.memory().getLong(physAddrOf(1, slot))).isNotEqualTo(MARK);
        }
        assertThat(run.world.violations()).isEmpty();
        assertThat(run.world.table.tablePages())
                .as("the root, and tables for 8 GiB")
                .isBetween(1L, 2L);
    }

    @Test
    void aDeviceNeverReachesAPageAfterItsUnmapHasReturned() throws InterruptedException {
        run(VtdWorld.smallPool());
    }

    @Test
    void tinyCachesForgetInTimeToo() throws InterruptedException {
        run(VtdWorld.smallPool().with("iommu.iotlbEntries", 2).with("iommu.pagingCacheEntries", 2));
    }

    @Test
    void threeLevelsWithoutPagingCachesDoAsWell() throws InterruptedException {
        run(VtdWorld.smallPool().with("iommu.widthBits", 39).with("iommu.pagingCacheEntries", 0));
    }

    /** Publication: a walk that races with a map sees nothing, or the page; never a table half written. */
    @Test
    void aWalkThatRacesWithAMapSeesAllOrNothing() throws InterruptedException {
        VtdWorld world = VtdWorld.create(VtdWorld.smallPool().with("iommu.pagingCacheEntries", 0));
        int rounds = ROUNDS;
        AtomicLong round = new AtomicLong();
        AtomicLong wrong = new AtomicLong();
        AtomicLong seen = new AtomicLong();
        Thread device = new Thread(() -> {
            for (long now = 0; now < rounds; now = round.get()) {
                long answer = world.translate((now + 1) << 30, Access.READ);
                boolean right = answer == BASE + (now & 0xff) * PAGE;
                seen.addAndGet(right ? 1 : 0);
                wrong.addAndGet(right || answer == BusPort.fault(6) ? 0 : 1);
            }
        });
        device.start();
        for (long now = 0; now < rounds; now++) {
            long iova = (now + 1) << 30;
            world.map(iova, BASE + (now & 0xff) * PAGE, PAGE, 1);
            round.set(now + 1);
            world.unmap(iova, 1L << 30);
        }
        device.join();
        assertThat(wrong).hasValue(0);
        assertThat(world.violations()).isEmpty();
    }
}
