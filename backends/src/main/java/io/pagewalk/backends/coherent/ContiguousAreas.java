package io.pagewalk.backends.coherent;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.PageAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The choice among the machine's contiguous memory areas for a device, {@code dma_alloc_contiguous}.
 *
 * <p>Implements dma-core:ALC-9. Thread-safe.
 */
public final class ContiguousAreas {
    private static final int MAX_ALIGN_ORDER = 8;

    private final CmaAreas areas;

    /**
     * Makes it.
     *
     * @param machine the machine
     */
    public ContiguousAreas(Machine machine) {
        areas = machine.cma();
    }

    /**
     * Takes pages: of the device's own area and no other if it has one, else, for more than a page, of its node's or
     * the default one.
     *
     * @param device the device
     * @param roundedBytes whole pages
     * @param gfp bits of {@link Gfp}; without blocking there are none, with a zone no node's
     * @return the first page, or {@link PageAllocator#NO_PAGE}
     */
    public long alloc(Device device, long roundedBytes, int gfp) {
        if (!Gfp.has(gfp, Gfp.DIRECT_RECLAIM)) {
            return PageAllocator.NO_PAGE;
        }
        CmaArea own = device.cmaArea();
        if (own != null) {
            return take(own, roundedBytes);
        }
        if (roundedBytes == Addresses.PAGE_SIZE) {
            return PageAllocator.NO_PAGE;
        }
        CmaArea ofNode =
                Gfp.choosesZone(gfp) ? null : areas.ofNode(device.config().numaNode());
        long physAddr = take(ofNode, roundedBytes);
        return physAddr == PageAllocator.NO_PAGE ? take(areas.defaultArea(), roundedBytes) : physAddr;
    }

    private static long take(@Nullable CmaArea area, long roundedBytes) {
        if (area == null || roundedBytes == 0) {
            return PageAllocator.NO_PAGE;
        }
        int alignOrder = Math.min(Addresses.order(roundedBytes), MAX_ALIGN_ORDER);
        return area.alloc(roundedBytes >>> Addresses.PAGE_SHIFT, alignOrder);
    }

    /**
     * Gives pages back.
     *
     * @param physAddr the first page
     * @param roundedBytes whole pages
     * @return false when they are of no area
     */
    public boolean free(long physAddr, long roundedBytes) {
        for (CmaArea area : areas.all()) {
            if (area.release(physAddr, roundedBytes >>> Addresses.PAGE_SHIFT)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Adds up the areas.
     *
     * @return their bytes, free or not
     */
    public long totalBytes() {
        return areas.all().stream().mapToLong(area -> area.range().sizeBytes()).sum();
    }
}
