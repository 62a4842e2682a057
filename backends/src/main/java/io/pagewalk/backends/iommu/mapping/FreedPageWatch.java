package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Warns when a page goes back to the page allocator while a domain still maps it: the next owner's data would be the
 * device's. Opt-in by {@code iommu.debug_pagealloc=1}, since each mapped page is watched. Thread-safe.
 */
final class FreedPageWatch {
    private final PageFrames frames;
    private final KernelLog log;
    private final String name;
    private final PageTable table;
    private final Set<Long> watched = ConcurrentHashMap.newKeySet();

    FreedPageWatch(Machine machine, String name, PageTable table) {
        this.frames = machine.frames();
        this.log = machine.log();
        this.name = name;
        this.table = table;
    }

    /** Watches the pages of a mapping from now on until each is freed. */
    void mapped(long physAddr, long sizeBytes) {
        long first = physAddr >>> Addresses.PAGE_SHIFT;
        long last = Addresses.last(physAddr, sizeBytes) >>> Addresses.PAGE_SHIFT;
        for (long pfn = first; pfn <= last; pfn++) {
            if (watched.add(pfn)) {
                frames.onFree(pfn, this::freed);
            }
        }
    }

    private void freed(long pfn) {
        watched.remove(pfn);
        long physAddr = pfn << Addresses.PAGE_SHIFT;
        LeafRuns leaves = new LeafRuns();
        table.forEachLeaf(0, -1L, leaves);
        for (LeafRun run : leaves.runs()) {
            if (Addresses.overlaps(run.physAddr(), run.sizeBytes(), physAddr, Addresses.PAGE_SIZE)) {
                log.warn(
                        "iommu_debug_pagealloc",
                        "page " + Addresses.hex(physAddr) + " is freed while still mapped by " + name + ", iova "
                                + Addresses.hex(run.iova() + (physAddr - run.physAddr())));
            }
        }
    }
}
