package io.pagewalk.trace;

/** An event of the {@code iommu} system. Mapping events name no device: the kernel does not print one. */
public sealed interface IommuEvent extends TraceEvent {

    /**
     * {@code iommu:map}: one physically contiguous piece got its translation.
     *
     * @param header who, where and when
     * @param iova first I/O virtual address
     * @param physAddr first physical address
     * @param sizeBytes bytes mapped
     */
    record IommuMap(TraceHeader header, long iova, long physAddr, long sizeBytes) implements IommuEvent {}

    /**
     * {@code iommu:unmap}: a range lost its translation (which lazy mode may leave in the IOTLB for a while).
     *
     * @param header who, where and when
     * @param iova first I/O virtual address
     * @param sizeBytes bytes asked for
     * @param unmappedBytes bytes that were mapped and now are not
     */
    record IommuUnmap(TraceHeader header, long iova, long sizeBytes, long unmappedBytes) implements IommuEvent {}

    /**
     * {@code add_device_to_group}, {@code remove_device_from_group} or {@code attach_device_to_domain}.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param groupId number of the group, {@link #NO_GROUP} for {@link GroupChange#ATTACH}
     * @param kind what happened
     */
    record DeviceGroup(TraceHeader header, String device, int groupId, GroupChange kind) implements IommuEvent {

        /** The group of an event that names none. */
        public static final int NO_GROUP = -1;
    }

    /**
     * {@code io_page_fault}: the IOMMU refused an access. Read by its print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param driver name of the device's driver
     * @param device name of the device
     * @param iova the address that was accessed
     * @param flags the driver's fault flags
     */
    record IommuFault(TraceHeader header, String driver, String device, long iova, int flags) implements IommuEvent {}

    /** What happened between a device and its group or domain. */
    enum GroupChange {
        /** {@code add_device_to_group}. */
        ADD,
        /** {@code attach_device_to_domain}: the device now translates through its group's domain. */
        ATTACH,
        /** {@code remove_device_from_group}. */
        REMOVE
    }
}
