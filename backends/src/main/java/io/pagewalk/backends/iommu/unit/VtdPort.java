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
 * <p>Thread-safe; allocates only when it reads a context entry. One class, so that calls are direct, unless an audit
 * brings {@link AuditedPort} in.
 */
class VtdPort implements BusPort {
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
        this.walk = new SecondStageWalk(tables, features, unit.pagingCache());
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

    static boolean isInterrupt(long address) {
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

    /** Translates by what is known of the requester's domain. */
    long translateIn(CachedContext known, long dmaAddr, Access access) {
        if (Addresses.lessThan(known.lastAddr, dmaAddr)) {
            return blocked(known.recordsFaults, dmaAddr, access, VtdFaultReason.BEYOND_WIDTH);
        }
        if (known.passThrough) {
            return known.reason == 0 ? dmaAddr : blocked(known.recordsFaults, dmaAddr, access, known.reason);
        }
        long translation = iotlb.lookup(known.domainId, dmaAddr);
        if (SecondStageWalk.permits(translation, access)) {
            counters.hit();
            return reached(known, SecondStageWalk.apply(translation, dmaAddr), dmaAddr, access);
        }
        return SecondStageWalk.isNowhere(translation)
                ? translateToNowhere(known, dmaAddr, access)
                : translateByWalk(known, dmaAddr, access);
    }

    /** What the tables of a domain say as they stand: a translation or a fault. */
    final long walkFromRoot(CachedContext known, long dmaAddr, Access access) {
        return walk.walkFromRoot(known.root, known.levels, dmaAddr, access);
    }

    private long translateToNowhere(CachedContext known, long dmaAddr, Access access) {
        counters.hit();
        int reason = access.writes() ? VtdFaultReason.NO_WRITE : VtdFaultReason.NO_READ;
        return blocked(known.recordsFaults, dmaAddr, access, reason);
    }

    private long translateByWalk(CachedContext known, long dmaAddr, Access access) {
        counters.miss();
        long translation = walk.walk(known.domainId, known.root, known.levels, dmaAddr, access);
        if (BusPort.isFault(translation)) {
            if (features.cachingMode() && SecondStageWalk.isAbsent(translation)) {
                iotlb.fill(known.domainId, dmaAddr, SecondStageWalk.nowhere());
            }
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
        CachedContext found = readContext();
        if (found.reason == 0 || (features.cachingMode() && found.reason == VtdFaultReason.CONTEXT_NOT_PRESENT)) {
            context = found;
        }
        return translateIn(found, dmaAddr, access);
    }

    /** The context entry as it stands, or why there is none. */
    final CachedContext readContext() {
        long rootSlot = ContextLayout.rootSlot(unit.rootTable(), requesterId);
        if (!tables.isReachable(rootSlot)) {
            return CachedContext.failure(VtdFaultReason.ROOT_UNREACHABLE, true);
        }
        long low = tables.entry(rootSlot);
        if (!ContextLayout.isPresent(low)) {
            return CachedContext.failure(VtdFaultReason.ROOT_NOT_PRESENT, true);
        }
        long high = tables.entry(rootSlot + Long.BYTES);
        if (ContextLayout.rootHasReservedBits(low, high, -1L << features.hostBits())) {
            return CachedContext.failure(VtdFaultReason.ROOT_RESERVED, true);
        }
        long slot = ContextLayout.contextSlot(ContextLayout.pointer(low), requesterId);
        return tables.isReachable(slot)
                ? CachedContext.of(tables.entry(slot), tables.entry(slot + Long.BYTES), features)
                : CachedContext.failure(VtdFaultReason.CONTEXT_UNREACHABLE, true);
    }

    /**
     * A device's own request for a translation, or one that it says is translated: allowed by no context entry of this
     * unit, as there are no device-TLBs (iommu:FLT-4, FLT-5).
     */
    final long translateForDevice(long dmaAddr, Access access) {
        CachedContext found = readContext();
        int reason = found.reason == 0 ? VtdFaultReason.BLOCKED : found.reason;
        return blocked(found.recordsFaults, dmaAddr, access, reason);
    }

    void forgetContext() {
        context = null;
    }

    /** What is remembered as not present is tagged with domain 0, and goes by that name only (iommu:CTX-5, INV-1). */
    void forgetContextOfDevice(int domainId) {
        CachedContext known = context;
        if (known != null && (known.reason == 0 || domainId == known.domainId)) {
            context = null;
        }
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
