package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A domain without tables: identity or blocked, one of each for a driver (iommu:CORE-6). Immutable. */
final class BareDomain implements CoreDomain {
    private static final int READ_WRITE = IommuProt.READ | IommuProt.WRITE;

    private final IommuDriver driver;
    private final boolean identity;

    private BareDomain(IommuDriver driver, boolean identity) {
        this.driver = driver;
        this.identity = identity;
    }

    static BareDomain identity(IommuDriver driver) {
        return new BareDomain(driver, true);
    }

    static BareDomain blocked(IommuDriver driver) {
        return new BareDomain(driver, false);
    }

    @Override
    public int attachDevice(Device device) {
        if (identity) {
            return driver.attachIdentity(device);
        }
        driver.detach(device);
        return 0;
    }

    @Override
    public IommuDomainType type() {
        return identity ? IommuDomainType.IDENTITY : IommuDomainType.BLOCKED;
    }

    @Override
    public long pageSizes() {
        return 0;
    }

    @Override
    public long apertureEnd() {
        return identity ? -1L : 0;
    }

    /** iommu:CORE-20. */
    @Override
    public long iovaToPhys(long iova) {
        return identity ? iova : 0;
    }

    @Override
    public @Nullable LiveMapping find(long iova) {
        long page = Addresses.alignDown(iova, Addresses.PAGE_SIZE);
        return identity ? new LiveMapping(page, Addresses.PAGE_SIZE, page, READ_WRITE, "") : null;
    }

    @Override
    public List<LeafRun> leaves() {
        return List.of();
    }

    @Override
    public long tablePages() {
        return 0;
    }

    @Override
    public String toText() {
        return DomainDump.text(this, List.of());
    }

    @Override
    public String toJson() {
        return DomainDump.json(this, List.of());
    }
}
