package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.PciBridge;
import io.pagewalk.dma.PciPlace;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The groups of a machine, and which of them a device belongs to. Implements iommu:GRP-1. Adding is for one thread.
 *
 * <p>Bridges have no requests of their own here; each counts as a member of the group of what is below it.
 */
final class IommuGroups {
    private static final int FUNCTION_BITS = 3;

    private final Map<Device, IommuGroup> byDevice = new ConcurrentHashMap<>();
    private final Map<String, IommuGroup> byName = new ConcurrentHashMap<>();
    private final Map<Integer, IommuGroup> byRequester = new ConcurrentHashMap<>();
    private final Map<Integer, IommuGroup> byBridge = new ConcurrentHashMap<>();

    // ---- which group

    /** The group that a device joins, or null when it gets one of its own: a name decides, else where it stands. */
    @Nullable IommuGroup find(Device device) {
        String name = device.config().iommuGroup();
        if (name != null) {
            return byName.get(name);
        }
        return device.config().pci() ? findByPlace(device) : null;
    }

    private @Nullable IommuGroup findByPlace(Device device) {
        for (int requesterId : requesterIds(device)) {
            IommuGroup group = byRequester.get(requesterId);
            if (group != null) {
                return group;
            }
        }
        for (PciBridge bridge = firstSharing(device); bridge != null; bridge = nextSharing(bridge)) {
            IommuGroup group = byBridge.get(bridge.requesterId());
            if (group != null) {
                return group;
            }
        }
        return device.config().pciPlace().isolates() ? null : findInSlot(device);
    }

    /** Functions of one slot that can reach each other. */
    private @Nullable IommuGroup findInSlot(Device device) {
        for (Map.Entry<Device, IommuGroup> entry : byDevice.entrySet()) {
            Device other = entry.getKey();
            boolean sameSlot = (other.requesterId() ^ device.requesterId()) >>> FUNCTION_BITS == 0;
            if (sameSlot && other.config().pci() && !other.config().pciPlace().isolates()) {
                return entry.getValue();
            }
        }
        return null;
    }

    /** The bridge above a device's last alias, if what is below it is not kept apart from the rest. */
    private static @Nullable PciBridge firstSharing(Device device) {
        PciBridge above = device.config().pciPlace().bridge();
        for (PciBridge bridge = above; bridge != null; bridge = bridge.upstream()) {
            above = bridge.alias() == PciBridge.KEEPS_IDS ? above : bridge;
        }
        return above == null || above.isIsolatedToRoot() ? null : above;
    }

    private static @Nullable PciBridge nextSharing(PciBridge bridge) {
        PciBridge above = bridge.upstream();
        return above == null || above.isIsolatedToRoot() ? null : above;
    }

    private static Collection<Integer> requesterIds(Device device) {
        PciPlace place = device.config().pciPlace();
        return device.config().pci() ? place.requesterIds(device.requesterId()) : List.of(device.requesterId());
    }

    /** Notes the group that has taken a device in. */
    void put(Device device, IommuGroup group) {
        byDevice.put(device, group);
        String name = device.config().iommuGroup();
        if (name != null) {
            byName.put(name, group);
        }
        if (device.config().pci()) {
            requesterIds(device).forEach(requesterId -> byRequester.putIfAbsent(requesterId, group));
            for (PciBridge bridge = firstSharing(device); bridge != null; bridge = nextSharing(bridge)) {
                byBridge.putIfAbsent(bridge.requesterId(), group);
            }
        }
    }

    // ---- looking up

    /** The group of a device. */
    IommuGroup of(Device device) {
        IommuGroup group = byDevice.get(device);
        if (group == null) {
            throw new IllegalArgumentException(device.name() + " is not behind this machine's IOMMU");
        }
        return group;
    }

    /** Does something for each device whose requests may carry a requester id. */
    void forRequester(int requesterId, BiConsumer<Device, IommuGroup> action) {
        byDevice.forEach((device, group) -> {
            if (requesterIds(device).contains(requesterId)) {
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
