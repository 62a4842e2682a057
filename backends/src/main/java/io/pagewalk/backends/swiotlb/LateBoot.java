package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.MIN_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_SHIFT;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import org.jspecify.annotations.Nullable;

/**
 * How a machine that runs already gets a pool: from the page allocator, in the largest block that it has.
 *
 * <p>Implements dma-core:SWC-9.
 */
final class LateBoot {
    private static final int SLOTS_PER_PAGE_SHIFT = Addresses.PAGE_SHIFT - SLOT_SHIFT;
    private static final String SITE = "swiotlb_init_late";

    /** What became of it: a pool and how to give its memory back, or a negated errno. */
    record Outcome(int error, @Nullable IoTlbPool pool, Runnable giveBack) {
        static Outcome failed(int error) {
            return new Outcome(error, null, () -> {});
        }
    }

    private final Machine machine;
    private final FailurePoint point;

    LateBoot(Machine machine) {
        this.machine = machine;
        this.point = machine.failures().point("swiotlb.late");
    }

    Outcome allocate(long sizeBytes, int gfp, Swiotlb.@Nullable Remap remap, long areas) {
        long slots = Addresses.alignUp(sizeBytes >>> SLOT_SHIFT, SET_SLOTS);
        return slots == 0 ? Outcome.failed(-Errno.ENOMEM) : allocateSlots(slots, gfp, remap, areas);
    }

    private Outcome allocateSlots(long slots, int gfp, Swiotlb.@Nullable Remap remap, long areas) {
        for (int order = Addresses.order(slots << SLOT_SHIFT); slotsOf(order) > MIN_SLOTS; order--) {
            long physAddr = allocPages(gfp, order);
            if (physAddr != PageAllocator.NO_PAGE) {
                return remapped(physAddr, order, gfp, remap, areas);
            }
        }
        return Outcome.failed(-Errno.ENOMEM);
    }

    private Outcome remapped(long physAddr, int order, int gfp, Swiotlb.@Nullable Remap remap, long areas) {
        int error = remap == null ? 0 : remap.remap(physAddr, slotsOf(order));
        if (error == 0) {
            return taken(physAddr, order, areas);
        }
        machine.pages().freePages(physAddr, order);
        long half = Addresses.alignUp(slotsOf(order) >>> 1, SET_SLOTS);
        return half < MIN_SLOTS ? Outcome.failed(error) : allocateSlots(half, gfp, remap, areas);
    }

    private static long slotsOf(int order) {
        return 1L << (order + SLOTS_PER_PAGE_SHIFT);
    }

    private long allocPages(int gfp, int order) {
        return point.fails() ? PageAllocator.NO_PAGE : machine.pages().allocPages(Gfp.zone(gfp), order);
    }

    private Outcome taken(long physAddr, int order, long areas) {
        long slots = slotsOf(order);
        machine.log().info(SITE, "bounce pool of " + slots + " slots at " + Addresses.hex(physAddr));
        machine.cpuMemory().zero(physAddr, slots * SLOT_BYTES);
        IoTlbPool pool = new IoTlbPool(physAddr, Math.toIntExact(slots), (int) SwiotlbBoot.limitAreas(areas, slots));
        return new Outcome(0, pool, () -> machine.pages().freePages(physAddr, order));
    }
}
