package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;

/**
 * Told of accesses that went by what a unit remembers and not by what the tables say: an emulator's view, which no
 * hardware has.
 */
@FunctionalInterface
public interface StaleUseListener {
    /**
     * Takes a stale use. It runs inside the access, so that it must not map, unmap or invalidate.
     *
     * @param requesterId who accessed: bus, device and function
     * @param iova the address
     * @param access what the device did there
     * @param used what the access went by: a physical address or a {@link BusPort#fault}
     * @param fresh what a walk of root, context and paging entries as they stand would have answered, likewise
     */
    void staleUse(int requesterId, long iova, Access access, long used, long fresh);
}
