package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.direct.DirectCore;
import io.pagewalk.backends.direct.DirectOps;
import io.pagewalk.backends.direct.DirectPort;
import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuDomainView;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.backends.iommu.api.StaleUse;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A machine with an IOMMU: a default domain for each group of devices, and {@link Iommu} for what goes beyond the DMA
 * API.
 *
 * <p>Implements iommu:DINIT-11 and, with its helpers, CORE-2 to CORE-9, GRP-1 to GRP-6. Attaching is for one thread.
 */
public final class IommuBackend implements DmaBackend, Iommu {
    private final Machine machine;
    private final IommuDriver driver;
    private final SwiotlbPool pool;
    private final DirectCore direct;
    private final Swiotlb swiotlb;
    private final IommuBoot boot;
    private final DefaultDomains defaults;
    private final IommuGroups groups = new IommuGroups();
    private final BareDomain blocked;
    private final StaleUses staleUses;
    private final AtomicLong coherentPages = new AtomicLong();
    private volatile boolean poolIsUsed;

    /**
     * Makes the backend.
     *
     * @param machine the machine
     * @param driver drives its IOMMU; closed with the backend
     * @param swiotlb bounces for untrusted devices, and for those in an identity domain
     * @param boot what kind of domains there are
     */
    public IommuBackend(Machine machine, IommuDriver driver, Swiotlb swiotlb, IommuBoot boot) {
        this.machine = machine;
        this.driver = driver;
        this.swiotlb = swiotlb;
        this.pool = swiotlb.defaultMem();
        this.direct = new DirectCore(machine);
        swiotlb.takeDecryptedFrom(direct.atomicPools());
        machine.addHeldSource(swiotlb);
        machine.addHeldSource(this::held);
        this.boot = boot;
        this.defaults = new DefaultDomains(machine, driver, boot.defaultType());
        this.blocked = BareDomain.blocked(driver);
        this.staleUses = new StaleUses(machine.log());
        driver.passFaultsTo(this::reported);
        driver.passStaleUsesTo(this::usedStale);
    }

    /** The owner of a domain is asked, if its domain is one that has an owner (iommu:CORE-22). */
    private void reported(int requesterId, long pageIova, boolean write, int reason) {
        groups.forRequester(requesterId, (device, group) -> {
            if (group.current() instanceof PagingDomain domain) {
                domain.reportFault(device, pageIova, write);
            }
        });
    }

    private void usedStale(int requesterId, long iova, Access access, long reached, long mapped) {
        groups.forRequester(
                requesterId,
                (device, group) -> staleUses.add(new StaleUse(device.name(), iova, access, reached, mapped)));
    }

    // ---- the DMA API

    @Override
    public DmaOps attach(Device device) {
        RegionList.reportInsane(device);
        IommuGroup group = groups.find(device);
        if (group == null) {
            group = new IommuGroup(defaults.make(device), blocked);
        }
        defaults.join(group, device);
        groups.put(device, group);
        return opsOf(device, group.defaultDomain());
    }

    private DmaOps opsOf(Device device, CoreDomain domain) {
        poolIsUsed |= !device.isTrusted();
        if (!(domain instanceof IommuDomain translated)) {
            poolIsUsed = true;
            return directOps(device);
        }
        int error = translated.init(device);
        if (error != 0) {
            return retainPlatformOps(device, -error);
        }
        boolean triesBelow4Gib = device.config().pci() && !boot.forceDac();
        return new IommuDmaOps(
                device,
                translated,
                new DeviceIovas(device, translated, triesBelow4Gib),
                pool,
                new IommuPages(device, direct.atomicPools()),
                coherentPages);
    }

    private DmaOps directOps(Device device) {
        return new DirectOps(direct, swiotlb.attach(device));
    }

    /** The device stays behind its empty domain, so that whatever it is given faults (iommu:DINIT-11). */
    private DmaOps retainPlatformOps(Device device, int errno) {
        machine.log()
                .message(
                        "iommu_setup_dma_ops",
                        "Failed to set up IOMMU for device " + device.name() + " (error " + errno
                                + "); retaining platform DMA ops");
        return directOps(device);
    }

    @Override
    public BusPort port(Device device) {
        BusPort port = driver.port(device);
        boolean moved = device.hasRanges() && defaultDomainOf(device).type() == IommuDomainType.IDENTITY;
        return moved
                ? new BridgePort(
                        new DirectPort(
                                device.config().busRanges(),
                                machine.kernelConfig().arch().encryptionMask()),
                        port)
                : port;
    }

    // ---- beyond the DMA API

    @Override
    public IommuPagingDomain allocPagingDomain() {
        return new PagingDomain(machine, driver.newTable(), driver, groups);
    }

    @Override
    public IommuDomainView domainOf(Device device) {
        return groups.of(device).current();
    }

    @Override
    public IommuDomainView defaultDomainOf(Device device) {
        return groups.of(device).defaultDomain();
    }

    @Override
    public int attachIdentity(Device device) {
        return groups.of(device).attach(defaults.identity());
    }

    @Override
    public int attachBlocked(Device device) {
        return DirectMappings.areRequired(device)
                ? -Errno.EINVAL
                : groups.of(device).attach(blocked);
    }

    @Override
    public void detach(Device device) {
        IommuGroup group = groups.of(device);
        group.detach(group.current());
    }

    @Override
    public int useDefaultDomain(Device device) {
        return groups.of(device).use();
    }

    @Override
    public void unuseDefaultDomain(Device device) {
        groups.of(device).unuse();
    }

    @Override
    public int claimDmaOwner(Device device, Object owner) {
        return groups.of(device).claim(Objects.requireNonNull(owner, "owner"));
    }

    @Override
    public void releaseDmaOwner(Device device, Object owner) {
        groups.of(device).release(Objects.requireNonNull(owner, "owner"));
    }

    @Override
    public List<Device> groupOf(Device device) {
        return List.copyOf(groups.of(device).members());
    }

    @Override
    public int setDefaultType(Device device, String type) {
        CoreDomain domain = groups.of(device).defaultDomain();
        boolean known =
                type.equals("auto") || List.of("identity", "DMA", "DMA-FQ").contains(type);
        if (!known) {
            return -Errno.EINVAL;
        }
        if (type.equals(domain.type().sysfsName())) {
            return 0;
        }
        return type.equals(IommuDomainType.DMA_FQ.sysfsName()) && domain instanceof IommuDomain translated
                ? translated.initFlushQueue(driver.shadowsOnFlush(device))
                : -Errno.EPERM;
    }

    @Override
    public TableImage tables(Device device) {
        return driver.image(device);
    }

    @Override
    public long translate(Device device, long iova, Access access) {
        BusPort port = driver.port(device);
        long token = port.beginAccess();
        try {
            long answer = port.translate(iova, access);
            return BusPort.isFault(answer) ? StaleUse.NOWHERE : answer;
        } finally {
            port.endAccess(token);
        }
    }

    @Override
    public long staleUseCount() {
        return staleUses.count();
    }

    @Override
    public List<StaleUse> staleUses() {
        return staleUses.latest();
    }

    @Override
    public List<ReservedRegion> reservedRegions(Device device) {
        return RegionList.ofGroup(groups.of(device).members());
    }

    // ---- the backend

    /** Its parts are the {@link Iommu}, the {@link Swiotlb} and those of its driver. */
    @Override
    public <T> @Nullable T part(Class<T> type) {
        if (type == Swiotlb.class) {
            return type.cast(swiotlb);
        }
        return type == Iommu.class ? type.cast(this) : driver.part(type);
    }

    @Override
    public void report(MetricSink sink) {
        sink.put(Metric.IOVA_PEAK_BYTES, defaults.usage().peakBytes());
        sink.put(Metric.IOVA_HELD_BYTES, defaults.usage().heldBytes());
        sink.put(
                Metric.FLUSHES,
                defaults.translated().stream().mapToLong(IommuDomain::flushes).sum());
        driver.report(sink);
        if (poolIsUsed) {
            swiotlb.report(sink);
        }
    }

    private List<HeldSection> held() {
        List<List<String>> rows = new ArrayList<>();
        defaults.translated().forEach(domain -> domain.tell(rows::add));
        return List.of(new HeldSection("device addresses", List.of("domain", "first", "last", "state"), rows));
    }

    /** Strict unmaps invalidate before they return; lazy ones leave what the IOTLB holds usable until the flush. */
    @Override
    public boolean blocksAfterUnmap() {
        return defaults.global() == IommuDomainType.DMA;
    }

    @Override
    public boolean ownsAddresses() {
        return boot.defaultType().isDmaApi();
    }

    @Override
    public void quiesce() {
        defaults.translated().forEach(IommuDomain::quiesce);
        swiotlb.quiesce();
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        defaults.translated().forEach(domain -> domain.checkStructure(violation));
        driver.checkStructure(violation);
        swiotlb.checkStructure(violation);
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        defaults.translated().forEach(domain -> domain.checkIdle(violation));
        long heldBytes = defaults.usage().heldBytes();
        if (heldBytes != 0) {
            violation.accept("mappings hold " + heldBytes + " bytes of device addresses");
        }
        if (coherentPages.get() != 0) {
            violation.accept("coherent allocations of " + coherentPages.get() + " pages were not freed");
        }
        direct.checkIdle(violation);
        swiotlb.checkIdle(violation);
    }

    @Override
    public void close() {
        defaults.translated().forEach(IommuDomain::close);
        driver.close();
    }
}
