package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.memory.Addresses;

/**
 * The range that an unmap has still to invalidate, and the table pages that it unlinked.
 *
 * <p>Implements iommu:CORE-23 to CORE-25. Reusable; not thread-safe.
 */
final class InvalidationGather {
    private final TablePageList freed = new TablePageList();
    private long firstIova;
    private long lastIova;
    private long chunkBytes;
    private boolean queued;

    /** Empties the gather; {@code queued} when a flush queue invalidates instead (iommu:CORE-23). */
    void init(boolean willBeQueued) {
        queued = willBeQueued;
        reset();
    }

    /** Empties it after a sync, which also forgets that it was queued (iommu:CORE-26). */
    void initAfterSync() {
        queued = false;
        reset();
    }

    private void reset() {
        firstIova = -1L;
        lastIova = 0;
        chunkBytes = 0;
        freed.clear();
    }

    /**
     * Whether a chunk needs what is gathered to be invalidated first: another size, or a gap (iommu:CORE-25, CORE-26).
     */
    boolean mustSyncBefore(long iova, long sizeBytes) {
        return (chunkBytes != 0 && chunkBytes != sizeBytes) || isDisjoint(iova, sizeBytes);
    }

    private boolean isDisjoint(long iova, long sizeBytes) {
        return lastIova != 0
                && (Addresses.lessThan(iova + sizeBytes, firstIova) || Addresses.lessThan(lastIova + 1, iova));
    }

    /** Adds a chunk (iommu:CORE-24, CORE-26). */
    void add(long iova, long sizeBytes) {
        chunkBytes = sizeBytes;
        firstIova = Addresses.min(firstIova, iova);
        lastIova = Addresses.max(lastIova, Addresses.last(iova, sizeBytes));
    }

    /** All ones when empty. */
    long firstIova() {
        return firstIova;
    }

    /** Inclusive; 0 when empty. */
    long lastIova() {
        return lastIova;
    }

    boolean isQueued() {
        return queued;
    }

    TablePageList freed() {
        return freed;
    }
}
