package io.pagewalk.trace.replay;

import io.pagewalk.dma.memory.PhysRange;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a machine file itself says of the machine that recorded a trace, without any default; null where it says
 * nothing. For whoever knows better defaults, such as a boot log.
 *
 * @param poolStart first physical address of the bounce pool
 * @param poolSlots its slots of 2 KiB
 * @param poolAreas its areas; 0 for as many as CPUs
 * @param iommuMode what the IOMMU did
 * @param iommuWidthBits width of its addresses
 * @param iommuReserved addresses that it handed out to nobody
 * @param drivers what is known of all devices of a driver, by the driver's name
 */
public record MachineFacts(
        @Nullable Long poolStart,
        @Nullable Integer poolSlots,
        @Nullable Integer poolAreas,
        @Nullable IommuMode iommuMode,
        @Nullable Integer iommuWidthBits,
        @Nullable List<PhysRange> iommuReserved,
        Map<String, DeviceSpec> drivers) {

    /** No machine file. */
    public static final MachineFacts NONE = new MachineFacts(null, null, null, null, null, null, Map.of());

    /** What an IOMMU can do with a driver's mappings. */
    public enum IommuMode {
        /** There is none, or it does not translate. */
        OFF,
        /** It invalidates at every unmap. */
        STRICT,
        /** It invalidates unmaps together, by a flush queue. */
        LAZY
    }

    /**
     * Copies list and map.
     *
     * @param poolStart first physical address of the bounce pool, or null
     * @param poolSlots its slots, or null
     * @param poolAreas its areas, or null
     * @param iommuMode what the IOMMU did, or null
     * @param iommuWidthBits width of its addresses, or null
     * @param iommuReserved addresses that it handed out to nobody, or null
     * @param drivers what is known of all devices of a driver
     */
    public MachineFacts {
        iommuReserved = iommuReserved == null ? null : List.copyOf(iommuReserved);
        drivers = Collections.unmodifiableMap(new LinkedHashMap<>(drivers));
    }
}
