package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import java.util.ArrayList;
import java.util.List;

/**
 * Devices that share a domain at all times. Implements iommu:GRP-2 to GRP-5 without ownership. Not thread-safe.
 *
 * <p>Differs from Linux: no driver ever claims ownership of a group, so that a group is behind its default domain or
 * behind one that was attached.
 */
final class IommuGroup {
    private final List<Device> members = new ArrayList<>();
    private final CoreDomain defaultDomain;
    private CoreDomain current;

    IommuGroup(CoreDomain defaultDomain) {
        this.defaultDomain = defaultDomain;
        this.current = defaultDomain;
    }

    /** Takes a device in and puts it where the others are; 0 or a negated errno. */
    int join(Device device) {
        int error = current.attachDevice(device);
        if (error == 0) {
            members.add(device);
        }
        return error;
    }

    void leave(Device device) {
        members.remove(device);
    }

    CoreDomain defaultDomain() {
        return defaultDomain;
    }

    CoreDomain current() {
        return current;
    }

    List<Device> members() {
        return members;
    }

    /** {@code iommu_attach_device} (iommu:GRP-2). */
    int attach(CoreDomain next) {
        if (members.size() > 1) {
            return -Errno.EINVAL;
        }
        if (current == next) {
            return 0;
        }
        return current == defaultDomain || current.type() == IommuDomainType.BLOCKED ? setDomain(next) : -Errno.EBUSY;
    }

    /** {@code iommu_detach_device} (iommu:GRP-5). */
    void detach(CoreDomain domain) {
        if (current == domain) {
            setDomain(defaultDomain);
        }
    }

    /** Moves every member, or none (iommu:GRP-3). */
    int setDomain(CoreDomain next) {
        for (int i = 0; i < members.size(); i++) {
            int error = next.attachDevice(members.get(i));
            if (error != 0) {
                for (int moved = 0; moved <= i; moved++) {
                    current.attachDevice(members.get(moved));
                }
                return error;
            }
        }
        current = next;
        return 0;
    }
}
