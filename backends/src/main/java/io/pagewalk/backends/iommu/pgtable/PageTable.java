package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.backends.iommu.api.IommuProt;

/**
 * The page tables of one IOMMU domain: real bytes in the machine's memory, written by the driver side and walked by
 * hardware.
 *
 * <p>Addresses are unsigned. Calls on disjoint ranges may run at once; calls on the same range may not.
 */
public interface PageTable {
    /**
     * The page sizes that the domain offers, {@code pgsize_bitmap}: bit n stands for 2^n bytes.
     *
     * @return the bitmap
     */
    long pageSizes();

    /**
     * The highest device address that the tables can hold.
     *
     * @return inclusive
     */
    long apertureEnd();

    /**
     * Maps consecutive pages of one size, {@code map_pages} of the kernel's drivers (iommu:VTD-14 to VTD-20).
     *
     * @param iova first device address, aligned to the page size
     * @param physAddr first physical address, aligned to the page size
     * @param pageSizeBytes one of {@link #pageSizes()}
     * @param pageCount how many pages, at least 1
     * @param prot bits of {@link IommuProt}
     * @return 0, or a negated errno; entries written before an error stay (iommu:CORE-16)
     */
    int mapPages(long iova, long physAddr, long pageSizeBytes, long pageCount, int prot);

    /**
     * Unmaps a range, {@code unmap} of the kernel's drivers (iommu:VTD-21 to VTD-25). Nothing is invalidated here.
     *
     * @param iova first device address
     * @param sizeBytes length
     * @param freed takes the table pages that are no longer linked, parents first (iommu:VTD-25); the caller gives them
     *     back once the hardware has forgotten them
     * @return bytes unmapped, which may exceed the request; 0 beyond the width
     */
    long unmapPages(long iova, long sizeBytes, TablePageList freed);

    /**
     * Looks an address up in the tables, as the driver side does.
     *
     * @param iova a device address
     * @return the physical address, 0 when not mapped (iommu:VTD-26)
     */
    long iovaToPhys(long iova);

    /**
     * Shows the leaves that map any byte of a range, in ascending order, as they stand in memory.
     *
     * @param firstIova first byte
     * @param lastIova last byte
     * @param visitor takes each leaf, whole
     */
    void forEachLeaf(long firstIova, long lastIova, LeafVisitor visitor);

    /**
     * The root page.
     *
     * @return its physical address
     */
    long rootPhysAddr();

    /**
     * How many levels a walk has.
     *
     * @return 3 to 5 on VT-d
     */
    int levels();

    /**
     * Table pages linked into this domain, the root included.
     *
     * @return the count
     */
    long tablePages();
}
