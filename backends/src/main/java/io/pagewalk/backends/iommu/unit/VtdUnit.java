package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.lock.SpinLock;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A VT-d unit in legacy mode: registers, context cache, IOTLB, invalidation and fault records, between the devices and
 * memory. Implements iommu:VTD-2, iommu:INV-16 to INV-18 and iommu:FLT-1 to FLT-9.
 *
 * <p>It knows what software has written to memory and registers, and nothing else. An entry it has cached stays in use
 * until software has it invalidated. While translation is off, addresses pass unchanged.
 *
 * <p>Thread-safe.
 *
 * <p>Differs from hardware: it carries out the invalidation queue before the write of the tail returns, and it has no
 * interrupt remapping, device-TLBs or scalable mode.
 */
public final class VtdUnit implements RegisterFile {
    private static final int VERSION = 0x10;
    private static final int BANK_WORDS = VtdRegisters.FRCD / Long.BYTES;
    private static final int FSTS_WORD = VtdRegisters.FSTS & ~7;
    private static final int GCMD_WORD = VtdRegisters.GCMD & ~7;

    private final VtdFeatures features;
    private final AtomicLongArray bank = new AtomicLongArray(BANK_WORDS);
    private final FaultEvent faultEvent = new FaultEvent();
    private final FaultRecords faults;
    private final Iotlb iotlb;
    private final PagingCache pagingCache;
    private final AccessGuard guard;
    private final InvalidationEngine invalidation;
    private final SpinLock lock = new SpinLock();
    private final Map<Integer, VtdPort> ports = new ConcurrentHashMap<>();
    private volatile long rootTable;
    private volatile boolean translating;
    private volatile @Nullable StaleUseListener audit;

    /**
     * Makes a unit as it is after power-on: translation and queue off, fault interrupt masked.
     *
     * @param memory the machine's memory
     * @param features what it can do
     */
    public VtdUnit(PhysicalMemory memory, VtdFeatures features) {
        this.features = features;
        this.faults = new FaultRecords(features.faultRecords(), faultEvent);
        this.iotlb = new Iotlb(features.iotlb());
        this.pagingCache = new PagingCache(features.pagingCache());
        this.guard = new AccessGuard(stripes());
        this.invalidation = new InvalidationEngine(this, memory);
        set(VtdRegisters.VER, VERSION);
        set(VtdRegisters.CAP, VtdCapability.cap(features));
        set(VtdRegisters.ECAP, VtdCapability.ecap(features));
    }

    /** Enough that two busy threads rarely meet, few enough that an idle drain costs next to nothing. */
    private static int stripes() {
        int processors = Math.min(Runtime.getRuntime().availableProcessors(), 32);
        return Math.max(4, Integer.highestOneBit(2 * processors - 1));
    }

    /**
     * Connects the fault interrupt. It runs on the thread of the access that was blocked, after that access, or of the
     * write that takes the mask away.
     *
     * @param interrupt the handler
     */
    public void onFaultEvent(Runnable interrupt) {
        faultEvent.connect(interrupt);
    }

    /**
     * Has every access of requesters that have no port yet walk the tables as well, and tells of those that went by
     * something else. Ports made before cost and tell nothing.
     *
     * @param listener told of each stale use
     */
    public void audit(StaleUseListener listener) {
        audit = listener;
    }

    // ---- between devices and memory

    /**
     * The unit as one requester sees it.
     *
     * @param requesterId bus, device and function, 0 to 0xffff
     * @param tables the way to table entries
     * @return the port, always the same for one requester
     */
    public BusPort port(int requesterId, TableMemory tables) {
        return portOf(requesterId, tables);
    }

    private VtdPort portOf(int requesterId, TableMemory tables) {
        return ports.computeIfAbsent(requesterId, id -> {
            StaleUseListener listener = audit;
            return listener == null ? new VtdPort(this, id, tables) : new AuditedPort(this, id, tables, listener);
        });
    }

    /**
     * A device's own request for a translation, or an access to an address that it says is translated already. There
     * are no device-TLBs, so that none is allowed: reason 0x0d, unless the request is blocked before that
     * (iommu:FLT-5).
     *
     * @param requesterId bus, device and function, 0 to 0xffff
     * @param tables the way to table entries
     * @param dmaAddr the address
     * @param access what is asked for
     * @return the fault, recorded as any other
     */
    public long translateForDevice(int requesterId, TableMemory tables, long dmaAddr, Access access) {
        return portOf(requesterId, tables).translateForDevice(dmaAddr, access);
    }

    /**
     * How many accesses are between their beginning and their end.
     *
     * @return the count; exact only while nothing begins or ends
     */
    public long accessesInFlight() {
        return guard.inFlight();
    }

    /**
     * How many translations the IOTLB holds.
     *
     * @return the count; exact only while there is no access
     */
    public int iotlbHeld() {
        return iotlb.held();
    }

    /**
     * How many entries the paging-structure caches hold.
     *
     * @return the count; exact only while there is no access
     */
    public int pagingCacheHeld() {
        return pagingCache.held();
    }

    /**
     * Reports what the unit counted.
     *
     * @param sink takes the numbers
     */
    public void report(MetricSink sink) {
        long lookups = 0;
        long hits = 0;
        for (VtdPort port : ports.values()) {
            lookups += port.counters().lookups();
            hits += port.counters().hits();
        }
        sink.put(Metric.IOTLB_LOOKUPS, lookups);
        sink.put(Metric.IOTLB_HITS, hits);
        invalidation.report(sink);
        sink.put(Metric.TRANSLATION_FAULTS, faults.blocked());
    }

    VtdFeatures features() {
        return features;
    }

    FaultRecords faults() {
        return faults;
    }

    FaultEvent faultEvent() {
        return faultEvent;
    }

    Iotlb iotlb() {
        return iotlb;
    }

    PagingCache pagingCache() {
        return pagingCache;
    }

    boolean hasPort(int requesterId) {
        return ports.containsKey(requesterId);
    }

    AccessGuard guard() {
        return guard;
    }

    boolean isTranslating() {
        return translating;
    }

    long rootTable() {
        return rootTable;
    }

    void forEachPort(Consumer<VtdPort> action) {
        ports.values().forEach(action);
    }

    // ---- registers

    @Override
    public int read32(int offset) {
        long word = read64(offset & ~7);
        return (int) ((offset & 4) == 0 ? word : word >>> 32);
    }

    @Override
    public long read64(int offset) {
        if (faults.holds(offset)) {
            return faults.read(offset);
        }
        if (offset == FSTS_WORD) {
            return (long) faultStatus() << 32;
        }
        if (offset == VtdRegisters.FECTL) {
            return (bank.get(offset / Long.BYTES) & 0xffff_ffff_0000_0000L)
                    | Integer.toUnsignedLong(faultEvent.control());
        }
        return offset >= 0 && offset < VtdRegisters.FRCD ? bank.get(offset / Long.BYTES) : 0;
    }

    private int faultStatus() {
        return faults.status()
                | (invalidation.hasError() ? VtdRegisters.FSTS_IQE : 0)
                | (invalidation.hasTimedOut() ? VtdRegisters.FSTS_ITE : 0);
    }

    @Override
    public void write32(int offset, int value) {
        long half = Integer.toUnsignedLong(value);
        switch (offset) {
            case VtdRegisters.GCMD -> locked(VtdRegisters.GCMD, half);
            case VtdRegisters.FSTS -> locked(FSTS_WORD, half << 32);
            case VtdRegisters.GSTS, FSTS_WORD -> {
                // Not writable, and the other half of its word acts on what is written to it.
            }
            default -> writeHalf(offset, half);
        }
    }

    /** The other half keeps its value, but for fault records, whose bits are cleared by writing them. */
    private void writeHalf(int offset, long half) {
        int word = offset & ~7;
        long kept = faults.holds(word) ? 0 : read64(word);
        long value = (offset & 4) == 0 ? (kept & 0xffff_ffff_0000_0000L) | half : (kept & 0xffff_ffffL) | half << 32;
        locked(word, value);
    }

    @Override
    public void write64(int offset, long value) {
        locked(offset, value);
    }

    private void locked(int offset, long value) {
        lock.lock();
        try {
            write(offset, value);
        } finally {
            lock.unlock();
        }
        if (offset == VtdRegisters.FECTL) {
            faultEvent.deliver();
        }
    }

    private void write(int offset, long value) {
        switch (offset) {
            case VtdRegisters.IQT -> writeTail(value);
            case GCMD_WORD -> command((int) value);
            case VtdRegisters.CCMD -> contextCommand(value);
            case VtdRegisters.IOTLB -> iotlbCommand(value);
            case FSTS_WORD -> clearStatus((int) (value >>> 32));
            case VtdRegisters.FECTL -> {
                set(offset, value);
                faultEvent.setControl((int) value);
            }
            case VtdRegisters.RTADDR, VtdRegisters.IQA, VtdRegisters.IVA, 0x40 -> set(offset, value);
            default -> writeFaultRecord(offset, value);
        }
    }

    private void writeFaultRecord(int offset, long value) {
        if (faults.holds(offset)) {
            faults.write(offset, value);
        }
    }

    private void set(int offset, long value) {
        bank.setRelease(offset / Long.BYTES, value);
    }

    // ---- what writes start

    private void writeTail(long value) {
        set(VtdRegisters.IQT, value);
        invalidation.fetchUpTo(value);
        set(VtdRegisters.IQH, invalidation.headRegister());
        set(VtdRegisters.IQER, invalidation.errorRegister());
    }

    /** GSTS shows TE and QIE as written, and that a root pointer was ever set. */
    private void command(int command) {
        int status = (int) (read64(GCMD_WORD) >>> 32);
        if ((command & VtdRegisters.GCMD_SRTP) != 0) {
            rootTable = read64(VtdRegisters.RTADDR) & ~0xfffL;
            status |= VtdRegisters.GCMD_SRTP;
        }
        if (((command ^ status) & VtdRegisters.GCMD_QIE) != 0) {
            switchQueue((command & VtdRegisters.GCMD_QIE) != 0);
        }
        switchTranslation((command & VtdRegisters.GCMD_TE) != 0);
        int switches = VtdRegisters.GCMD_TE | VtdRegisters.GCMD_QIE;
        set(GCMD_WORD, (((long) status & ~switches) | (command & switches)) << 32);
    }

    /** Accesses that began under the other rule are over before the status says so. */
    private void switchTranslation(boolean on) {
        if (on != translating) {
            translating = on;
            guard.drain();
        }
    }

    private void switchQueue(boolean on) {
        if (on) {
            invalidation.enable(read64(VtdRegisters.IQA));
            set(VtdRegisters.IQH, 0);
        } else {
            invalidation.disable();
        }
    }

    private void clearStatus(int value) {
        if ((value & VtdRegisters.FSTS_PFO) != 0) {
            faults.clearOverflow();
        }
        if ((value & VtdRegisters.FSTS_IQE) != 0 && invalidation.hasError()) {
            invalidation.clearError(read64(VtdRegisters.IQT));
            set(VtdRegisters.IQH, invalidation.headRegister());
        }
        if ((value & VtdRegisters.FSTS_ITE) != 0 && invalidation.hasTimedOut()) {
            invalidation.clearTimeout(read64(VtdRegisters.IQT));
            set(VtdRegisters.IQH, invalidation.headRegister());
            set(VtdRegisters.IQER, invalidation.errorRegister());
        }
    }

    /** The granularity that was carried out is 0 where nothing was. */
    private void contextCommand(long value) {
        if ((value & VtdRegisters.CCMD_ICC) != 0) {
            int granularity = (int) (value >>> 61) & 3;
            boolean done = invalidation.contextNow(
                    granularity, (int) value & 0xffff, (int) (value >>> 16) & 0xffff, (int) (value >>> 32) & 3);
            set(
                    VtdRegisters.CCMD,
                    (value & ~(VtdRegisters.CCMD_ICC | 3L << 59)) | (done ? (long) granularity << 59 : 0));
        }
    }

    private void iotlbCommand(long value) {
        if ((value & VtdRegisters.IOTLB_IVT) != 0) {
            int granularity = (int) (value >>> 60) & 3;
            boolean done = invalidation.iotlbNow(granularity, (int) (value >>> 32) & 0xffff, read64(VtdRegisters.IVA));
            set(
                    VtdRegisters.IOTLB,
                    (value & ~(VtdRegisters.IOTLB_IVT | 3L << 57)) | (done ? (long) granularity << 57 : 0));
        }
    }
}
