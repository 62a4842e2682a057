package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The second-stage tables of one VT-d domain. Implements iommu:VTD-4, VTD-14 and VTD-26, and iommu:VTD-15 to VTD-25
 * with its helpers.
 *
 * <p>Tables begin with 5 levels and 4 KiB pages; {@link #narrow} fits them to a unit. Until then no hardware walks
 * them.
 *
 * <p>Thread-safe on disjoint ranges, but for {@link #narrow}, {@link #onReplaced} and {@link #destroy}, beside which no
 * other call may run.
 *
 * <p>Differs from Linux: where Linux takes a large leaf for a table (iommu:VTD-19, VTD-23), the leaf and the memory
 * behind it stay as they are and the machine's log gets the hazard {@value #SUPERPAGE_WALK}.
 */
public final class VtdSecondStage implements PageTable {
    /** The hazard of walking through a large leaf as though it were a table. */
    public static final String SUPERPAGE_WALK = "vtd.superpage-walk";
    /** Levels of tables that no unit has narrowed yet. */
    public static final int INITIAL_LEVELS = 5;
    /** Address bits of tables that no unit has narrowed yet. */
    public static final int INITIAL_WIDTH = 57;

    private static final long PAGE_SIZES = 1L << 12 | 1L << 21 | 1L << 30;
    private static final VarHandle MAX_ADDR;

    static {
        try {
            MAX_ADDR = MethodHandles.lookup().findVarHandle(VtdSecondStage.class, "maxAddr", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final SecondStageTree tree;
    private final SecondStageMap mapper;
    private final SecondStageUnmap unmapper;
    private int width = INITIAL_WIDTH;
    private long pageSizes = VtdPteLayout.bytesAt(1);

    /**
     * The kernel's {@code max_addr}: a shortcut past the width test, and what decides whether a unit is wide enough.
     */
    @SuppressWarnings("UnusedVariable") // read and written through MAX_ADDR
    private long maxAddr;

    /**
     * Makes empty tables.
     *
     * @param pool where table pages come from
     * @param log takes what the driver logs
     * @param rootPhysAddr a zeroed page of the pool, which becomes the root
     */
    public VtdSecondStage(TablePool pool, KernelLog log, long rootPhysAddr) {
        tree = new SecondStageTree(pool, log, rootPhysAddr, INITIAL_LEVELS);
        mapper = new SecondStageMap(tree);
        unmapper = new SecondStageUnmap(tree);
    }

    // ---- fitting a unit

    /**
     * Fits the tables to a unit (iommu:VTD-4): removes surplus levels, sets the width and offers large pages. Page
     * sizes once offered stay.
     *
     * @param levels levels that the unit walks, 3 to 5
     * @param newWidth address bits of the domain
     * @param largeLevels 0, 1 for 2 MiB, 2 for 1 GiB as well
     * @return 0, or -EINVAL with nothing changed when something is mapped beyond the width
     */
    public int narrow(int levels, int newWidth, int largeLevels) {
        if (Addresses.lessThan(1L << newWidth, maxAddrOpaque())) {
            return -Errno.EINVAL;
        }
        tree.narrow(levels);
        width = newWidth;
        mapper.setLargeLevels(largeLevels);
        for (int level = 2; level <= largeLevels + 1; level++) {
            pageSizes |= VtdPteLayout.bytesAt(level);
        }
        return 0;
    }

    /**
     * Sets who invalidates what large pages replace.
     *
     * @param flush called on the mapping thread, before the large page is written
     */
    public void onReplaced(TableFlush flush) {
        mapper.setFlush(flush);
    }

    /** Gives every table page back, the root included (iommu:VTD-27). The tables are of no use any more. */
    public void destroy() {
        tree.freeTree(tree.rootPhysAddr(), tree.levels());
    }

    // ---- the format's operations

    @Override
    public int mapPages(long iova, long physAddr, long pageSizeBytes, long pageCount, int prot) {
        if ((pageSizeBytes & PAGE_SIZES) != pageSizeBytes
                || Long.bitCount(pageSizeBytes) != 1
                || !Addresses.isAligned(iova | physAddr, pageSizeBytes)) {
            return -Errno.EINVAL;
        }
        long sizeBytes = pageSizeBytes * pageCount;
        if (!admits(iova + sizeBytes)) {
            return -Errno.EFAULT;
        }
        long lastPfn = (iova + sizeBytes - 1) >>> Addresses.PAGE_SHIFT;
        if ((prot & (IommuProt.READ | IommuProt.WRITE)) == 0 || !VtdPteLayout.reaches(lastPfn, tree.levels())) {
            return -Errno.EINVAL;
        }
        return mapper.map(
                iova >>> Addresses.PAGE_SHIFT,
                physAddr >>> Addresses.PAGE_SHIFT,
                sizeBytes >>> Addresses.PAGE_SHIFT,
                prot);
    }

    /** Whether the width allows a range to end here; only looked at above the highest end so far (iommu:VTD-14). */
    private boolean admits(long end) {
        if (!Addresses.lessThan(maxAddrOpaque(), end)) {
            return true;
        }
        if (Addresses.lessThan(1L << width, end)) {
            tree.reportTooWide(width, end);
            return false;
        }
        MAX_ADDR.setOpaque(this, end);
        return true;
    }

    @Override
    public long unmapPages(long iova, long sizeBytes, TablePageList freed) {
        long bytes = unmapper.unmap(iova, sizeBytes, freed);
        if (bytes != 0 && maxAddrOpaque() == iova + bytes) {
            MAX_ADDR.setOpaque(this, iova);
        }
        return bytes;
    }

    @Override
    public long iovaToPhys(long iova) {
        long pfn = iova >>> Addresses.PAGE_SHIFT;
        int level = tree.levels();
        if (!VtdPteLayout.reaches(pfn, level)) {
            return 0;
        }
        TableMemory tables = tree.tables();
        long entry = tables.entry(VtdPteLayout.slot(tree.rootPhysAddr(), pfn, level));
        while (level > 1 && VtdPteLayout.isPresent(entry) && !VtdPteLayout.isLarge(entry)) {
            level--;
            entry = tables.entry(VtdPteLayout.slot(VtdPteLayout.address(entry), pfn, level));
        }
        return VtdPteLayout.isPresent(entry)
                ? VtdPteLayout.address(entry) + (iova & (VtdPteLayout.bytesAt(level) - 1))
                : 0;
    }

    /** Addresses as the tables have them: as many bits as the levels have. */
    @Override
    public void forEachLeaf(long firstIova, long lastIova, LeafVisitor visitor) {
        long lastPfn = Addresses.min(lastIova >>> Addresses.PAGE_SHIFT, VtdPteLayout.pagesAt(tree.levels() + 1) - 1);
        tree.forEachLeaf(tree.rootPhysAddr(), tree.levels(), firstIova >>> Addresses.PAGE_SHIFT, lastPfn, visitor);
    }

    private long maxAddrOpaque() {
        return (long) MAX_ADDR.getOpaque(this);
    }

    // ---- what they are

    @Override
    public long pageSizes() {
        return pageSizes;
    }

    @Override
    public long apertureEnd() {
        return Addresses.bitMask(width);
    }

    @Override
    public long rootPhysAddr() {
        return tree.rootPhysAddr();
    }

    @Override
    public int levels() {
        return tree.levels();
    }

    @Override
    public long tablePages() {
        return tree.linkedPages();
    }
}
