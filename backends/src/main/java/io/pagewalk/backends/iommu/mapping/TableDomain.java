package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A domain with tables, whoever fills them. */
abstract class TableDomain implements CoreDomain {
    private final PageTable table;
    private final IommuCore core;
    private final IommuDriver driver;

    TableDomain(Machine machine, String name, PageTable table, IommuDriver driver) {
        this.table = table;
        this.driver = driver;
        this.core = new IommuCore(table, driver, machine.log());
        String debug = KernelCommandLine.parse(machine.commandLine()).value("iommu.debug_pagealloc");
        if (debug != null && KernelCommandLine.bool(debug, false)) {
            core.watch(new FreedPageWatch(machine, name, table));
        }
    }

    @Override
    public final int attachDevice(Device device) {
        int id = driver.attach(device, table);
        if (id < 0) {
            return id;
        }
        core.attachedAs(id);
        return 0;
    }

    /** Throws when the tables were given back; those of a default domain live as long as the machine. */
    void requireOpen() {}

    final IommuCore core() {
        return core;
    }

    final PageTable table() {
        return table;
    }

    @Override
    public abstract IommuDomainType type();

    @Override
    public final long pageSizes() {
        return table.pageSizes();
    }

    @Override
    public final long apertureEnd() {
        return table.apertureEnd();
    }

    @Override
    public final long iovaToPhys(long iova) {
        requireOpen();
        return core.iovaToPhys(iova);
    }

    @Override
    public final long tablePages() {
        return table.tablePages();
    }

    @Override
    public final List<LeafRun> leaves() {
        requireOpen();
        LeafRuns runs = new LeafRuns();
        table.forEachLeaf(0, -1L, runs);
        return runs.runs();
    }

    /** The leaf that maps an address, or null. */
    final @Nullable LeafRun leafAt(long iova) {
        requireOpen();
        LeafRuns runs = new LeafRuns();
        table.forEachLeaf(iova, iova, runs);
        return runs.runs().isEmpty() ? null : runs.runs().get(0);
    }

    /** What is mapped, in the words of those who mapped it. */
    abstract List<LiveMapping> mappings();

    @Override
    public final String toText() {
        requireOpen();
        return DomainDump.text(this, mappings());
    }

    @Override
    public final String toJson() {
        requireOpen();
        return DomainDump.json(this, mappings());
    }
}
