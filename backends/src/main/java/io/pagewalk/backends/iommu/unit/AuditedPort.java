package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;

/**
 * A port that walks the tables once more for each access, past all caches, and tells of answers that differ. Reading
 * the tables counts nothing and fills nothing. Thread-safe; allocates.
 *
 * <p>An access that races with a change of the tables may be told of although its translation was fresh.
 */
final class AuditedPort extends VtdPort {
    private final StaleUseListener listener;

    AuditedPort(VtdUnit unit, int requesterId, TableMemory tables, StaleUseListener listener) {
        super(unit, requesterId, tables);
        this.listener = listener;
    }

    @Override
    long translateIn(CachedContext known, long dmaAddr, Access access) {
        long used = super.translateIn(known, dmaAddr, access);
        long fresh = fresh(readContext(), dmaAddr, access);
        if (used != fresh) {
            listener.staleUse(requesterId(), dmaAddr, access, used, fresh);
        }
        return used;
    }

    private long fresh(CachedContext context, long dmaAddr, Access access) {
        if (Addresses.lessThan(context.lastAddr, dmaAddr)) {
            return BusPort.fault(VtdFaultReason.BEYOND_WIDTH);
        }
        if (context.passThrough) {
            return context.reason == 0 ? dmaAddr : BusPort.fault(context.reason);
        }
        long translation = walkFromRoot(context, dmaAddr, access);
        if (BusPort.isFault(translation)) {
            return BusPort.fault(BusPort.faultCode(translation));
        }
        long physAddr = SecondStageWalk.apply(translation, dmaAddr);
        return isInterrupt(physAddr) ? BusPort.fault(VtdFaultReason.INTERRUPT_RANGE) : physAddr;
    }
}
