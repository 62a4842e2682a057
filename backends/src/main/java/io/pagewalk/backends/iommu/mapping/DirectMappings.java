package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;

/** Maps to itself what firmware keeps for a device. Implements iommu:CORE-32. */
final class DirectMappings {
    private DirectMappings() {}

    /** Whether a device must never be without its regions (iommu:CORE-32, GRP-4). */
    static boolean areRequired(Device device) {
        return RegionList.of(device).stream().anyMatch(region -> region.type() == ReservedRegion.Type.DIRECT);
    }

    /**
     * Maps the regions of a device in a domain of the DMA API, but for pages that are mapped already.
     *
     * @param domain the domain
     * @param device the device
     * @return 0, or a negated errno at the first run that cannot be mapped
     */
    static int create(IommuDomain domain, Device device) {
        int error = 0;
        for (ReservedRegion region : RegionList.of(device)) {
            boolean direct = region.type() == ReservedRegion.Type.DIRECT
                    || region.type() == ReservedRegion.Type.DIRECT_RELAXABLE;
            if (direct && error == 0) {
                error = mapRegion(domain, region);
            }
        }
        if (error == 0) {
            domain.core().flushAll();
        }
        return error;
    }

    private static int mapRegion(IommuDomain domain, ReservedRegion region) {
        long pageBytes = domain.granuleBytes();
        long end = Addresses.alignUp(region.start() + region.sizeBytes(), pageBytes);
        long run = Addresses.alignUp(region.start(), pageBytes);
        for (long page = run; page != end; page += pageBytes) {
            if (domain.iovaToPhys(page) != 0) {
                int error = mapRun(domain, run, page, region.prot());
                if (error != 0) {
                    return error;
                }
                run = page + pageBytes;
            }
        }
        return mapRun(domain, run, end, region.prot());
    }

    private static int mapRun(IommuDomain domain, long first, long end, int prot) {
        return first == end ? 0 : domain.core().map(first, first, end - first, prot);
    }
}
