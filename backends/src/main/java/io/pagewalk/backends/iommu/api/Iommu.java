package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Machine;
import java.util.List;

/** The IOMMU of a machine, beyond what the DMA API does with it. Attaching is for one thread. */
public interface Iommu {
    /**
     * Finds the IOMMU of a machine.
     *
     * @param machine the machine
     * @return its IOMMU
     * @throws IllegalArgumentException when it has none
     */
    static Iommu of(Machine machine) {
        Iommu found = machine.part(Iommu.class);
        if (found == null) {
            throw new IllegalArgumentException(
                    "a machine with backend " + machine.backendName() + " has no IOMMU; iommu-strict has one");
        }
        return found;
    }

    /**
     * Allocates an empty domain, {@code iommu_paging_domain_alloc}.
     *
     * @return a domain without devices, of 57 bits and 4 KiB pages until the first attach (iommu:VTD-4)
     * @throws DmaException when there is no page for its root
     */
    IommuPagingDomain allocPagingDomain();

    /**
     * The domain that translates for a device at the moment.
     *
     * @param device a device of the machine
     * @return a view of it
     */
    IommuDomainView domainOf(Device device);

    /**
     * The domain that the DMA API uses for a device.
     *
     * @param device a device of the machine
     * @return a view of its default domain
     */
    IommuDomainView defaultDomainOf(Device device);

    /**
     * What a device may not map, {@code iommu_get_group_resv_regions} (iommu:CORE-31, CORE-33).
     *
     * @param device a device of the machine
     * @return the regions of its group, ordered by start
     */
    List<ReservedRegion> reservedRegions(Device device);
}
