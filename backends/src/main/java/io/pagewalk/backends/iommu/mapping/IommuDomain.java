package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.iova.IovaTree;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The DMA-API domain of one device: its tables, its device addresses and, when lazy, its flush queue.
 *
 * <p>Implements iommu:DINIT-1 to DINIT-10, DMAP-8. The forced aperture is that of VT-d (DIOVA-2). The identity pages of
 * DINIT-10 are not kept, since no interrupt message is written through a domain here. Thread-safe after {@link #init}.
 */
final class IommuDomain {
    private static final PhysRange MSI_WINDOW = new PhysRange(0xfee0_0000L, 0xfeef_ffffL);
    private static final int PAGES_PER_REMEMBERED_RANGE = 512;

    private final Machine machine;
    private final Device device;
    private final PageTable table;
    private final IommuCore core;
    private final IovaDomain iovas;
    private final @Nullable FlushQueue flushQueue;
    private final CpuGathers gathers;
    private final IovaUsage usage;
    private final long granuleBytes;
    private final int shift;
    private final Set<Long> reservedPfns = new HashSet<>();

    IommuDomain(Device device, PageTable table, IommuDriver driver, int domainId, boolean lazy, IovaUsage usage) {
        this.machine = device.machine();
        this.device = device;
        this.table = table;
        this.usage = usage;
        this.granuleBytes = Long.lowestOneBit(table.pageSizes());
        this.shift = Long.numberOfTrailingZeros(granuleBytes);
        this.core = new IommuCore(table, driver, domainId, machine.log());
        this.iovas = new IovaDomain(machine, granuleBytes, 1, true);
        this.gathers = new CpuGathers(machine.cpus());
        this.flushQueue =
                lazy ? new FlushQueue(device.name(), machine.cpus(), machine.clock(), core, driver, iovas) : null;
    }

    /**
     * Reserves what no mapping may use (iommu:DINIT-4, DINIT-7 to DINIT-9).
     *
     * @return 0, or a negated errno when the device's dma-ranges do not fit the domain
     */
    int init() {
        List<DmaRange> ranges = new ArrayList<>(device.config().ranges());
        ranges.sort(Comparator.comparing(DmaRange::dmaStart, Long::compareUnsigned));
        if (!ranges.isEmpty() && Addresses.lessThan(apertureEnd(), ranges.get(0).dmaStart())) {
            return -Errno.EFAULT;
        }
        int error = 0;
        if (device.config().pci()) {
            machine.hostBridgeWindows().forEach(w -> iovas.reserve(w.first() >>> shift, w.last() >>> shift));
            error = reserveAround(ranges);
        }
        iovas.reserve(MSI_WINDOW.first() >>> shift, MSI_WINDOW.last() >>> shift);
        rememberReserved();
        return error;
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

    IommuCore core() {
        return core;
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

    long pageSizes() {
        return table.pageSizes();
    }

    long apertureEnd() {
        return table.apertureEnd();
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
                            device.name() + ": unmapped " + Addresses.hex(unmapped) + " bytes at iova "
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

    /** Domain flushes by the queue, 0 when strict. */
    long flushes() {
        return flushQueue == null ? 0 : flushQueue.flushes();
    }

    /** Flushes the queue and gives cached addresses back to the tree. */
    void quiesce() {
        if (flushQueue != null) {
            flushQueue.quiesce();
        }
        iovas.releaseCaches();
    }

    /** Checks the addresses, and that each range held by a mapping is mapped at its start. */
    void checkStructure(Consumer<String> violation) {
        iovas.checkStructure(device.name(), violation);
        Set<Long> notMapped = iovas.cachedPfns();
        notMapped.addAll(reservedPfns);
        checkQueued(notMapped, violation);
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            long iova = tree.lo(range) << shift;
            if (!notMapped.contains(tree.lo(range)) && isUnmapped(iova)) {
                violation.accept(device.name() + ": iova " + Addresses.hex(iova) + " is taken but not mapped");
            }
        }
    }

    private void checkQueued(Set<Long> notMapped, Consumer<String> violation) {
        if (flushQueue != null) {
            flushQueue.forEach(pfn -> {
                if (!notMapped.add(pfn)) {
                    violation.accept(device.name() + ": pfn " + Addresses.hex(pfn)
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
        if (flushQueue != null && flushQueue.queued() != 0) {
            violation.accept(device.name() + ": " + flushQueue.queued() + " ranges wait in the flush queue");
        }
        IovaTree tree = iovas.tree();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            if (!reservedPfns.contains(tree.lo(range))) {
                violation.accept(device.name() + ": iova " + Addresses.hex(tree.lo(range) << shift) + " to "
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
                violation.accept(device.name() + ": iova " + Addresses.hex(pfn << shift) + " is free but still mapped");
                return;
            }
        }
    }

    void close() {
        if (flushQueue != null) {
            flushQueue.close();
        }
        iovas.close();
    }
}
