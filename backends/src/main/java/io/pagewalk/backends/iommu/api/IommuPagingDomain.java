package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * A domain whose mappings its owner makes, {@code iommu_paging_domain_alloc} and what goes with it.
 *
 * <p>Implements iommu:CORE-10 to CORE-22 by way of the unit's driver. Addresses and sizes are unsigned. Maps and unmaps
 * of disjoint ranges may run at once; attaching, detaching and closing are for one thread. Unlike the DMA API this one
 * keeps a book of who mapped what, so that its calls may allocate.
 *
 * <p>Once it is closed, attaching, mapping, unmapping and looking into its tables throw {@link IllegalStateException}:
 * their pages may be somebody else's by then.
 */
public interface IommuPagingDomain extends IommuDomainView, AutoCloseable {
    /**
     * Puts a device behind this domain (iommu:GRP-2, GRP-3, VTD-4). The DMA API of the device goes on using the default
     * domain's tables, which the hardware does not see meanwhile.
     *
     * @param device a device of the machine, alone in its group
     * @return 0; -EINVAL when the device shares its group, or when something is mapped beyond what the unit can do;
     *     -EBUSY when it is behind another domain than its default one; -ENOSPC when domain ids are used up
     */
    int attach(Device device);

    /**
     * Puts a whole group behind this domain, {@code iommu_attach_group} (iommu:GRP-2, GRP-3).
     *
     * @param device any device of the group
     * @return 0; -EBUSY when the group is behind another domain than its default one or a blocking one; else what
     *     {@link #attach} answers, with every device where it was
     */
    int attachGroup(Device device);

    /**
     * Puts a device and its group back behind its default domain, or behind a blocking one when somebody owns the group
     * (iommu:GRP-5); nothing happens when it is not behind this one.
     *
     * @param device the device
     */
    void detach(Device device);

    /**
     * Maps a range, {@code iommu_map} (iommu:CORE-14 to CORE-18, VTD-14 to VTD-20). What is mapped already stays as it
     * is, with an entry in the machine's log and the result 0 (VTD-17).
     *
     * @param iova first device address
     * @param physAddr first physical address
     * @param sizeBytes length; 0 maps nothing
     * @param prot bits of {@link IommuProt}
     * @return 0; -EINVAL when one of the three is not a multiple of the smallest page, or neither reading nor writing
     *     is allowed; -EFAULT beyond the aperture; -ENOMEM when there is no page for a table. After an error nothing of
     *     the range is mapped but what the failing chunk wrote (CORE-16)
     */
    default int map(long iova, long physAddr, long sizeBytes, int prot) {
        return map(iova, physAddr, sizeBytes, prot, 0, "");
    }

    /**
     * As {@link #map(long, long, long, int)}, with allocation flags and an owner.
     *
     * @param iova first device address
     * @param physAddr first physical address
     * @param sizeBytes length
     * @param prot bits of {@link IommuProt}
     * @param gfp bits of {@code Gfp}; DMA, DMA32, HIGHMEM and COMP are refused with a WARN and -EINVAL (CORE-14)
     * @param owner what {@link #find} answers for these addresses
     * @return as {@link #map(long, long, long, int)}
     */
    int map(long iova, long physAddr, long sizeBytes, int prot, int gfp, String owner);

    /**
     * Maps a list to one run of device addresses, {@code iommu_map_sg} (iommu:CORE-21).
     *
     * @param iova first device address
     * @param sg the list
     * @param nents how many entries
     * @param prot bits of {@link IommuProt}
     * @param owner what {@link #find} answers for these addresses
     * @return bytes mapped, or a negated errno with what was mapped unmapped again
     */
    long mapSg(long iova, SgTable sg, int nents, int prot, String owner);

    /**
     * Unmaps a range and invalidates it, {@code iommu_unmap} (iommu:CORE-19, VTD-21 to VTD-25).
     *
     * @param iova first device address
     * @param sizeBytes length
     * @return bytes unmapped, which may exceed the request; 0 when it is not a multiple of the smallest page
     */
    long unmap(long iova, long sizeBytes);

    /**
     * Sets device addresses aside for interrupt doorbells, {@code iommu_get_msi_cookie} (iommu:DINIT-1).
     *
     * @param base the first of them
     * @return 0, or -EEXIST when that was done before
     */
    int getMsiCookie(long base);

    /**
     * Maps the doorbell of an interrupt message to the next of those addresses, or finds where it is mapped
     * (iommu:DIOVA-1).
     *
     * @param physAddr the doorbell
     * @return its device address; 0 without a cookie, or when the tables cannot take it
     */
    long mapMsiDoorbell(long physAddr);

    /**
     * Sets who is asked about faults, {@code iommu_set_fault_handler}.
     *
     * @param handler the handler
     */
    void setFaultHandler(IommuFaultHandler handler);

    /**
     * Reports a fault, {@code report_iommu_fault} (iommu:CORE-22).
     *
     * @param device whose access it was
     * @param iova the address
     * @param write whether it was a write
     * @return what the handler says, -ENOSYS when there is none
     */
    int reportFault(Device device, long iova, boolean write);

    /**
     * Frees the domain and its tables, {@code iommu_domain_free} (iommu:VTD-27). A second call does nothing.
     *
     * @throws IllegalStateException when a device is behind it
     */
    @Override
    void close();
}
