package io.pagewalk.rdma.mm;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PageFrames;
import io.pagewalk.dma.memory.Zone;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages of processes and files come from, and where they go when the last reference does. A new folio has one
 * reference, its maker's. Not thread-safe: the lock of {@link UserMemory} guards it.
 */
final class UserPages {
    /** What stands for "no memory". */
    static final long NONE = -1;

    static final int HUGE_ORDER = 9;
    static final long HUGE_PAGES = 1L << HUGE_ORDER;
    static final long HUGE_BYTES = HUGE_PAGES << Addresses.PAGE_SHIFT;

    private final PageFrames frames;
    private final PageAllocator allocator;
    private final CpuMemory bytes;
    private final Folios folios;
    private final FailurePoint smallPages;
    private final FailurePoint hugePages;

    /** Where small pages are taken from while it has any: memory that must not be pinned for long. */
    private @Nullable CmaArea area;

    /** All areas that pages were ever taken from. */
    private final Set<CmaArea> areas = new LinkedHashSet<>();

    UserPages(Machine machine, Folios folios) {
        frames = machine.frames();
        allocator = machine.pages();
        bytes = machine.cpuMemory();
        this.folios = folios;
        smallPages = machine.failures().point("mm.page");
        hugePages = machine.failures().point("mm.huge-page");
    }

    void takeFrom(@Nullable CmaArea newArea) {
        area = newArea;
        if (newArea != null) {
            areas.add(newArea);
        }
    }

    /** A page whose contents are whatever they were. */
    long allocate(int bits) {
        if (smallPages.fails()) {
            return NONE;
        }
        CmaArea from = area;
        long physAddr = from == null ? PageAllocator.NO_PAGE : from.alloc(1, 0);
        if (physAddr == PageAllocator.NO_PAGE) {
            return fromAllocator(0, bits);
        }
        return started(physAddr, 0, bits | Folios.MOVABLE);
    }

    long allocateZeroed(int bits) {
        long pfn = allocate(bits);
        return pfn == NONE ? NONE : zeroed(pfn, 1);
    }

    /** A page or huge page that may be pinned for as long as one likes. */
    long allocatePinnable(int order, int bits) {
        FailurePoint point = order == 0 ? smallPages : hugePages;
        return point.fails() ? NONE : fromAllocator(order, bits);
    }

    long allocateHuge(int bits) {
        return allocatePinnable(HUGE_ORDER, bits);
    }

    long allocateHugeZeroed(int bits) {
        long pfn = allocateHuge(bits);
        return pfn == NONE ? NONE : zeroed(pfn, HUGE_PAGES);
    }

    private long fromAllocator(int order, int bits) {
        long physAddr = allocator.allocPages(Zone.NORMAL, order);
        return physAddr == PageAllocator.NO_PAGE ? NONE : started(physAddr, order, bits);
    }

    private long started(long physAddr, int order, int bits) {
        long pfn = physAddr >>> Addresses.PAGE_SHIFT;
        folios.create(pfn, order, bits);
        frames.get(pfn);
        return pfn;
    }

    private long zeroed(long pfn, long pages) {
        bytes.zero(pfn << Addresses.PAGE_SHIFT, pages << Addresses.PAGE_SHIFT);
        return pfn;
    }

    void copy(long fromPfn, long toPfn, long pages) {
        bytes.copy(fromPfn << Addresses.PAGE_SHIFT, toPfn << Addresses.PAGE_SHIFT, pages << Addresses.PAGE_SHIFT);
    }

    /** Takes references of a folio. */
    void get(long headPfn, int references) {
        frames.get(headPfn, references);
    }

    /** Drops references of a folio, and frees it with the last. */
    void put(long headPfn, int references) {
        if (frames.put(headPfn, references) == 0) {
            freeIfOurs(headPfn);
        }
    }

    /** Pages that somebody else made, such as those of a device, are his to free. */
    private void freeIfOurs(long headPfn) {
        int state = folios.state(headPfn);
        if (state == 0) {
            return;
        }
        int order = Folios.orderOf(state);
        folios.forget(headPfn, order);
        if ((state & Folios.MOVABLE) != 0) {
            giveBackToArea(headPfn);
        } else {
            allocator.freePages(headPfn << Addresses.PAGE_SHIFT, order);
        }
    }

    private void giveBackToArea(long pfn) {
        frames.release(pfn, 1);
        for (CmaArea each : areas) {
            if (each.release(pfn << Addresses.PAGE_SHIFT, 1)) {
                return;
            }
        }
    }
}
