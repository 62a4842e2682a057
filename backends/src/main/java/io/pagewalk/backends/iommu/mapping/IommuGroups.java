package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The groups of a machine by device. Adding is for one thread. */
final class IommuGroups {
    private final Map<Device, IommuGroup> byDevice = new ConcurrentHashMap<>();
    private final Map<String, IommuGroup> byName = new ConcurrentHashMap<>();

    /** Notes the group that has taken a device in, and its name if it has one. */
    void put(Device device, @Nullable String name, IommuGroup group) {
        byDevice.put(device, group);
        if (name != null) {
            byName.put(name, group);
        }
    }

    /** The group of a name, or null. */
    @Nullable IommuGroup named(String name) {
        return byName.get(name);
    }

    /** The group of a device. */
    IommuGroup of(Device device) {
        IommuGroup group = byDevice.get(device);
        if (group == null) {
            throw new IllegalArgumentException(device.name() + " is not behind this machine's IOMMU");
        }
        return group;
    }

    /** Does something for each device of a requester id. */
    void forRequester(int requesterId, BiConsumer<Device, IommuGroup> action) {
        byDevice.forEach((device, group) -> {
            if (device.requesterId() == requesterId) {
                action.accept(device, group);
            }
        });
    }

    void requireUnused(CoreDomain domain) {
        byDevice.forEach((device, group) -> {
            if (group.current() == domain) {
                throw new IllegalStateException("a domain cannot be freed while " + device.name() + " is behind it");
            }
        });
    }
}
