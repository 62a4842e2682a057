package io.pagewalk.backends.iommu.iova;

import io.pagewalk.backends.lock.SpinLock;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.VirtualClock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The cache of one size class of one IOVA domain: two magazines for each CPU, and a depot of full ones for all. The
 * ranges in it stay in the domain's tree.
 *
 * <p>Implements iommu:RC-2 to RC-16 for one order. Thread-safe. Lock order: a CPU's lock, the depot's lock, the lock
 * behind {@code release}.
 */
final class IovaRcache {
    /* A CPU pushes to and pops from `loaded`; `prev` is the second chance that keeps a CPU which alternates around a boundary
     * from going to the depot each time (iommu:RC-5, RC-8). The depot takes and gives full magazines only, since in the kernel
     * the link to the next one lies where the count was. Emptied magazines are kept on a list of spares, so that a steady
     * state allocates nothing; in the kernel they go back to a slab.
     */

    static final long TRIM_DELAY_NANOS = 100_000_000L;

    private final CpuCache[] cpus;
    private final int magazineEntries;
    private final FailurePoint magazinePoint;
    private final KernelTimer trim;
    private final LongConsumer release;
    private final SpinLock depotLock = new SpinLock();
    private @Nullable IovaMagazine depot;
    private @Nullable IovaMagazine spares;
    private int depotSize;

    /** The two magazines of one CPU, guarded by its lock. */
    private static final class CpuCache {
        private final SpinLock lock = new SpinLock();
        private IovaMagazine loaded;
        private IovaMagazine prev;

        CpuCache(int magazineEntries) {
            loaded = new IovaMagazine(magazineEntries);
            prev = new IovaMagazine(magazineEntries);
        }

        void swap() {
            IovaMagazine was = loaded;
            loaded = prev;
            prev = was;
        }
    }

    /**
     * Makes an empty cache.
     *
     * @param cpuCount how many CPUs
     * @param magazineEntries how many pfns a magazine holds
     * @param clock runs the trim work
     * @param magazinePoint fails the allocation of a magazine
     * @param release gives a pfn back to the tree
     */
    IovaRcache(
            int cpuCount, int magazineEntries, VirtualClock clock, FailurePoint magazinePoint, LongConsumer release) {
        this.cpus = new CpuCache[cpuCount];
        for (int cpu = 0; cpu < cpuCount; cpu++) {
            cpus[cpu] = new CpuCache(magazineEntries);
        }
        this.magazineEntries = magazineEntries;
        this.magazinePoint = magazinePoint;
        this.release = release;
        this.trim = clock.timer(this::trimDepot);
    }

    /** Takes a pfn; false when a magazine was needed and there is none (iommu:RC-5). */
    boolean insert(int cpu, long pfn) {
        CpuCache cache = cpus[cpu];
        cache.lock.lock();
        try {
            if (cache.loaded.isFull() && !makeRoom(cache, cpu)) {
                return false;
            }
            cache.loaded.push(pfn);
            return true;
        } finally {
            cache.lock.unlock();
        }
    }

    /** The full loaded magazine goes to the depot, the full `prev` stays (iommu:RC-6). */
    private boolean makeRoom(CpuCache cache, int cpu) {
        if (!cache.prev.isFull()) {
            cache.swap();
            return true;
        }
        if (magazinePoint.fails()) {
            return false;
        }
        cache.loaded = exchangeFull(cache.loaded);
        trim.arm(TRIM_DELAY_NANOS, cpu);
        return true;
    }

    private IovaMagazine exchangeFull(IovaMagazine full) {
        depotLock.lock();
        try {
            full.putOn(depot);
            depot = full;
            depotSize++;
            IovaMagazine spare = spares;
            if (spare == null) {
                return new IovaMagazine(magazineEntries);
            }
            spares = spare.below();
            return spare;
        } finally {
            depotLock.unlock();
        }
    }

    /** Finds a pfn not above {@code highestPfn}, or 0 (iommu:RC-8 to RC-10). */
    long get(int cpu, long highestPfn) {
        CpuCache cache = cpus[cpu];
        cache.lock.lock();
        try {
            if (cache.loaded.isEmpty() && !reload(cache)) {
                return 0;
            }
            return cache.loaded.pop(highestPfn);
        } finally {
            cache.lock.unlock();
        }
    }

    private boolean reload(CpuCache cache) {
        if (!cache.prev.isEmpty()) {
            cache.swap();
            return true;
        }
        depotLock.lock();
        try {
            IovaMagazine head = popDepot();
            if (head == null) {
                return false;
            }
            addSpare(cache.loaded);
            cache.loaded = head;
            return true;
        } finally {
            depotLock.unlock();
        }
    }

    private @Nullable IovaMagazine popDepot() {
        IovaMagazine head = depot;
        if (head != null) {
            depot = head.below();
            depotSize--;
        }
        return head;
    }

    private void addSpare(IovaMagazine empty) {
        empty.putOn(spares);
        spares = empty;
    }

    /** The delayed work (iommu:RC-14): one magazine a run, while the depot holds more than there are CPUs. */
    private void trimDepot(int cpu) {
        depotLock.lock();
        try {
            IovaMagazine head = depotSize > cpus.length ? popDepot() : null;
            if (head == null) {
                return;
            }
            releaseAll(head);
            addSpare(head);
        } finally {
            depotLock.unlock();
        }
        trim.arm(TRIM_DELAY_NANOS, cpu);
    }

    /** Gives one CPU's pfns back, `loaded` first (iommu:RC-15). */
    void releaseCpu(int cpu) {
        CpuCache cache = cpus[cpu];
        cache.lock.lock();
        try {
            releaseAll(cache.loaded);
            releaseAll(cache.prev);
        } finally {
            cache.lock.unlock();
        }
    }

    /** Gives the depot's pfns back (iommu:RC-16). */
    void releaseDepot() {
        depotLock.lock();
        try {
            for (IovaMagazine head = popDepot(); head != null; head = popDepot()) {
                releaseAll(head);
                addSpare(head);
            }
        } finally {
            depotLock.unlock();
        }
    }

    /** From index 0 upwards (iommu:RC-17). */
    private void releaseAll(IovaMagazine magazine) {
        for (int i = 0; i < magazine.count(); i++) {
            release.accept(magazine.pfn(i));
        }
        magazine.clear();
    }

    /** Shows every cached pfn; no other call may be running. */
    void forEach(LongConsumer action) {
        for (CpuCache cache : cpus) {
            show(cache.loaded, action);
            show(cache.prev, action);
        }
        for (IovaMagazine magazine = depot; magazine != null; magazine = magazine.below()) {
            show(magazine, action);
        }
    }

    private static void show(IovaMagazine magazine, LongConsumer action) {
        for (int i = 0; i < magazine.count(); i++) {
            action.accept(magazine.pfn(i));
        }
    }

    /** How many pfns the CPU's loaded magazine holds. */
    int loadedCount(int cpu) {
        return cpus[cpu].loaded.count();
    }

    /** How many pfns the CPU's second magazine holds. */
    int prevCount(int cpu) {
        return cpus[cpu].prev.count();
    }

    /** How many full magazines the depot holds. */
    int depotSize() {
        return depotSize;
    }

    void close() {
        trim.cancel();
    }
}
