package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.pgtable.VtdSecondStage;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A domain as the driver knows it: its tables, and under which id each unit has it. Implements iommu:INV-10, INV-11 and
 * INV-13.
 *
 * <p>Invalidating is thread-safe and allocates nothing; the rest is for one thread at a time.
 */
final class VtdDomain {
    static final int NO_NUMBER = 0;
    private static final CacheTag[] NO_TAGS = {};

    private final VtdSecondStage table;
    private int number = NO_NUMBER;

    /** In attach order; replaced, never changed. */
    private volatile CacheTag[] tags = NO_TAGS;

    VtdDomain(VtdSecondStage table) {
        this.table = table;
        table.onReplaced((first, last) -> invalidateRange(first, last, false));
    }

    VtdSecondStage table() {
        return table;
    }

    /** By which the mapping layer names the domain. */
    int number() {
        return number;
    }

    void setNumber(int newNumber) {
        number = newNumber;
    }

    // ---- behind which units

    /** Whether devices of units other than this one are in the domain. */
    boolean isBesides(VtdIommu iommu) {
        for (CacheTag tag : tags) {
            if (tag.iommu() != iommu) {
                return true;
            }
        }
        return false;
    }

    @Nullable CacheTag tagOf(VtdIommu iommu) {
        for (CacheTag tag : tags) {
            if (tag.iommu() == iommu) {
                return tag;
            }
        }
        return null;
    }

    /** Counts a device in; the domain's id in its unit, or a negated errno (iommu:VTD-8). */
    int take(VtdIommu iommu) {
        CacheTag tag = tagOf(iommu);
        if (tag != null) {
            tag.take();
            return tag.domainId();
        }
        int id = iommu.takeDomainId();
        if (id > 0) {
            CacheTag[] more = Arrays.copyOf(tags, tags.length + 1);
            more[tags.length] = new CacheTag(iommu, id);
            tags = more;
        }
        return id;
    }

    /** Counts a device out that the unit has forgotten; with the last one the id is free. */
    void drop(VtdIommu iommu) {
        CacheTag tag = tagOf(iommu);
        if (tag != null && tag.drop()) {
            tags = Arrays.stream(tags).filter(kept -> kept != tag).toArray(CacheTag[]::new);
            iommu.giveDomainId(tag.domainId());
        }
    }

    // ---- invalidating

    void invalidateRange(long firstIova, long lastIova, boolean leafOnly) {
        int order = PageSelection.order(firstIova, lastIova);
        submit(tags, order, start(firstIova, order), leafOnly, false);
    }

    void invalidateAll() {
        submit(tags, PageSelection.EVERYTHING, 0, false, false);
    }

    /** For units that also cache what is not mapped (iommu:INV-14). */
    void invalidateMapped(long firstIova, long lastIova) {
        int order = PageSelection.order(firstIova, lastIova);
        submit(tags, order, start(firstIova, order), false, true);
    }

    private static long start(long firstIova, int order) {
        return order < Long.SIZE - Addresses.PAGE_SHIFT ? PageSelection.address(firstIova, order) : 0;
    }

    /** A batch for each run of tags of one unit, at most 16 descriptors and a wait each (iommu:INV-13). */
    private static void submit(CacheTag[] tags, int order, long iova, boolean leafOnly, boolean cachingModeOnly) {
        VtdIommu open = null;
        for (CacheTag tag : tags) {
            VtdIommu iommu = tag.iommu();
            if (cachingModeOnly && !iommu.cachesNotPresent()) {
                continue;
            }
            if (open != null && (open != iommu || open.queue().isBatchFull())) {
                open.queue().finish();
                open = null;
            }
            if (open == null) {
                iommu.queue().begin();
                open = iommu;
            }
            iommu.addInvalidation(tag.domainId(), order, iova, leafOnly);
        }
        if (open != null) {
            open.queue().finish();
        }
    }
}
