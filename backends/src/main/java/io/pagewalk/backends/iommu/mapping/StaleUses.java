package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.StaleUse;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The stale uses that an audit found: all are counted, the latest kept, and some logged. Thread-safe. */
final class StaleUses {
    /** How many are kept. */
    static final int KEPT = 1000;

    private final KernelLog.Site site;
    private final Deque<StaleUse> latest = new ArrayDeque<>();
    private long count;

    StaleUses(KernelLog log) {
        site = log.site("iommu_audit");
    }

    void add(StaleUse use) {
        keep(use);
        if (site.isWithinRate()) {
            site.message(text(use));
        }
    }

    private synchronized void keep(StaleUse use) {
        count++;
        if (latest.size() == KEPT) {
            latest.removeFirst();
        }
        latest.addLast(use);
    }

    private static String text(StaleUse use) {
        return "stale translation: " + use.device() + " " + use.access() + " at iova " + Addresses.hex(use.iova())
                + " went to " + place(use.reachedPhysAddr()) + ", the tables say " + place(use.mappedPhysAddr());
    }

    private static String place(long physAddr) {
        return physAddr == StaleUse.NOWHERE ? "nowhere" : Addresses.hex(physAddr);
    }

    synchronized long count() {
        return count;
    }

    synchronized List<StaleUse> latest() {
        return List.copyOf(latest);
    }
}
