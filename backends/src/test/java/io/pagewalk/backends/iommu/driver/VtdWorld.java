package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A machine with a VT-d unit beside its backend: 16 GiB of RAM, of which the allocator hands out 32 MiB from 1 MiB on,
 * and one device behind one domain. The tests map by hand and ask the device's port.
 */
public final class VtdWorld {
    /** Read and write. */
    public static final int RW = IommuProt.READ | IommuProt.WRITE;

    /** Bytes of a page. */
    public static final long PAGE = 4096;

    private static final long MIB = 1L << 20;

    final Machine machine;
    final VtdDriver driver;
    final Device device;
    final PageTable table;
    final int domainId;
    final BusPort port;

    private VtdWorld(BackendOptions options, boolean attached) {
        machine = newMachine();
        driver = new VtdDriver(machine, options);
        device = machine.addDevice(DeviceConfig.named("dev").withRequesterId(0x310));
        table = driver.newTable();
        domainId = attached ? driver.attach(device, table) : 0;
        port = driver.port(device);
    }

    /** A machine as described. */
    static Machine newMachine() {
        return Machine.builder()
                .ramBytes(16L << 30)
                .chunkBytes(1 << 16)
                .allocatable(List.of(new PhysRange(MIB, 33 * MIB - 1)))
                .commandLine("swiotlb=noforce")
                .build();
    }

    /** A world of default options but for a small pool. */
    static VtdWorld create() {
        return create(smallPool());
    }

    /** A world of given options. */
    static VtdWorld create(BackendOptions options) {
        return new VtdWorld(options, true);
    }

    /** A world whose domain has no device yet. */
    static VtdWorld unattached(BackendOptions options) {
        return new VtdWorld(options, false);
    }

    /** A pool of 16 pages. */
    static BackendOptions smallPool() {
        return BackendOptions.NONE.with("iommu.tablePoolBytes", 16 * PAGE);
    }

    int map(long iova, long physAddr, long pageSizeBytes, long pageCount) {
        return table.mapPages(iova, physAddr, pageSizeBytes, pageCount, RW);
    }

    /** Unmaps as strict mode does: invalidates, then frees. */
    long unmap(long iova, long sizeBytes) {
        TablePageList freed = new TablePageList();
        long bytes = table.unmapPages(iova, sizeBytes, freed);
        driver.invalidateRange(domainId, iova, iova + sizeBytes - 1, freed.isEmpty());
        driver.freeTablePages(freed);
        return bytes;
    }

    /** Translates as one access. */
    long translate(long dmaAddr, Access access) {
        long token = port.beginAccess();
        try {
            return port.translate(dmaAddr, access);
        } finally {
            port.endAccess(token);
        }
    }

    long metric(Metric metric) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        driver.report(numbers::put);
        return numbers.getOrDefault(metric, -1L);
    }

    List<String> violations() {
        List<String> violations = new ArrayList<>();
        driver.checkStructure(violations::add);
        return violations;
    }
}
