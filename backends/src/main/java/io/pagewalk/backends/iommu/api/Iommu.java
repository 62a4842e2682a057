package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.Access;
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
     * Lets a device's addresses pass untranslated, as {@code iommu_attach_device} of the driver's identity domain does
     * (iommu:CORE-6, GRP-2).
     *
     * @param device a device of the machine, alone in its group
     * @return 0; -EINVAL when it shares its group; -EBUSY when it is behind another domain than its default one
     */
    int attachIdentity(Device device);

    /**
     * Blocks a device (iommu:CORE-6, GRP-2).
     *
     * @param device a device of the machine, alone in its group
     * @return 0; -EINVAL when it shares its group, or has a region that must always be mapped (GRP-4); -EBUSY when it
     *     is behind another domain than its default one
     */
    int attachBlocked(Device device);

    /**
     * Puts a device back behind its default domain (iommu:GRP-5).
     *
     * @param device a device of the machine
     */
    void detach(Device device);

    /**
     * The devices that are behind the same domain at all times, as nothing keeps them apart (iommu:GRP-1).
     *
     * @param device a device of the machine
     * @return the members of its group in the order in which they came, itself included; a copy
     */
    List<Device> groupOf(Device device);

    /**
     * Binds a driver that uses the DMA API to a device, {@code iommu_device_use_default_domain} (iommu:GRP-6). Each
     * device comes with one bound.
     *
     * @param device a device of the machine
     * @return 0; -EBUSY when somebody owns its group, or the group is behind another domain than its default one
     */
    int useDefaultDomain(Device device);

    /**
     * Takes such a driver from a device, {@code iommu_device_unuse_default_domain}.
     *
     * @param device a device of the machine
     * @throws IllegalStateException when none of its group has one
     */
    void unuseDefaultDomain(Device device);

    /**
     * Makes somebody the owner of a device's group, {@code iommu_group_claim_dma_owner}, and blocks the group until one
     * of the owner's domains is attached (iommu:GRP-5).
     *
     * @param device a device of the group
     * @param owner who it is, compared by identity
     * @return 0; -EPERM when a driver uses the DMA API on a member, or somebody owns the group; -EBUSY when it is
     *     behind another domain than its default one; -EINVAL when a member has a region that must always be mapped
     *     (GRP-4)
     */
    int claimDmaOwner(Device device, Object owner);

    /**
     * Ends that, {@code iommu_group_release_dma_owner}: the group is behind its default domain again.
     *
     * @param device a device of the group
     * @param owner who claimed it
     * @throws IllegalStateException when somebody else did, or nobody
     */
    void releaseDmaOwner(Device device, Object owner);

    /**
     * Writes a group's {@code type} file (iommu:CORE-9). The devices of a machine have their drivers bound from the
     * beginning, so that the one change possible is from DMA to DMA-FQ, live.
     *
     * @param device a device of the group
     * @param type {@code identity}, {@code DMA}, {@code DMA-FQ} or {@code auto}
     * @return 0; -EINVAL for any other text; -EPERM for a change that bound drivers forbid; -ENOMEM when there is no
     *     memory for the queue
     */
    int setDefaultType(Device device, String type);

    /**
     * Which pages the hardware reads to translate for a device, for those who feed them to another implementation.
     *
     * @param device a device of the machine
     * @return their addresses, as they are while nobody maps or unmaps
     */
    TableImage tables(Device device);

    /**
     * What the hardware would make of an access, without making it: a view for tools, which no driver has. It uses and
     * fills the caches, and counts and records faults, as the access would.
     *
     * @param device a device of the machine
     * @param iova the address
     * @param access what the device would do there
     * @return the physical address, or {@link StaleUse#NOWHERE} when it is blocked
     */
    long translate(Device device, long iova, Access access);

    /**
     * How many accesses went by a translation that the tables did not hold, as far as hardware is audited
     * ({@code iommu.audit} of the backend's options).
     *
     * @return the count, 0 without an audit
     */
    long staleUseCount();

    /**
     * The latest of those accesses, at most 1000.
     *
     * @return a copy, oldest first; empty without an audit
     */
    List<StaleUse> staleUses();

    /**
     * What a device may not map, {@code iommu_get_group_resv_regions} (iommu:CORE-31, CORE-33).
     *
     * @param device a device of the machine
     * @return the regions of its group, ordered by start
     */
    List<ReservedRegion> reservedRegions(Device device);
}
