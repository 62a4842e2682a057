package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.backends.iommu.pgtable.TablePool;
import io.pagewalk.backends.iommu.pgtable.VtdSecondStage;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdCapability;
import io.pagewalk.backends.iommu.unit.VtdFeatures;
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
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The driver of the machine's VT-d units in legacy mode. It programs each unit through its registers and through tables
 * and descriptors in memory, and asks it for nothing else. Implements iommu:VTD-3 to VTD-5, VTD-8, iommu:CTX-3 to
 * CTX-7, iommu:INV-9 to INV-14.
 *
 * <p>Options: those of {@link VtdUnits}, {@link VtdFeatures#of} and {@link TablePool}; {@code iommu.audit}, 1 to have
 * stale uses found. With {@code intel_iommu=sp_off} on the command line there are no large pages (VTD-5).
 *
 * <p>Thread-safe as {@link IommuDriver} says: making, attaching and closing are for one thread at a time, invalidations
 * may come from any.
 *
 * <p>Differs from Linux: a device is refused with -EINVAL where its unit cannot walk the levels that the domain's
 * tables already have, or would take levels away under another unit.
 */
public final class VtdDriver implements IommuDriver {
    private static final int FIRST_NUMBER = 2;
    private static final VtdDomain[] NO_DOMAINS = {};

    private final Machine machine;
    private final BackendOptions options;
    private final KernelPages pages;
    private final VtdUnits units;
    private final boolean anyCachesNotPresent;
    private final int largeLevels;
    private final List<VtdDomain> domains = new ArrayList<>();
    private final Map<Device, VtdDomain> behind = new HashMap<>();
    private final Set<Device> attached = new LinkedHashSet<>();

    /** By number; replaced, never changed. */
    private volatile @Nullable VtdDomain[] numbered = NO_DOMAINS;

    private volatile @Nullable TablePool pool;
    private boolean closed;

    /**
     * Sets the units up and turns translation on, with every device blocked.
     *
     * @param machine the machine, complete but for its devices
     * @param options settings
     * @throws DmaException when there is no memory for the tables
     * @throws IllegalArgumentException when an option is out of range
     */
    public VtdDriver(Machine machine, BackendOptions options) {
        this.machine = machine;
        this.options = options;
        pages = new KernelPages(machine.memory(), machine.pages());
        units = VtdUnits.create(machine, options, pages);
        anyCachesNotPresent = units.all().stream().anyMatch(VtdIommu::cachesNotPresent);
        boolean superpages = !KernelCommandLine.parse(machine.commandLine())
                .options("intel_iommu")
                .contains("sp_off");
        largeLevels = superpages ? sharedLargeLevels(units.all()) : 0;
    }

    /** What all units have in common (iommu:VTD-5). */
    private static int sharedLargeLevels(List<VtdIommu> all) {
        return all.stream()
                .mapToInt(iommu -> VtdCapability.largeLevels(iommu.cap()))
                .min()
                .orElse(0);
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
        domain.invalidateAll();
        if (domain.number() != VtdDomain.NO_NUMBER) {
            setNumbered(domain.number(), null);
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

    private VtdDomain numbered(int number) {
        VtdDomain[] all = numbered;
        VtdDomain domain = number < all.length ? all[number] : null;
        if (domain == null) {
            throw new IllegalArgumentException("there is no domain " + number);
        }
        return domain;
    }

    private void setNumbered(int number, @Nullable VtdDomain domain) {
        VtdDomain[] old = numbered;
        VtdDomain[] all = Arrays.copyOf(old, Math.max(old.length, number + 1));
        all[number] = domain;
        numbered = all;
    }

    private int numberOf(VtdDomain domain) {
        if (domain.number() == VtdDomain.NO_NUMBER) {
            VtdDomain[] all = numbered;
            int number = FIRST_NUMBER;
            while (number < all.length && all[number] != null) {
                number++;
            }
            domain.setNumber(number);
            setNumbered(number, domain);
        }
        return domain.number();
    }

    // ---- devices

    /**
     * {@inheritDoc} A device that is behind another domain leaves it first.
     *
     * @return the domain's number; -EINVAL when something is mapped beyond the unit's width, or the unit does not walk
     *     the levels that the tables have; -ENOSPC when the unit's ids are used up
     */
    @Override
    public synchronized int attach(Device device, PageTable table) {
        VtdDomain domain = domainOf(table);
        VtdIommu iommu = units.of(device);
        int error = fit(domain, iommu);
        int id = error == 0 ? domain.take(iommu) : error;
        if (id < 0) {
            return id;
        }
        VtdSecondStage tables = domain.table();
        for (int requesterId : requesterIds(device)) {
            iommu.enter(requesterId, id, tables.rootPhysAddr(), tables.levels());
        }
        leaveDomain(device, iommu);
        behind.put(device, domain);
        attached.add(device);
        return numberOf(domain);
    }

    /** VTD-4, and AW of the entry to come (CTX-2). */
    private int fit(VtdDomain domain, VtdIommu iommu) {
        VtdSecondStage table = domain.table();
        int levels = Math.min(table.levels(), iommu.levels());
        boolean shared = domain.isBesides(iommu);
        if ((shared && levels != table.levels()) || !iommu.walks(levels)) {
            return -Errno.EINVAL;
        }
        int width = iommu.widthOf(levels);
        int alike = shared ? Math.min(width, Long.SIZE - Long.numberOfLeadingZeros(table.apertureEnd())) : width;
        return table.narrow(levels, alike, largeLevels);
    }

    /** All ids of its requests (iommu:CTX-3). */
    private static Collection<Integer> requesterIds(Device device) {
        return device.config().pciPlace().requesterIds(device.requesterId());
    }

    private void leaveDomain(Device device, VtdIommu iommu) {
        VtdDomain old = behind.remove(device);
        if (old != null) {
            old.drop(iommu);
        }
    }

    @Override
    public synchronized int attachIdentity(Device device) {
        VtdIommu iommu = units.of(device);
        requesterIds(device).forEach(iommu::enterIdentity);
        leaveDomain(device, iommu);
        attached.add(device);
        return 0;
    }

    /** {@inheritDoc} Ids that it shares with others stay until the last of those is blocked. */
    @Override
    public synchronized void detach(Device device) {
        VtdIommu iommu = units.of(device);
        attached.remove(device);
        for (int requesterId : requesterIds(device)) {
            if (attached.stream().noneMatch(other -> requesterIds(other).contains(requesterId))) {
                iommu.leave(requesterId);
            }
        }
        leaveDomain(device, iommu);
    }

    /**
     * {@inheritDoc}
     *
     * @return the port of the id that requests of the device carry
     */
    @Override
    public BusPort port(Device device) {
        int carried = device.config().pciPlace().carriedId(device.requesterId());
        return units.of(device).port(carried, pool().tables());
    }

    @Override
    public TableImage image(Device device) {
        int carried = device.config().pciPlace().carriedId(device.requesterId());
        return units.of(device).image(carried, pool().tables());
    }

    // ---- what it wants

    /** iommu:CORE-7 but for the quirks of single chips. */
    @Override
    public @Nullable IommuDomainType preferredType(Device device) {
        return units.of(device).hasPassThrough() ? null : IommuDomainType.DMA;
    }

    /** One unit in caching mode is enough (iommu:CORE-3). */
    @Override
    public boolean wantsStrict() {
        return anyCachesNotPresent;
    }

    // ---- invalidating

    /** iommu:INV-14. */
    @Override
    public int syncMap(int domainNumber, long iova, long sizeBytes) {
        if (anyCachesNotPresent && sizeBytes != 0) {
            numbered(domainNumber).invalidateMapped(iova, Addresses.last(iova, sizeBytes));
        }
        return 0;
    }

    @Override
    public void invalidateRange(int domainNumber, long firstIova, long lastIova, boolean leafOnly) {
        numbered(domainNumber).invalidateRange(firstIova, lastIova, leafOnly);
    }

    @Override
    public void invalidateDomain(int domainNumber) {
        numbered(domainNumber).invalidateAll();
    }

    @Override
    public void freeTablePages(TablePageList freed) {
        if (!freed.isEmpty()) {
            pool().freeUnlinked(freed);
        }
    }

    @Override
    public void passFaultsTo(FaultReports reports) {
        units.all().forEach(iommu -> iommu.passFaultsTo(reports));
    }

    /** With {@code iommu.audit} only; devices added from now on are audited. */
    @Override
    public void passStaleUsesTo(StaleUseReports reports) {
        if (options.number("iommu.audit", 0) != 0) {
            units.all().forEach(iommu -> iommu.auditTo(reports));
        }
    }

    // ---- looking on

    /**
     * How many units there are.
     *
     * @return 1 at least
     */
    public int unitCount() {
        return units.all().size();
    }

    /**
     * The registers of a unit.
     *
     * @param unit its number, from 0
     * @return the register file
     */
    public RegisterFile registers(int unit) {
        return units.all().get(unit).registers();
    }

    /**
     * The registers of the first unit.
     *
     * @return the register file
     */
    public RegisterFile registers() {
        return registers(0);
    }

    /** Its parts are itself and the first unit's {@link RegisterFile}. */
    @Override
    public <T> @Nullable T part(Class<T> type) {
        if (type == VtdDriver.class) {
            return type.cast(this);
        }
        return type == RegisterFile.class ? type.cast(registers()) : null;
    }

    @Override
    public void report(MetricSink sink) {
        TablePool used = pool;
        sink.put(Metric.TABLE_PAGES, used == null ? 0 : used.inUse());
        sink.put(Metric.TABLE_PAGES_PEAK, used == null ? 0 : used.peak());
        Map<Metric, Long> sums = new EnumMap<>(Metric.class);
        units.all().forEach(iommu -> iommu.report((metric, value) -> sums.merge(metric, value, Long::sum)));
        sums.forEach(sink::put);
    }

    @Override
    public synchronized void checkStructure(Consumer<String> violation) {
        TablePool used = pool;
        if (used != null && !closed) {
            TableTreeCheck check = new TableTreeCheck(used, violation);
            domains.forEach(domain -> check.check(domain.table()));
            check.finish();
        }
        units.all().forEach(iommu -> iommu.checkStructure(violation));
    }

    /** Turns translation off and gives back all tables; the pool's region stays taken. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        units.all().forEach(VtdIommu::close);
        domains.forEach(domain -> domain.table().destroy());
        domains.clear();
        pages.giveBackAll();
    }
}
