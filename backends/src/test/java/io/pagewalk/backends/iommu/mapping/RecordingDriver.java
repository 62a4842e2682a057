package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.backends.iommu.driver.FaultReports;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A driver without hardware: it writes down what it is asked to do. */
final class RecordingDriver implements IommuDriver {
    static final long APERTURE_39 = (1L << 39) - 1;
    static final long APERTURE_48 = (1L << 48) - 1;

    final List<String> calls = new ArrayList<>();
    final List<TreeMapPageTable> tables = new ArrayList<>();
    private final long pageSizes;
    private final long apertureEnd;
    final List<Integer> mappedAtAttach = new ArrayList<>();
    private @Nullable IommuDomainType preferred;
    private boolean strictWanted;
    private boolean deferring = true;
    private boolean shadowing;
    private int newTablesToFail;
    private int mapsToFail;
    private @Nullable Device refused;
    private boolean recording = true;
    FaultReports faultReports = (requesterId, pageIova, write, reason) -> {};
    private Runnable duringFlush = () -> {};

    RecordingDriver(long apertureEnd) {
        this(TreeMapPageTable.SIZES_4K_2M_1G, apertureEnd);
    }

    RecordingDriver(long pageSizes, long apertureEnd) {
        this.pageSizes = pageSizes;
        this.apertureEnd = apertureEnd;
    }

    void stopRecording() {
        recording = false;
    }

    /** Runs in the middle of each domain flush. */
    void duringFlush(Runnable action) {
        duringFlush = action;
    }

    private synchronized void record(String call) {
        calls.add(call);
    }

    void prefer(IommuDomainType type) {
        preferred = type;
    }

    void wantStrict() {
        strictWanted = true;
    }

    void refuseDeferredFlush() {
        deferring = false;
    }

    void shadow() {
        shadowing = true;
    }

    /** The next tables cannot be made. */
    void failNewTables(int count) {
        newTablesToFail = count;
    }

    /** The first calls that map into a new table fail. */
    void failMaps(int count) {
        mapsToFail = count;
    }

    void refuseAttach(Device device) {
        refused = device;
    }

    @Override
    public @Nullable IommuDomainType preferredType(Device device) {
        return preferred;
    }

    @Override
    public boolean wantsStrict() {
        return strictWanted;
    }

    @Override
    public boolean canDeferFlush(Device device) {
        return deferring;
    }

    @Override
    public boolean shadowsOnFlush(Device device) {
        return shadowing;
    }

    @Override
    public PageTable newTable() {
        if (newTablesToFail-- > 0) {
            throw new DmaException("no table", new DmaFailure(FailureReason.NO_MEMORY, Errno.ENOMEM, List.of(0L, 0L)));
        }
        TreeMapPageTable table = new TreeMapPageTable(pageSizes, apertureEnd);
        for (; mapsToFail > 0; mapsToFail--) {
            table.failNextCall();
        }
        tables.add(table);
        return table;
    }

    @Override
    public int attach(Device device, PageTable table) {
        mappedAtAttach.add(((TreeMapPageTable) table).leaves().size() > 0 ? 1 : 0);
        if (refused != null) {
            record("attach " + device.name());
        }
        return device == refused ? -Errno.EINVAL : 1 + tables.size();
    }

    @Override
    public int attachIdentity(Device device) {
        record("identity " + device.name());
        return 0;
    }

    @Override
    public void detach(Device device) {
        record("detach " + device.name());
    }

    @Override
    public void destroy(PageTable table) {
        record("destroy");
    }

    @Override
    public TableImage image(Device device) {
        throw new AssertionError("no test here has tables of bytes");
    }

    @Override
    public BusPort port(Device device) {
        throw new AssertionError("no test here uses the bus");
    }

    @Override
    public void invalidateRange(int domainId, long firstIova, long lastIova, boolean leafOnly) {
        if (recording) {
            record(String.format("range 0x%x-0x%x%s", firstIova, lastIova, leafOnly ? " leaf" : ""));
        }
    }

    @Override
    public void invalidateDomain(int domainId) {
        duringFlush.run();
        if (recording) {
            record("domain");
        }
    }

    @Override
    public void freeTablePages(TablePageList freed) {
        if (recording && !freed.isEmpty()) {
            record("free " + freed.size());
        }
        freed.clear();
    }

    @Override
    public void report(MetricSink sink) {}

    @Override
    public void checkStructure(Consumer<String> violation) {}

    @Override
    public void close() {}

    @Override
    public void passFaultsTo(FaultReports reports) {
        faultReports = reports;
    }
}
