package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.direct.DirectCore;
import io.pagewalk.backends.direct.DirectOps;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.swiotlb.DeviceIoTlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * A machine with an IOMMU: one domain for each device, strict or lazy.
 *
 * <p>Implements iommu:DINIT-11, DINIT-12, and of CORE-4 that untrusted devices are always strict (QK-25). Attaching is
 * for one thread.
 */
public final class IommuBackend implements DmaBackend {
    private final Machine machine;
    private final IommuDriver driver;
    private final SwiotlbPool pool;
    private final boolean lazy;
    private final boolean forceDac;
    private final IovaUsage usage;
    private final AtomicLong coherentPages = new AtomicLong();
    private final List<IommuDomain> domains = new CopyOnWriteArrayList<>();

    /**
     * Makes the backend.
     *
     * @param machine the machine
     * @param driver drives its IOMMU; closed with the backend
     * @param pool bounces for untrusted devices
     * @param lazy whether unmaps are flushed together
     */
    public IommuBackend(Machine machine, IommuDriver driver, SwiotlbPool pool, boolean lazy) {
        this.machine = machine;
        this.driver = driver;
        this.pool = pool;
        this.lazy = lazy;
        this.forceDac = ForceDac.of(KernelCommandLine.parse(machine.commandLine()));
        this.usage = new IovaUsage(machine.cpus());
    }

    @Override
    public DmaOps attach(Device device) {
        PageTable table = driver.newTable();
        int domainId = driver.attach(device, table);
        if (domainId < 0) {
            throw new IllegalArgumentException("the IOMMU cannot take " + device.name() + ": error " + -domainId);
        }
        IommuDomain domain = new IommuDomain(device, table, driver, domainId, lazy && device.isTrusted(), usage);
        domains.add(domain);
        int error = domain.init();
        if (error != 0) {
            return retainPlatformOps(device, -error);
        }
        boolean triesBelow4Gib = device.config().pci() && !forceDac;
        return new IommuDmaOps(device, domain, new DeviceIovas(device, domain, triesBelow4Gib), pool, coherentPages);
    }

    /** The device stays behind its empty domain, so that whatever it is given faults (iommu:DINIT-11). */
    private DmaOps retainPlatformOps(Device device, int errno) {
        machine.log()
                .message(
                        "iommu_setup_dma_ops",
                        "Failed to set up IOMMU for device " + device.name() + " (error " + errno
                                + "); retaining platform DMA ops");
        return new DirectOps(new DirectCore(machine), new DeviceIoTlb(pool));
    }

    @Override
    public BusPort port(Device device) {
        return driver.port(device);
    }

    @Override
    public void report(MetricSink sink) {
        sink.put(Metric.IOVA_PEAK_BYTES, usage.peakBytes());
        sink.put(Metric.IOVA_HELD_BYTES, usage.heldBytes());
        sink.put(
                Metric.FLUSHES, domains.stream().mapToLong(IommuDomain::flushes).sum());
        driver.report(sink);
        if (machine.devices().stream().anyMatch(device -> !device.isTrusted())) {
            pool.report(sink);
        }
    }

    /** Strict unmaps invalidate before they return; lazy ones leave what the IOTLB holds usable until the flush. */
    @Override
    public boolean blocksAfterUnmap() {
        return !lazy;
    }

    @Override
    public boolean ownsAddresses() {
        return true;
    }

    @Override
    public void quiesce() {
        domains.forEach(IommuDomain::quiesce);
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        domains.forEach(domain -> domain.checkStructure(violation));
        driver.checkStructure(violation);
        pool.checkStructure(violation);
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        domains.forEach(domain -> domain.checkIdle(violation));
        if (usage.heldBytes() != 0) {
            violation.accept("mappings hold " + usage.heldBytes() + " bytes of device addresses");
        }
        if (coherentPages.get() != 0) {
            violation.accept("coherent allocations of " + coherentPages.get() + " pages were not freed");
        }
        pool.checkIdle(violation);
    }

    @Override
    public void close() {
        domains.forEach(IommuDomain::close);
        driver.close();
    }
}
