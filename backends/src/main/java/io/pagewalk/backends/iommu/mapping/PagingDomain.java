package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuFaultHandler;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A domain whose owner makes its mappings. Implements iommu:CORE-14 to CORE-22 for library users. */
final class PagingDomain extends TableDomain implements IommuPagingDomain {
    private static final int REFUSED_GFP = Gfp.DMA | Gfp.DMA32 | Gfp.HIGHMEM | Gfp.COMP;

    private final IommuGroups groups;
    private final IommuDriver driver;
    private final KernelLog.Site gfpSite;
    private final MappingBook book = new MappingBook();
    private volatile @Nullable IommuFaultHandler faultHandler;
    private volatile @Nullable MsiCookie msiCookie;
    private volatile boolean closed;

    PagingDomain(Machine machine, PageTable table, IommuDriver driver, IommuGroups groups) {
        super(machine, "a paging domain", table, driver);
        this.groups = groups;
        this.driver = driver;
        this.gfpSite = machine.log().site("iommu_map: gfp");
    }

    @Override
    public IommuDomainType type() {
        return IommuDomainType.UNMANAGED;
    }

    // ---- devices

    @Override
    public int attach(Device device) {
        requireOpen();
        return groups.of(device).attach(this);
    }

    @Override
    public int attachGroup(Device device) {
        return groups.of(device).attachAll(this);
    }

    @Override
    public void detach(Device device) {
        groups.of(device).detach(this);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        groups.requireUnused(this);
        closed = true;
        driver.destroy(table());
    }

    /** The table's pages belong to others once it is closed. */
    @Override
    void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the domain was freed, and its tables with it (iommu:VTD-27)");
        }
    }

    // ---- mapping

    @Override
    public int map(long iova, long physAddr, long sizeBytes, int prot, int gfp, String owner) {
        requireOpen();
        if ((gfp & REFUSED_GFP) != 0) {
            return refuseGfp(gfp);
        }
        if (wraps(iova, sizeBytes)) {
            return -Errno.EINVAL;
        }
        int result = core().map(iova, physAddr, sizeBytes, prot);
        if (result == 0 && sizeBytes != 0) {
            enter(iova, physAddr, sizeBytes, prot, owner);
        }
        return result;
    }

    /** No table has a place for what goes on at 0 again; it is refused whole (iommu:VTD-14, of a range's last page). */
    private static boolean wraps(long iova, long sizeBytes) {
        return sizeBytes != 0 && Addresses.lessThan(Addresses.last(iova, sizeBytes), iova);
    }

    private int refuseGfp(int gfp) {
        if (gfpSite.isFirst()) {
            gfpSite.warn(
                    "allocation flags " + Addresses.hex(gfp) + " choose a zone or a compound page (iommu:CORE-14)");
        }
        return -Errno.EINVAL;
    }

    /** Where something was mapped before, the tables decide whose it is (iommu:VTD-17, VTD-18). */
    private void enter(long iova, long physAddr, long sizeBytes, int prot, String owner) {
        long last = Addresses.last(iova, sizeBytes);
        if (!book.addIfFree(iova, sizeBytes, physAddr, prot, owner)) {
            enterLeaves(iova, last, physAddr, prot, owner);
        }
    }

    private void enterLeaves(long iova, long last, long physAddr, int prot, String owner) {
        table().forEachLeaf(iova, last, (leafIova, leafPhysAddr, leafBytes, perm) -> {
            long first = Addresses.max(leafIova, iova);
            long leafLast = Addresses.min(Addresses.last(leafIova, leafBytes), last);
            if (leafPhysAddr + (first - leafIova) == physAddr + (first - iova)) {
                book.add(first, leafLast - first + 1, physAddr + (first - iova), prot, owner);
            }
        });
    }

    @Override
    public long mapSg(long iova, SgTable sg, int nents, int prot, String owner) {
        requireOpen();
        if (nents < 0 || nents > sg.entries()) {
            throw new IllegalArgumentException(nents + " entries of a list of " + sg.entries());
        }
        long sizeBytes = 0;
        for (int i = 0; i < nents; i++) {
            sizeBytes += takenBytes(sg, i);
        }
        if (nents == 0 || wraps(iova, sizeBytes)) {
            return nents == 0 ? 0 : -Errno.EINVAL;
        }
        long mapped = core().mapSg(iova, sg, nents, prot);
        long at = iova;
        for (int i = 0; i < nents && mapped > at - iova; i++) {
            long taken = takenBytes(sg, i);
            if (taken != 0) {
                enter(at, sg.physAddr(i), taken, prot, owner);
            }
            at += taken;
        }
        return mapped;
    }

    /** An entry at a bus address takes no part in the run of device addresses (iommu:CORE-21). */
    private static long takenBytes(SgTable sg, int entry) {
        return sg.isBusAddress(entry) ? 0 : sg.lengthBytes(entry);
    }

    @Override
    public long unmap(long iova, long sizeBytes) {
        requireOpen();
        long unmapped = core().unmap(iova, sizeBytes);
        if (unmapped != 0) {
            book.remove(iova, Addresses.last(iova, unmapped));
        }
        return unmapped;
    }

    // ---- interrupt messages

    @Override
    public synchronized int getMsiCookie(long base) {
        if (msiCookie != null) {
            return -Errno.EEXIST;
        }
        msiCookie = new MsiCookie(core(), base);
        return 0;
    }

    @Override
    public long mapMsiDoorbell(long physAddr) {
        requireOpen();
        MsiCookie cookie = msiCookie;
        return cookie == null ? 0 : cookie.map(physAddr, Long.lowestOneBit(pageSizes()));
    }

    // ---- looking

    @Override
    public @Nullable LiveMapping find(long iova) {
        LeafRun leaf = leafAt(iova);
        if (leaf == null) {
            return null;
        }
        LiveMapping entered = book.at(iova);
        return entered != null && entered.physAddr() - entered.iova() == leaf.physAddr() - leaf.iova()
                ? new LiveMapping(entered.iova(), entered.sizeBytes(), entered.physAddr(), leaf.perm(), entered.owner())
                : new LiveMapping(leaf.iova(), leaf.sizeBytes(), leaf.physAddr(), leaf.perm(), "");
    }

    @Override
    List<LiveMapping> mappings() {
        return book.all();
    }

    // ---- faults

    @Override
    public void setFaultHandler(IommuFaultHandler handler) {
        faultHandler = handler;
    }

    @Override
    public int reportFault(Device device, long iova, boolean write) {
        IommuFaultHandler handler = faultHandler;
        return handler == null ? -Errno.ENOSYS : handler.onFault(device, iova, write);
    }
}
