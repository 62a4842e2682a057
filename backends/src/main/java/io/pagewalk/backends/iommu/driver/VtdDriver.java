package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.iommu.pgtable.TablePool;
import io.pagewalk.backends.iommu.pgtable.VtdSecondStage;
import io.pagewalk.backends.iommu.unit.ContextLayout;
import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdCapability;
import io.pagewalk.backends.iommu.unit.VtdFeatures;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.backends.iommu.unit.VtdUnit;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one VT-d unit in legacy mode. It programs the unit through its registers and through tables and
 * descriptors in memory, and asks it for nothing else. Implements iommu:VTD-3 to VTD-5, VTD-8, iommu:CTX-3 to CTX-7,
 * iommu:INV-9 to INV-12.
 *
 * <p>Options: those of {@link VtdFeatures#of} and {@link TablePool}. With {@code intel_iommu=sp_off} on the command
 * line there are no large pages (VTD-5).
 *
 * <p>Thread-safe as {@link IommuDriver} says: making, attaching and closing are for one thread at a time, invalidations
 * may come from any.
 */
public final class VtdDriver implements IommuDriver {
    /** Ids 0 and 1 have a meaning of their own (iommu:VTD-8). */
    private static final int FIRST_DOMAIN_ID = 2;

    private static final int IDENTITY_DOMAIN_ID = 1;

    private final Machine machine;
    private final BackendOptions options;
    private final VtdUnit unit;
    private final RegisterFile registers;
    private final KernelPages pages;
    private final ContextTables contexts;
    private final InvalidationQueue queue;
    private final VtdFaultHandler faults;
    private final long cap;
    private final long ecap;
    private final int agaw;
    private final int largeLevels;
    private final BitSet domainIds = new BitSet();
    private final List<VtdDomain> domains = new ArrayList<>();
    private volatile @Nullable TablePool pool;
    private boolean closed;

    /**
     * Sets a unit up and turns translation on, with every device blocked.
     *
     * @param machine the machine, complete but for its devices
     * @param options settings
     * @throws DmaException when there is no memory for the tables
     * @throws IllegalArgumentException when an option is out of range
     */
    public VtdDriver(Machine machine, BackendOptions options) {
        this.machine = machine;
        this.options = options;
        unit = new VtdUnit(machine.memory(), VtdFeatures.of(options));
        registers = unit;
        pages = new KernelPages(machine.memory(), machine.pages());
        contexts = new ContextTables(machine.memory(), pages);
        queue = new InvalidationQueue(registers, machine.memory(), pages.take(), pages.take());
        faults = new VtdFaultHandler(registers, machine.log());
        cap = registers.read64(VtdRegisters.CAP);
        ecap = registers.read64(VtdRegisters.ECAP);
        agaw = VtdCapability.highestAgaw(cap);
        boolean superpages = !KernelCommandLine.parse(machine.commandLine())
                .options("intel_iommu")
                .contains("sp_off");
        largeLevels = superpages ? VtdCapability.largeLevels(cap) : 0;
        domainIds.set(0, FIRST_DOMAIN_ID);
        unit.onFaultEvent(faults::handle);
        registers.write32(VtdRegisters.FECTL, 0);
        queue.enable();
        setRootTable();
        command(VtdRegisters.GCMD_TE);
    }

    /** The caches are emptied after a new root pointer (iommu:CTX-7). */
    private void setRootTable() {
        registers.write64(VtdRegisters.RTADDR, contexts.rootTable());
        command(VtdRegisters.GCMD_SRTP);
        queue.submit(InvalidationLayout.context(InvalidationLayout.GLOBAL, 0, 0), 0);
        queue.submit(InvalidationLayout.iotlb(InvalidationLayout.GLOBAL, 0), 0);
    }

    private void command(int bit) {
        registers.write32(VtdRegisters.GCMD, (registers.read32(VtdRegisters.GSTS) & ~VtdRegisters.GCMD_SRTP) | bit);
    }

    // ---- domains

    /**
     * {@inheritDoc}
     *
     * @throws DmaException when there is no page for the root
     */
    @Override
    public synchronized PageTable newTable() {
        TablePool from = pool();
        long root = from.alloc();
        if (root == TablePool.NO_PAGE) {
            throw KernelPages.outOfMemory("the root of an IOMMU domain");
        }
        VtdSecondStage table = new VtdSecondStage(from, machine.log(), root);
        domains.add(new VtdDomain(table));
        return table;
    }

    private synchronized TablePool pool() {
        TablePool found = pool;
        if (found == null) {
            found = TablePool.create(machine, options);
            pool = found;
        }
        return found;
    }

    @Override
    public synchronized void destroy(PageTable table) {
        VtdDomain domain = domainOf(table);
        domains.remove(domain);
        if (domain.id() != VtdDomain.NO_ID) {
            invalidateDomain(domain.id());
            domainIds.clear(domain.id());
        }
        domain.table().destroy();
    }

    private VtdDomain domainOf(PageTable table) {
        for (VtdDomain domain : domains) {
            if (domain.table() == table) {
                return domain;
            }
        }
        throw new IllegalArgumentException(
                "tables with root " + Addresses.hex(table.rootPhysAddr()) + " are not of this driver");
    }

    /**
     * {@inheritDoc} A device that is behind another domain leaves it first.
     *
     * @return the domain id; -EINVAL when something is mapped beyond the unit's width; -ENOSPC when the ids are used up
     */
    @Override
    public synchronized int attach(Device device, PageTable table) {
        VtdDomain domain = domainOf(table);
        int error = narrow(domain.table());
        if (error != 0) {
            return error;
        }
        int id = idOf(domain);
        if (id > 0) {
            enter(device.requesterId(), domain);
        }
        return id;
    }

    private int narrow(VtdSecondStage table) {
        int width = Math.min(VtdCapability.widthOfAgaw(agaw), VtdCapability.mgaw(cap));
        return table.narrow(VtdCapability.levelsOfAgaw(agaw), width, largeLevels);
    }

    private int idOf(VtdDomain domain) {
        if (domain.id() == VtdDomain.NO_ID) {
            int id = domainIds.nextClearBit(FIRST_DOMAIN_ID);
            if (id >= VtdCapability.domainIds(cap)) {
                return -Errno.ENOSPC;
            }
            domainIds.set(id);
            domain.setId(id);
            domain.table().onReplaced((first, last) -> invalidateRange(id, first, last, false));
        }
        return domain.id();
    }

    private void enter(int requesterId, VtdDomain domain) {
        long root = domain.table().rootPhysAddr();
        enter(
                requesterId,
                ContextLayout.contextLow(root, ContextLayout.TT_TABLES),
                ContextLayout.contextHigh(domain.id(), agaw));
    }

    /** An entry that stands there already is left alone. */
    private void enter(int requesterId, long low, long high) {
        if (contexts.isPresent(requesterId)) {
            if (contexts.low(requesterId) == low && contexts.high(requesterId) == high) {
                return;
            }
            leave(requesterId);
        }
        contexts.enter(requesterId, low, high);
    }

    /** A pass-through entry has no tables and the domain id 1 (iommu:VTD-8, CTX-3). */
    @Override
    public synchronized int attachIdentity(Device device) {
        enter(
                device.requesterId(),
                ContextLayout.contextLow(0, ContextLayout.TT_PASS_THROUGH),
                ContextLayout.contextHigh(IDENTITY_DOMAIN_ID, agaw));
        return 0;
    }

    @Override
    public synchronized void detach(Device device) {
        if (contexts.isPresent(device.requesterId())) {
            leave(device.requesterId());
        }
    }

    /** The entry is erased only when the hardware has forgotten it (iommu:CTX-6). */
    private void leave(int requesterId) {
        int oldId = ContextLayout.domainId(contexts.high(requesterId));
        contexts.clearPresent(requesterId);
        queue.submit(InvalidationLayout.context(InvalidationLayout.DEVICE, oldId, requesterId), 0);
        invalidateDomain(oldId);
        contexts.erase(requesterId);
    }

    /**
     * {@inheritDoc}
     *
     * @return the port
     */
    @Override
    public BusPort port(Device device) {
        return unit.port(device.requesterId(), pool().tables());
    }

    // ---- what it wants

    /** iommu:CORE-7 but for the quirks of single chips. */
    @Override
    public @Nullable IommuDomainType preferredType(Device device) {
        return VtdCapability.passThrough(ecap) ? null : IommuDomainType.DMA;
    }

    @Override
    public boolean wantsStrict() {
        return VtdCapability.cachingMode(cap);
    }

    // ---- invalidating

    @Override
    public void invalidateRange(int domainId, long firstIova, long lastIova, boolean leafOnly) {
        int order = PageSelection.order(firstIova, lastIova);
        if (order > VtdCapability.maxAddressMask(cap) || !VtdCapability.pageSelective(cap)) {
            invalidateDomain(domainId);
            return;
        }
        queue.submit(
                InvalidationLayout.iotlb(InvalidationLayout.PAGES, domainId),
                InvalidationLayout.pages(PageSelection.address(firstIova, order), order, leafOnly));
    }

    @Override
    public void invalidateDomain(int domainId) {
        queue.submit(InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, domainId), 0);
    }

    @Override
    public void freeTablePages(TablePageList freed) {
        if (!freed.isEmpty()) {
            pool().freeUnlinked(freed);
        }
    }

    @Override
    public void passFaultsTo(FaultReports reports) {
        faults.passTo(reports);
    }

    // ---- looking on

    /**
     * The unit's registers.
     *
     * @return the register file
     */
    public RegisterFile registers() {
        return registers;
    }

    /** Its part is the unit's {@link RegisterFile}. */
    @Override
    public <T> @Nullable T part(Class<T> type) {
        return type == RegisterFile.class ? type.cast(registers) : null;
    }

    @Override
    public void report(MetricSink sink) {
        TablePool used = pool;
        sink.put(Metric.TABLE_PAGES, used == null ? 0 : used.inUse());
        sink.put(Metric.TABLE_PAGES_PEAK, used == null ? 0 : used.peak());
        unit.report(sink);
    }

    @Override
    public synchronized void checkStructure(Consumer<String> violation) {
        TablePool used = pool;
        if (used != null && !closed) {
            TableTreeCheck check = new TableTreeCheck(used, violation);
            domains.forEach(domain -> check.check(domain.table()));
            check.finish();
        }
        if (registers.read64(VtdRegisters.IQH) != registers.read64(VtdRegisters.IQT)) {
            violation.accept("the invalidation queue stands at " + Addresses.hex(registers.read64(VtdRegisters.IQH))
                    + ", not at its tail " + Addresses.hex(registers.read64(VtdRegisters.IQT)));
        }
        if (unit.accessesInFlight() != 0) {
            violation.accept(unit.accessesInFlight() + " accesses have begun and not ended");
        }
    }

    /** Turns translation off and gives back all tables; the pool's region stays taken. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        queue.close();
        registers.write32(VtdRegisters.GCMD, 0);
        domains.forEach(domain -> domain.table().destroy());
        domains.clear();
        pages.giveBackAll();
    }
}
