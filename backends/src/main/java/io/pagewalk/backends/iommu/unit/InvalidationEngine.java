package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The part of a unit that forgets: it fetches descriptors from the invalidation queue and carries them out, one thread
 * at a time. Implements iommu:INV-3 to INV-8, iommu:INV-16 and the IQE and ITE parts of iommu:INV-17.
 *
 * <p>Callers hold the unit's lock.
 */
final class InvalidationEngine {

    /*
     * Before anything is dropped, the accesses in flight are waited for: one of them may have read a table entry before the
     * driver changed it and be about to put what it read into a cache. What is dropped after that cannot come back, since every
     * access now in flight reads the tables as they are. A wait descriptor then waits once more, for accesses that found a
     * stale translation before it was dropped. When nobody is inside, both waits are a few loads.
     */

    private static final int GLOBAL = 0;
    private static final int DOMAIN = 1;
    private static final int PAGES = 2;
    private static final int CONTEXT = 3;

    /** IQT: bits 18 to 4. */
    private static final int TAIL = 0x7_fff0;

    private final VtdUnit unit;
    private final PhysicalMemory memory;
    private final AccessGuard guard;
    private final Iotlb iotlb;
    private final PagingCache pagingCache;
    private final int maxAddressMask;
    private final AtomicLongArray counts = new AtomicLongArray(4);
    private long base;
    private int entries;
    private int head;
    private boolean enabled;
    private boolean reachable;
    private boolean stopped;
    private boolean timedOut;
    private int silentRequester;
    private boolean settled;

    InvalidationEngine(VtdUnit unit, PhysicalMemory memory) {
        this.unit = unit;
        this.memory = memory;
        this.guard = unit.guard();
        this.iotlb = unit.iotlb();
        this.pagingCache = unit.pagingCache();
        this.maxAddressMask = unit.features().maxAddressMask();
    }

    // ---- the queue

    void enable(long iqa) {
        base = iqa & ~0xfffL;
        entries = 256 << (iqa & 7);
        head = 0;
        stopped = false;
        timedOut = false;
        reachable = memory.isRam(base, (long) entries * InvalidationLayout.DESCRIPTOR_BYTES);
        enabled = true;
    }

    void disable() {
        enabled = false;
    }

    boolean hasError() {
        return stopped;
    }

    void clearError(long iqt) {
        stopped = false;
        fetchUpTo(iqt);
    }

    boolean hasTimedOut() {
        return timedOut;
    }

    void clearTimeout(long iqt) {
        timedOut = false;
        fetchUpTo(iqt);
    }

    /** IQER: who did not answer. */
    long errorRegister() {
        return InvalidationLayout.timedOut(silentRequester);
    }

    long headRegister() {
        return (long) head << 4;
    }

    /** Fetches and carries out descriptors until the tail, or until one is invalid; a tail beyond the queue is. */
    void fetchUpTo(long iqt) {
        int tail = (int) (iqt & TAIL) >>> 4;
        settled = false;
        stopped |= enabled && tail >= entries;
        while (enabled && !stopped && !timedOut && head != tail) {
            long at = base + (long) head * InvalidationLayout.DESCRIPTOR_BYTES;
            if (reachable && carryOut(memory.getLong(at), memory.getLong(at + Long.BYTES))) {
                head = (head + 1) & (entries - 1);
            } else {
                stopped = true;
            }
        }
    }

    private boolean carryOut(long low, long high) {
        return switch (InvalidationLayout.type(low)) {
            case InvalidationLayout.CONTEXT -> context(low);
            case InvalidationLayout.IOTLB -> iotlb(low, high);
            case InvalidationLayout.DEVICE_TLB -> deviceTlb(low);
            case InvalidationLayout.INTERRUPT_ENTRY -> true;
            case InvalidationLayout.WAIT -> await(low, high);
            default -> false;
        };
    }

    /** No device keeps translations of its own, so that each answers at once; where there is none, nobody does. */
    private boolean deviceTlb(long low) {
        int requesterId = InvalidationLayout.requesterId(low);
        if (!unit.hasPort(requesterId)) {
            silentRequester = requesterId;
            timedOut = true;
        }
        return true;
    }

    private boolean await(long low, long high) {
        guard.drain();
        settled = false;
        if (InvalidationLayout.writesStatus(low)) {
            if (!Addresses.isAligned(high, Integer.BYTES) || !memory.isRam(high, Integer.BYTES)) {
                return false;
            }
            memory.putInt(high, InvalidationLayout.status(low));
        }
        return true;
    }

    private void settle() {
        if (!settled) {
            guard.drain();
            settled = true;
        }
    }

    // ---- one invalidation

    private boolean context(long low) {
        return context(
                InvalidationLayout.granularity(low),
                InvalidationLayout.domainId(low),
                InvalidationLayout.requesterId(low),
                InvalidationLayout.functionMask(low));
    }

    /** Without the queue: waits for accesses in flight before and after. */
    boolean contextNow(int granularity, int domainId, int requesterId, int functionMask) {
        settled = false;
        boolean done = context(granularity, domainId, requesterId, functionMask);
        guard.drain();
        return done;
    }

    private boolean context(int granularity, int domainId, int requesterId, int functionMask) {
        settle();
        switch (granularity) {
            case InvalidationLayout.GLOBAL -> unit.forEachPort(VtdPort::forgetContext);
            case InvalidationLayout.DOMAIN -> unit.forEachPort(port -> port.forgetContextOf(domainId));
            case InvalidationLayout.DEVICE -> {
                int ignored = ignoredFunctions(functionMask);
                unit.forEachPort(port -> forgetDevice(port, domainId, requesterId, ignored));
            }
            default -> {
                return false;
            }
        }
        settled = false; // An access may have used what is forgotten now, and fill the IOTLB by it.
        count(CONTEXT);
        return true;
    }

    private static void forgetDevice(VtdPort port, int domainId, int requesterId, int ignored) {
        if (((port.requesterId() ^ requesterId) & ~ignored) == 0) {
            port.forgetContextOfDevice(domainId);
        }
    }

    /** The function mask hides 0 to 3 high bits of the function number. */
    private static int ignoredFunctions(int functionMask) {
        return switch (functionMask) {
            case 0 -> 0;
            case 1 -> 4;
            case 2 -> 6;
            default -> 7;
        };
    }

    private boolean iotlb(long low, long high) {
        return iotlb(
                InvalidationLayout.granularity(low),
                InvalidationLayout.domainId(low),
                InvalidationLayout.address(high),
                InvalidationLayout.addressMask(high),
                InvalidationLayout.leafOnly(high));
    }

    /** Without the queue: waits for accesses in flight before and after. */
    boolean iotlbNow(int granularity, int domainId, long iva) {
        settled = false;
        boolean done = iotlb(
                granularity,
                domainId,
                InvalidationLayout.address(iva),
                InvalidationLayout.addressMask(iva),
                InvalidationLayout.leafOnly(iva));
        guard.drain();
        return done;
    }

    /** Table entries first, without which nothing that is dropped can come back (see {@link PagingCache}). */
    private boolean iotlb(int granularity, int domainId, long iova, int addressMask, boolean leafOnly) {
        boolean pages = granularity == InvalidationLayout.PAGES;
        if (!pages && granularity != InvalidationLayout.GLOBAL && granularity != InvalidationLayout.DOMAIN) {
            return false;
        }
        if (pages && addressMask > maxAddressMask) {
            return false;
        }
        if (pagingCache.isPresent() && !(pages && leafOnly)) {
            pagingCache.bypass(true);
            settled = false;
            settle();
            dropTables(granularity, domainId, iova, addressMask);
            dropTranslations(granularity, domainId, iova, addressMask);
            pagingCache.bypass(false);
        } else {
            settle();
            dropTranslations(granularity, domainId, iova, addressMask);
        }
        return true;
    }

    private void dropTables(int granularity, int domainId, long iova, int addressMask) {
        switch (granularity) {
            case InvalidationLayout.GLOBAL -> pagingCache.invalidateAll();
            case InvalidationLayout.DOMAIN -> pagingCache.invalidateDomain(domainId);
            default -> pagingCache.invalidatePages(domainId, iova, addressMask);
        }
    }

    private void dropTranslations(int granularity, int domainId, long iova, int addressMask) {
        switch (granularity) {
            case InvalidationLayout.GLOBAL -> {
                iotlb.invalidateAll();
                count(GLOBAL);
            }
            case InvalidationLayout.DOMAIN -> {
                iotlb.invalidateDomain(domainId);
                count(DOMAIN);
            }
            default -> {
                iotlb.invalidatePages(domainId, iova, addressMask);
                count(PAGES);
            }
        }
    }

    private void count(int what) {
        counts.setRelease(what, counts.getPlain(what) + 1);
    }

    void report(MetricSink sink) {
        sink.put(Metric.INVALIDATIONS_PAGE, counts.get(PAGES));
        sink.put(Metric.INVALIDATIONS_DOMAIN, counts.get(DOMAIN));
        sink.put(Metric.INVALIDATIONS_GLOBAL, counts.get(GLOBAL));
        sink.put(Metric.INVALIDATIONS_CONTEXT, counts.get(CONTEXT));
    }
}
