package io.pagewalk.backends.iommu.iova;

import io.pagewalk.backends.iommu.iova.NaiveIovas.Range;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The caches in front of {@link NaiveIovas} as the rules RC-1 to RC-18 and IOVA-24 to IOVA-28 tell them. */
final class NaiveDomain {
    private static final int ORDERS = 6;

    /** The lists of one size class: magazines are lists whose last element is the newest. */
    private final class Cache {
        final List<List<Long>> loaded = new ArrayList<>();
        final List<List<Long>> prev = new ArrayList<>();
        final Deque<List<Long>> depot = new ArrayDeque<>();
        long trimDueMs = -1;

        Cache() {
            for (int cpu = 0; cpu < cpus; cpu++) {
                loaded.add(new ArrayList<>());
                prev.add(new ArrayList<>());
            }
        }

        void insert(int cpu, long pfn) {
            if (loaded.get(cpu).size() == entries) {
                if (prev.get(cpu).size() < entries) {
                    loaded.set(cpu, prev.set(cpu, loaded.get(cpu)));
                } else {
                    depot.push(loaded.set(cpu, new ArrayList<>()));
                    trimDueMs = trimDueMs < 0 ? nowMs + 100 : trimDueMs;
                }
            }
            loaded.get(cpu).add(pfn);
        }

        long get(int cpu, long highest) {
            if (loaded.get(cpu).isEmpty()) {
                if (!prev.get(cpu).isEmpty()) {
                    loaded.set(cpu, prev.set(cpu, loaded.get(cpu)));
                } else if (!depot.isEmpty()) {
                    loaded.set(cpu, depot.pop());
                } else {
                    return 0;
                }
            }
            List<Long> from = loaded.get(cpu);
            for (int i = from.size() - 1; i >= 0; i--) {
                if (Long.compareUnsigned(from.get(i), highest) <= 0) {
                    long pfn = from.get(i);
                    from.set(i, from.get(from.size() - 1));
                    from.remove(from.size() - 1);
                    return pfn;
                }
            }
            return 0;
        }

        /** Runs the trim work as often as it is due by now. */
        void catchUp() {
            while (trimDueMs >= 0 && trimDueMs <= nowMs) {
                if (depot.size() > cpus) {
                    release(depot.pop());
                    trimDueMs += 100;
                } else {
                    trimDueMs = -1;
                }
            }
        }
    }

    final NaiveIovas tree;
    private final int cpus;
    private final int entries;
    private final List<Cache> caches = new ArrayList<>();
    private long nowMs;

    NaiveDomain(long granule, long startPfn, int cpus, int entries) {
        this.tree = new NaiveIovas(granule, startPfn);
        this.cpus = cpus;
        this.entries = entries;
        for (int order = 0; order < ORDERS; order++) {
            caches.add(new Cache());
        }
    }

    private static int order(long size) {
        int order = 0;
        while (Long.compareUnsigned(1L << order, size) < 0) {
            order++;
        }
        return order;
    }

    long allocFast(int cpu, long asked, long limit, boolean flush) {
        long size = asked < 32 ? 1L << order(asked) : asked;
        if (order(size) < ORDERS) {
            long cached = caches.get(order(size)).get(cpu, limit + 1 - size);
            if (cached != 0) {
                return cached;
            }
        }
        Range found = tree.alloc(size, limit, true);
        if (found == null && flush) {
            releaseAll();
            found = tree.alloc(size, limit, true);
        }
        return found == null ? 0 : found.lo;
    }

    void freeFast(int cpu, long pfn, long size) {
        if (order(size) < ORDERS) {
            caches.get(order(size)).insert(cpu, pfn);
        } else {
            tree.free(pfn);
        }
    }

    private void releaseAll() {
        for (int cpu = 0; cpu < cpus; cpu++) {
            for (Cache cache : caches) {
                release(cache.loaded.get(cpu));
                release(cache.prev.get(cpu));
            }
        }
        for (Cache cache : caches) {
            while (!cache.depot.isEmpty()) {
                release(cache.depot.pop());
            }
        }
    }

    private void release(List<Long> magazine) {
        magazine.forEach(this::releaseOne);
        magazine.clear();
    }

    private void releaseOne(long pfn) {
        @Nullable Range range = tree.find(pfn);
        if (range != null) {
            tree.free(pfn);
        }
    }

    void advanceMs(long ms) {
        nowMs += ms;
        caches.forEach(Cache::catchUp);
    }
}
