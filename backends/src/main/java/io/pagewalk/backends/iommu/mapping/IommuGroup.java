package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Devices that share a domain at all times. Implements iommu:GRP-2 to GRP-6. Not thread-safe.
 *
 * <p>A device comes with its driver bound, which counts as a user of the default domain until {@link #unuse}.
 */
final class IommuGroup {
    private final List<Device> members = new ArrayList<>();
    private final CoreDomain defaultDomain;
    private final CoreDomain blocking;
    private CoreDomain current;
    private int ownerCount;
    private @Nullable Object owner;

    IommuGroup(CoreDomain defaultDomain, CoreDomain blocking) {
        this.defaultDomain = defaultDomain;
        this.blocking = blocking;
        this.current = defaultDomain;
    }

    /** Takes a device in and puts it where the others are; 0 or a negated errno. */
    int join(Device device) {
        int error = current.attachDevice(device);
        if (error == 0) {
            members.add(device);
            ownerCount++;
        }
        return error;
    }

    void leave(Device device) {
        members.remove(device);
        ownerCount--;
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
        return attachAll(next);
    }

    /** {@code iommu_attach_group} (iommu:GRP-2). */
    int attachAll(CoreDomain next) {
        if (current == next) {
            return 0;
        }
        return current == defaultDomain || current.type() == IommuDomainType.BLOCKED ? setDomain(next) : -Errno.EBUSY;
    }

    /** {@code iommu_detach_group} (iommu:GRP-5). */
    void detach(CoreDomain domain) {
        if (current == domain) {
            setDomain(owner == null ? defaultDomain : blocking);
        }
    }

    // ---- who uses it

    /** A driver that uses the DMA API binds to a member (iommu:GRP-6). */
    int use() {
        if (owner != null || current != defaultDomain) {
            return -Errno.EBUSY;
        }
        ownerCount++;
        return 0;
    }

    /** It lets go of the member. */
    void unuse() {
        if (owner != null || ownerCount == 0) {
            throw new IllegalStateException("no driver of the group " + members + " uses the DMA API");
        }
        ownerCount--;
    }

    /** {@code iommu_group_claim_dma_owner} (iommu:GRP-4, GRP-5). */
    int claim(Object newOwner) {
        if (ownerCount != 0) {
            return -Errno.EPERM;
        }
        if (current != defaultDomain) {
            return -Errno.EBUSY;
        }
        if (members.stream().anyMatch(DirectMappings::areRequired)) {
            return -Errno.EINVAL;
        }
        int error = setDomain(blocking);
        if (error == 0) {
            owner = newOwner;
            ownerCount = 1;
        }
        return error;
    }

    /** {@code iommu_group_release_dma_owner}; the group goes back behind its default domain. */
    void release(Object oldOwner) {
        if (owner != oldOwner) {
            throw new IllegalStateException("the group " + members + " is not owned by " + oldOwner);
        }
        owner = null;
        ownerCount = 0;
        setDomain(defaultDomain);
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
