package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;
import org.jspecify.annotations.Nullable;

/**
 * The unit as one requester sees it: its requests are looked up in the context cache and the IOTLB, and walked where
 * those miss. Implements iommu:FLT-5, iommu:FLT-6 and iommu:FLT-8.
 *
 * <p>Thread-safe; allocates only when it fills the context cache.
 */
final class VtdPort implements BusPort {
    private static final long INTERRUPT_FIRST = 0xfee0_0000L;
    private static final long INTERRUPT_BYTES = 0x10_0000L;

    private final VtdUnit unit;
    private final int requesterId;
    private final VtdFeatures features;
    private final TableMemory tables;
    private final SecondStageWalk walk;
    private final Iotlb iotlb;
    private final AccessGuard guard;
    private final FaultRecords faults;
    private final HitCounters counters = new HitCounters();
    private volatile @Nullable CachedContext context;

    VtdPort(VtdUnit unit, int requesterId, TableMemory tables) {
        this.unit = unit;
        this.requesterId = requesterId;
        this.features = unit.features();
        this.tables = tables;
        this.walk = new SecondStageWalk(tables, features);
        this.iotlb = unit.iotlb();
        this.guard = unit.guard();
        this.faults = unit.faults();
    }

    int requesterId() {
        return requesterId;
    }

    HitCounters counters() {
        return counters;
    }

    // ---- the window of an access

    @Override
    public long beginAccess() {
        return guard.begin();
    }

    @Override
    public void endAccess(long token) {
        guard.end(token);
    }

    @Override
    public void afterBlocked() {
        unit.faultEvent().deliver();
    }

    // ---- translating

    @Override
    public long translate(long dmaAddr, Access access) {
        if (!unit.isTranslating()) {
            return untranslated(dmaAddr, access);
        }
        if (isInterrupt(dmaAddr)) {
            return interrupt(dmaAddr, access);
        }
        CachedContext known = context;
        return known == null ? translateUncached(dmaAddr, access) : translateIn(known, dmaAddr, access);
    }

    private static boolean isInterrupt(long address) {
        return Addresses.lessThan(address - INTERRUPT_FIRST, INTERRUPT_BYTES);
    }

    /** Writes there are messages, whatever the tables say; anything else is a mistake. */
    private long interrupt(long dmaAddr, Access access) {
        return access == Access.WRITE
                ? BusPort.fault(VtdFaultReason.INTERRUPT_REQUEST)
                : blocked(true, dmaAddr, access, VtdFaultReason.INTERRUPT_RANGE);
    }

    /** Addresses so high that they would look like a fault are no RAM either way. */
    private static long untranslated(long dmaAddr, Access access) {
        if (isInterrupt(dmaAddr) && access == Access.WRITE) {
            return BusPort.fault(VtdFaultReason.INTERRUPT_REQUEST);
        }
        return BusPort.isFault(dmaAddr) ? BusPort.fault(DeviceBus.NOT_RAM) : dmaAddr;
    }

    private long translateIn(CachedContext known, long dmaAddr, Access access) {
        if (Addresses.lessThan(known.lastAddr, dmaAddr)) {
            return blocked(known.recordsFaults, dmaAddr, access, VtdFaultReason.BEYOND_WIDTH);
        }
        if (known.passThrough) {
            return dmaAddr;
        }
        long translation = iotlb.lookup(known.domainId, dmaAddr);
        if (SecondStageWalk.permits(translation, access)) {
            counters.hit();
            return reached(known, SecondStageWalk.apply(translation, dmaAddr), dmaAddr, access);
        }
        return translateByWalk(known, dmaAddr, access);
    }

    private long translateByWalk(CachedContext known, long dmaAddr, Access access) {
        counters.miss();
        long translation = walk.walk(known.root, known.levels, dmaAddr, access);
        if (BusPort.isFault(translation)) {
            return blocked(known.recordsFaults, dmaAddr, access, BusPort.faultCode(translation));
        }
        iotlb.fill(known.domainId, dmaAddr, translation);
        return reached(known, SecondStageWalk.apply(translation, dmaAddr), dmaAddr, access);
    }

    private long reached(CachedContext known, long physAddr, long dmaAddr, Access access) {
        return isInterrupt(physAddr)
                ? blocked(known.recordsFaults, dmaAddr, access, VtdFaultReason.INTERRUPT_RANGE)
                : physAddr;
    }

    private long blocked(boolean recorded, long dmaAddr, Access access, int reason) {
        if (recorded) {
            faults.record(requesterId, dmaAddr, access, reason);
        } else {
            faults.count();
        }
        return BusPort.fault(reason);
    }

    // ---- the context cache

    private long translateUncached(long dmaAddr, Access access) {
        long slot = contextSlot();
        if (BusPort.isFault(slot)) {
            return blocked(true, dmaAddr, access, BusPort.faultCode(slot));
        }
        long low = tables.entry(slot);
        long high = tables.entry(slot + Long.BYTES);
        int reason = CachedContext.reason(low, high, features);
        if (reason != 0) {
            boolean recorded = !ContextLayout.isPresent(low) || !ContextLayout.disablesFaults(low);
            return blocked(recorded, dmaAddr, access, reason);
        }
        CachedContext found = new CachedContext(low, high, features);
        context = found;
        return translateIn(found, dmaAddr, access);
    }

    /** Where this requester's context entry lies, or a fault. */
    private long contextSlot() {
        long rootSlot = ContextLayout.rootSlot(unit.rootTable(), requesterId);
        if (!tables.isReachable(rootSlot)) {
            return BusPort.fault(VtdFaultReason.ROOT_UNREACHABLE);
        }
        long low = tables.entry(rootSlot);
        if (!ContextLayout.isPresent(low)) {
            return BusPort.fault(VtdFaultReason.ROOT_NOT_PRESENT);
        }
        long high = tables.entry(rootSlot + Long.BYTES);
        if (ContextLayout.rootHasReservedBits(low, high, -1L << features.hostBits())) {
            return BusPort.fault(VtdFaultReason.ROOT_RESERVED);
        }
        long slot = ContextLayout.contextSlot(ContextLayout.pointer(low), requesterId);
        return tables.isReachable(slot) ? slot : BusPort.fault(VtdFaultReason.CONTEXT_UNREACHABLE);
    }

    void forgetContext() {
        context = null;
    }

    void forgetContextOf(int domainId) {
        CachedContext known = context;
        if (known != null && known.domainId == domainId) {
            context = null;
        }
    }

    @Override
    public String faultText(int code) {
        return VtdFaultReason.text(code);
    }
}
