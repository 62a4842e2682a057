package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.VirtualClock;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * The flush queue of one lazy domain: device addresses that were unmapped but may still be known to the hardware. They
 * come back to the allocator only after a flush of the whole domain that began after they were queued.
 *
 * <p>Implements iommu:FQ-1 to FQ-12. Thread-safe. Lock order: a ring's lock, then the allocator's.
 *
 * <p>Differs from Linux: a ring that its own flush did not free is flushed again before anything is appended
 * (iommu:FQ-4 appends after one flush), since threads here may be interrupted in the middle of a flush for long.
 */
final class FlushQueue {
    /* Two counters say which entries a flush has covered: `started` goes up before the hardware is told, `finished` after it
     * is done. An entry remembers `started` as it was when it was queued, so it is safe once `finished` is larger. An entry
     * queued while another CPU's flush is under way has seen the raised `started` already and waits for a further flush
     * (FQ-5, FQ-6). One CPU's flush lets all others reap at their next call (FQ-12).
     *
     * A ring may have filled up wholly while another CPU's flush was under way. Then one flush of its own does not free
     * anything, since the other's still counts as unfinished; the second one does.
     */

    /** The timer's name on the machine's clock is that of the kernel's function and of the device. */
    private static final String TIMER_NAME = "fq_flush_timeout ";

    private final IommuCore core;
    private final IommuDriver driver;
    private final IovaDomain iovas;
    private final long timeoutNanos;
    private final FlushRing[] rings;
    private final KernelTimer timer;
    private final AtomicBoolean timerOn = new AtomicBoolean();
    private final AtomicLong started = new AtomicLong();
    private final AtomicLong finished = new AtomicLong();

    /**
     * Makes empty queues.
     *
     * @param name the domain's name
     * @param cpus how many CPUs there are
     * @param options how many queues, how large, and how long entries wait
     * @param clock runs the timer
     * @param core flushes the domain
     * @param driver takes table pages back
     * @param iovas takes addresses back
     */
    FlushQueue(
            String name,
            int cpus,
            FlushOptions options,
            VirtualClock clock,
            IommuCore core,
            IommuDriver driver,
            IovaDomain iovas) {
        this.timeoutNanos = options.timeoutNanos();
        this.core = core;
        this.driver = driver;
        this.iovas = iovas;
        this.rings = new FlushRing[options.shared() ? 1 : cpus];
        for (int i = 0; i < rings.length; i++) {
            rings[i] = new FlushRing(options.entries());
        }
        this.timer = clock.timer(TIMER_NAME + name, this::expired);
    }

    /**
     * Queues an unmapped range (iommu:FQ-4).
     *
     * @param cpu the CPU that unmapped
     * @param pfn its first pfn
     * @param pages its length as it was asked for
     * @param freed table pages that the unmap unlinked; emptied
     */
    void queue(int cpu, long pfn, long pages, TablePageList freed) {
        FlushRing ring = ringOf(cpu);
        ring.lock.lock();
        try {
            reap(ring, cpu);
            while (ring.isFull()) {
                flush();
                reap(ring, cpu);
            }
            ring.append(pfn, pages, started.get(), freed);
        } finally {
            ring.lock.unlock();
        }
        if (!timerOn.get() && timerOn.compareAndSet(false, true)) {
            timer.arm(timeoutNanos, cpu);
        }
    }

    private FlushRing ringOf(int cpu) {
        return rings.length == 1 ? rings[0] : rings[cpu];
    }

    private void flush() {
        started.incrementAndGet();
        core.flushAll();
        finished.incrementAndGet();
    }

    /** Frees what a finished flush has covered, into the caches of the CPU that reaps (iommu:FQ-5). */
    private void reap(FlushRing ring, int cpu) {
        long covered = finished.get();
        while (!ring.isEmpty() && ring.headCounter() < covered) {
            if (!ring.headFreed().isEmpty()) {
                driver.freeTablePages(ring.headFreed());
            }
            iovas.freeFast(cpu, ring.headPfn(), ring.headPages());
            ring.advanceHead();
        }
    }

    private void expired(int cpu) {
        timerOn.set(false);
        flushAndReapAll(cpu);
    }

    private void flushAndReapAll(int cpu) {
        flush();
        for (FlushRing ring : rings) {
            ring.lock.lock();
            try {
                reap(ring, cpu);
            } finally {
                ring.lock.unlock();
            }
        }
    }

    /** Does now what the timer would do, if anything is queued. */
    void quiesce() {
        timer.cancel();
        timerOn.set(false);
        if (queued() != 0) {
            flushAndReapAll(0);
        }
    }

    /** Ranges waiting for a flush. */
    int queued() {
        int count = 0;
        for (FlushRing ring : rings) {
            count += ring.size();
        }
        return count;
    }

    /** Ranges waiting on one CPU's ring. */
    int queued(int cpu) {
        return ringOf(cpu).size();
    }

    /** Domain flushes so far. */
    long flushes() {
        return finished.get();
    }

    boolean isTimerOn() {
        return timerOn.get();
    }

    /** Shows the first pfn of every queued range; no other call may be running. */
    void forEach(LongConsumer action) {
        for (FlushRing ring : rings) {
            ring.forEach(action);
        }
    }

    /** Stops the timer and gives queued table pages back; queued addresses vanish with their domain (iommu:FQ-9). */
    void close() {
        timer.cancel();
        for (FlushRing ring : rings) {
            for (; !ring.isEmpty(); ring.advanceHead()) {
                driver.freeTablePages(ring.headFreed());
            }
        }
    }
}
