package io.pagewalk.backends.iommu.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A domain to look at. Lookups allocate nothing but their results; dumps and {@link #find} are for a quiet moment: what
 * is mapped or unmapped meanwhile may be seen in part.
 */
public interface IommuDomainView {
    /**
     * What kind of domain it is.
     *
     * @return its type
     */
    IommuDomainType type();

    /**
     * The page sizes that the domain offers, {@code pgsize_bitmap}: bit n stands for 2^n bytes. Before the first attach
     * of a paging domain that is 4 KiB only (iommu:VTD-4).
     *
     * @return the bitmap, 0 without tables
     */
    long pageSizes();

    /**
     * The lowest device address.
     *
     * @return 0 on every unit that there is
     */
    default long apertureStart() {
        return 0;
    }

    /**
     * The highest device address; before the first attach of a paging domain that of the widest unit (iommu:VTD-4).
     *
     * @return inclusive
     */
    long apertureEnd();

    /**
     * Whether addresses beyond the aperture are out of the question.
     *
     * @return true for domains with tables
     */
    default boolean isApertureForced() {
        return type().isPaging();
    }

    /**
     * Looks an address up as the driver side does (iommu:CORE-20).
     *
     * @param iova a device address
     * @return the physical address, 0 when not mapped; the address itself in an identity domain
     */
    long iovaToPhys(long iova);

    /**
     * Looks up what an address belongs to.
     *
     * @param iova a device address
     * @return the mapping and its owner, or null when the address is not mapped
     */
    @Nullable LiveMapping find(long iova);

    /**
     * The leaves of the tables as they stand in memory, ascending, run-length coded.
     *
     * @return a copy, empty without tables
     */
    List<LeafRun> leaves();

    /**
     * Pages that the tables take, the root included.
     *
     * @return the count, 0 without tables
     */
    long tablePages();

    /**
     * Describes the domain for a person: a line for the domain, one for each run of leaves.
     *
     * @return lines, each ended by a line feed
     */
    String toText();

    /**
     * Describes the domain for a program: an object with {@code type}, {@code pageSizes}, {@code aperture},
     * {@code tablePages}, {@code leaves} and {@code mappings}; addresses and sizes are hexadecimal strings, counts
     * numbers.
     *
     * @return one JSON object on one line
     */
    String toJson();
}
