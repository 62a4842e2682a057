package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which default domain a group gets. Implements iommu:CORE-4. */
final class DefaultDomainType {
    private DefaultDomainType() {}

    /**
     * Combines what the driver needs for each member: the first need wins, but identity wins over all (iommu:CORE-4).
     *
     * @param needs of each member, null for none
     * @return the need of the group, null for none
     */
    static @Nullable IommuDomainType combine(List<@Nullable IommuDomainType> needs) {
        IommuDomainType combined = null;
        for (IommuDomainType need : needs) {
            if (combined == null || need == IommuDomainType.IDENTITY) {
                combined = need;
            }
        }
        return combined;
    }

    /**
     * Chooses the type of a group.
     *
     * @param need what {@link #combine} answered
     * @param untrusted whether any member is untrusted; then only strict DMA will do (iommu:QK-25)
     * @param global the default of the machine
     * @return the type, or null when an untrusted device would need another one, or the driver only has another one
     */
    static @Nullable IommuDomainType choose(@Nullable IommuDomainType need, boolean untrusted, IommuDomainType global) {
        if (untrusted) {
            return need == null || need == IommuDomainType.DMA ? IommuDomainType.DMA : null;
        }
        return need == null ? global : need;
    }
}
