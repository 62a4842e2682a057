package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.iova.IovaTree;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The DMA-API domain of one group: its tables, its device addresses and, when lazy, its flush queue.
 *
 * <p>Implements iommu:DINIT-1 to DINIT-10, DMAP-8. The forced aperture is that of VT-d (DIOVA-2). Thread-safe after
 * {@link #init}.
 */
final class IommuDomain extends TableDomain {
    private static final int PAGES_PER_REMEMBERED_RANGE = 512;

    /** One page at which interrupt messages are written, at its own address. */
    private record MsiWindow(long firstIova, long pages) {}

    private final Machine machine;
    private final String name;
    private final IommuDriver driver;
    private final IommuCore core;
    private final IovaDomain iovas;
    private final CpuGathers gathers;
    private final IovaUsage usage;
    private final long granuleBytes;
    private final int shift;
    private final boolean wantsQueue;
    private final Set<Long> reservedPfns = new HashSet<>();
    private final List<MsiWindow> msiWindows = new ArrayList<>();
    private volatile @Nullable FlushQueue flushQueue;
    private boolean initialised;

    /**
     * Makes an empty domain.
     *
     * @param machine the machine
     * @param name what to call it
     * @param table its tables
     * @param driver who made them
     * @param lazy whether unmaps are to be flushed together
     * @param usage counts addresses held
     */
    IommuDomain(Machine machine, String name, PageTable table, IommuDriver driver, boolean lazy, IovaUsage usage) {
        super(machine, name, table, driver);
        this.machine = machine;
        this.name = name;
        this.driver = driver;
        this.usage = usage;
        this.wantsQueue = lazy;
        this.granuleBytes = Long.lowestOneBit(table.pageSizes());
        this.shift = Long.numberOfTrailingZeros(granuleBytes);
        this.core = core();
        this.iovas = new IovaDomain(machine, granuleBytes, Addresses.max(1, apertureStart() >>> shift), true);
        this.gathers = new CpuGathers(machine.cpus());
    }

    /**
     * Prepares the domain for a device. Only the first one has its regions reserved (iommu:DINIT-4 to DINIT-6, QK-20).
     *
     * @param device a device behind the domain
     * @return 0; -EFAULT when the device's dma-ranges lie beyond the aperture, or its granule is another one; -EINVAL
     *     when they overlap
     */
    int init(Device device) {
        List<DmaRange> ranges = new ArrayList<>(device.config().ranges());
        ranges.sort(Comparator.comparing(DmaRange::dmaStart, Long::compareUnsigned));
        if (!ranges.isEmpty() && Addresses.lessThan(apertureEnd(), ranges.get(0).dmaStart())) {
            return -Errno.EFAULT;
        }
        if (initialised) {
            return granuleBytes == Long.lowestOneBit(pageSizes()) ? 0 : -Errno.EFAULT;
        }
        initialised = true;
        if (wantsQueue && driver.canDeferFlush(device)) {
            initFlushQueue(driver.shadowsOnFlush(device));
        }
        int error = reserveRegions(device, ranges);
        rememberReserved();
        return error;
    }

    /** iommu:DINIT-7 to DINIT-10. */
    private int reserveRegions(Device device, List<DmaRange> ranges) {
        if (device.config().pci()) {
            machine.hostBridgeWindows().forEach(w -> iovas.reserve(w.first() >>> shift, w.last() >>> shift));
            int error = reserveAround(ranges);
            if (error != 0) {
                return error;
            }
        }
        for (ReservedRegion region : RegionList.of(device)) {
            iovas.reserve(region.start() >>> shift, region.last() >>> shift);
            if (region.type() == ReservedRegion.Type.MSI) {
                long first = Addresses.alignDown(region.start(), granuleBytes);
                long pages = Addresses.alignUp(region.last() + 1 - first, granuleBytes) >>> shift;
                msiWindows.add(new MsiWindow(first, pages));
            }
        }
        return 0;
    }

    /**
     * Starts to flush unmaps together, also while mappings are live (iommu:FQ-9, CORE-9).
     *
     * @param shared whether all CPUs share one queue (FQ-1)
     * @return 0, also when it is on already; -ENOMEM with the domain as strict as it was
     */
    int initFlushQueue(boolean shared) {
        if (flushQueue != null) {
            return 0;
        }
        if (machine.failures().point("iommu.flush-queue").fails()) {
            machine.log().message("iommu_dma_init_fq", "iova flush queue initialization failed");
            return -Errno.ENOMEM;
        }
        FlushOptions options = shared ? FlushOptions.SHARED : FlushOptions.PER_CPU;
        flushQueue = new FlushQueue(name, machine.cpus(), options, machine.clock(), core, driver, iovas);
        return 0;
    }

    /**
     * Where a device writes an interrupt message that goes to a physical address: the pages of hardware's own window
     * are there at their own addresses from the beginning (iommu:DINIT-10).
     *
     * @param physAddr the address of the message
     * @return the same as a device address, or 0 when it is in no window
     */
    long msiIova(long physAddr) {
        for (MsiWindow window : msiWindows) {
            if (Addresses.lessThan((physAddr - window.firstIova()) >>> shift, window.pages())) {
                return physAddr;
            }
        }
        return 0;
    }

    /** How many identity pages there are for interrupt messages. */
    long msiPages() {
        return msiWindows.stream().mapToLong(MsiWindow::pages).sum();
    }

    /** DINIT-8: what lies between the inbound windows, and with it the first granule of each. */
    private int reserveAround(List<DmaRange> ranges) {
        long start = 0;
        for (DmaRange range : ranges) {
            long end = range.dmaStart();
            if (Addresses.lessThan(end, start)) {
                return -Errno.EINVAL;
            }
            if (end != start) {
                iovas.reserve(start >>> shift, end >>> shift);
            }
            start = range.dmaStart() + range.sizeBytes();
        }
        if (start != 0) {
            iovas.reserve(start >>> shift, -1L >>> shift);
        }
        return 0;
    }

    private void rememberReserved() {
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            reservedPfns.add(tree.lo(range));
        }
    }

    IovaDomain iovas() {
        return iovas;
    }

    long granuleBytes() {
        return granuleBytes;
    }

    int shift() {
        return shift;
    }

    /** Counts an address range as held by a mapping. */
    void took(int cpu, long sizeBytes) {
        usage.take(cpu, sizeBytes);
    }

    /** Frees an address range that was never mapped, or is unmapped and invalidated (iommu:FQ-10). */
    void freeNow(int cpu, long iova, long sizeBytes) {
        usage.give(cpu, sizeBytes);
        iovas.freeFast(cpu, iova >>> shift, sizeBytes >>> shift);
    }

    /**
     * Unmaps a range and gives its addresses back, now or through the flush queue (iommu:DMAP-8).
     *
     * @param cpu the CPU that unmaps
     * @param dmaAddr first byte
     * @param sizeBytes length; the granules that it touches are unmapped (DMAP-9)
     */
    void unmap(int cpu, long dmaAddr, long sizeBytes) {
        long offset = dmaAddr & (granuleBytes - 1);
        long iova = dmaAddr - offset;
        long size = Addresses.alignUp(sizeBytes + offset, granuleBytes);
        long unmapped = unmapAndFree(cpu, iova, size);
        if (unmapped != size) {
            machine.log()
                    .warn(
                            "iommu_dma_unmap",
                            name + ": unmapped " + Addresses.hex(unmapped) + " bytes at iova "
                                    + Addresses.hexRange(iova, size) + " (iommu:DMAP-8)");
        }
    }

    private long unmapAndFree(int cpu, long iova, long sizeBytes) {
        FlushQueue queue = flushQueue;
        InvalidationGather gather = gathers.take(cpu, queue != null);
        long unmapped = core.unmapFast(iova, sizeBytes, gather);
        if (queue == null) {
            core.sync(gather);
            freeNow(cpu, iova, sizeBytes);
        } else {
            usage.give(cpu, sizeBytes);
            queue.queue(cpu, iova >>> shift, sizeBytes >>> shift, gather.freed());
        }
        gathers.give(cpu, gather);
        return unmapped;
    }

    @Override
    public IommuDomainType type() {
        return flushQueue == null ? IommuDomainType.DMA : IommuDomainType.DMA_FQ;
    }

    /**
     * The address range around an address, as far as it is mapped; the ledger knows the exact bytes, if there is one.
     */
    @Override
    public @Nullable LiveMapping find(long iova) {
        LeafRun leaf = leafAt(iova);
        if (leaf == null) {
            return null;
        }
        int range = iovas.tree().find(iova >>> shift);
        return range == IovaTree.NONE || range == IovaTree.ANCHOR
                ? new LiveMapping(leaf.iova(), leaf.sizeBytes(), leaf.physAddr(), leaf.perm(), "")
                : mappingOf(range, leaf.perm());
    }

    private LiveMapping mappingOf(int range, int perm) {
        long first = iovas.tree().lo(range) << shift;
        long end = first;
        while (Addresses.lessOrEqual(end >>> shift, iovas.tree().hi(range)) && !isUnmapped(end)) {
            end += granuleBytes;
        }
        return new LiveMapping(first, end - first, core.iovaToPhys(first), perm, isReserved(range) ? "firmware" : name);
    }

    private boolean isReserved(int range) {
        return reservedPfns.contains(iovas.tree().lo(range));
    }

    @Override
    List<LiveMapping> mappings() {
        List<LiveMapping> all = new ArrayList<>();
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            LeafRun leaf = leafAt(tree.lo(range) << shift);
            if (leaf != null) {
                all.add(mappingOf(range, leaf.perm()));
            }
        }
        return all;
    }

    /** Tells of each range of addresses that is taken, and what for, in the columns of a snapshot. */
    void tell(Consumer<List<String>> rows) {
        Set<Long> cached = iovas.cachedPfns();
        Set<Long> queued = new HashSet<>();
        FlushQueue queue = flushQueue;
        if (queue != null) {
            queue.forEach(queued::add);
        }
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            long pfn = tree.lo(range);
            String state = cached.contains(pfn) ? "cached" : queued.contains(pfn) ? "waits for a flush" : "mapped";
            rows.accept(List.of(
                    name,
                    Addresses.hex(pfn << shift),
                    Addresses.hex(((tree.hi(range) + 1) << shift) - 1),
                    isReserved(range) ? "reserved" : state));
        }
    }

    /** Domain flushes by the queue, 0 when strict. */
    long flushes() {
        FlushQueue queue = flushQueue;
        return queue == null ? 0 : queue.flushes();
    }

    /** Flushes the queue and gives cached addresses back to the tree. */
    void quiesce() {
        FlushQueue queue = flushQueue;
        if (queue != null) {
            queue.quiesce();
        }
        iovas.releaseCaches();
    }

    /** Checks the addresses, and that each range held by a mapping is mapped at its start. */
    void checkStructure(Consumer<String> violation) {
        iovas.checkStructure(name, violation);
        Set<Long> notMapped = iovas.cachedPfns();
        notMapped.addAll(reservedPfns);
        checkQueued(notMapped, violation);
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            long iova = tree.lo(range) << shift;
            if (!notMapped.contains(tree.lo(range)) && isUnmapped(iova)) {
                violation.accept(name + ": iova " + Addresses.hex(iova) + " is taken but not mapped");
            }
        }
    }

    private void checkQueued(Set<Long> notMapped, Consumer<String> violation) {
        FlushQueue queue = flushQueue;
        if (queue != null) {
            queue.forEach(pfn -> {
                if (!notMapped.add(pfn)) {
                    violation.accept(name + ": pfn " + Addresses.hex(pfn)
                            + " waits in the flush queue and is cached or queued a second time");
                }
            });
        }
    }

    /**
     * Looks at an inner byte, since a page that maps physical page 0 looks unmapped at its first one (iommu:DMAP-7).
     */
    private boolean isUnmapped(long iova) {
        return core.iovaToPhys(iova + 1) == 0;
    }

    /**
     * Checks that nothing but the reserved ranges is taken, and that no range that is remembered as taken once is still
     * mapped.
     */
    void checkIdle(Consumer<String> violation) {
        FlushQueue queue = flushQueue;
        if (queue != null && queue.queued() != 0) {
            violation.accept(name + ": " + queue.queued() + " ranges wait in the flush queue");
        }
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            if (!reservedPfns.contains(tree.lo(range))) {
                violation.accept(name + ": iova " + Addresses.hex(tree.lo(range) << shift) + " to "
                        + Addresses.hex(((tree.hi(range) + 1) << shift) - 1) + " is still taken");
            }
        }
        tree.forEachRemembered((lo, hi) -> checkUnmapped(lo, hi, violation));
    }

    private boolean isTaken(long pfn) {
        return iovas.tree().find(pfn) != IovaTree.NONE;
    }

    private void checkUnmapped(long loPfn, long hiPfn, Consumer<String> violation) {
        long pages = Math.min(hiPfn - loPfn + 1, PAGES_PER_REMEMBERED_RANGE);
        for (long pfn = loPfn; pfn < loPfn + pages; pfn++) {
            if (!isTaken(pfn) && !isUnmapped(pfn << shift)) {
                violation.accept(name + ": iova " + Addresses.hex(pfn << shift) + " is free but still mapped");
                return;
            }
        }
    }

    void close() {
        FlushQueue queue = flushQueue;
        if (queue != null) {
            queue.close();
        }
        iovas.close();
    }
}
