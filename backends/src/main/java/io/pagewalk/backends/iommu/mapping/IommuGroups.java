package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The groups of a machine by device. Adding is for one thread. */
final class IommuGroups {
    private final Map<Device, IommuGroup> byDevice = new ConcurrentHashMap<>();

    /** Puts a device into a group that has taken it in. */
    void put(Device device, IommuGroup group) {
        byDevice.put(device, group);
    }

    /** The group of a device. */
    IommuGroup of(Device device) {
        IommuGroup group = byDevice.get(device);
        if (group == null) {
            throw new IllegalArgumentException(device.name() + " is not behind this machine's IOMMU");
        }
        return group;
    }

    void requireUnused(CoreDomain domain) {
        byDevice.forEach((device, group) -> {
            if (group.current() == domain) {
                throw new IllegalStateException("a domain cannot be freed while " + device.name() + " is behind it");
            }
        });
    }
}
