package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.memory.Addresses;
import java.util.HashMap;
import java.util.Map;

/**
 * Device addresses for the doorbells that interrupt messages of an unmanaged domain are written to: a cursor that only
 * moves up, and the pages mapped so far.
 *
 * <p>Implements the cursor of iommu:DINIT-1 and DIOVA-1. Thread-safe.
 */
final class MsiCookie {
    private static final int PROT = IommuProt.WRITE | IommuProt.NOEXEC | IommuProt.MMIO;

    private final IommuCore core;
    private final Map<Long, Long> iovaByPage = new HashMap<>();
    private long cursor;

    MsiCookie(IommuCore core, long base) {
        this.core = core;
        this.cursor = base;
    }

    /**
     * Maps the page of a doorbell, once.
     *
     * @param physAddr the doorbell
     * @param pageBytes the smallest page of the domain
     * @return its device address, 0 when the tables cannot take it, with the cursor where it was
     */
    synchronized long map(long physAddr, long pageBytes) {
        long page = Addresses.alignDown(physAddr, pageBytes);
        Long known = iovaByPage.get(page);
        if (known == null) {
            long iova = cursor;
            cursor += pageBytes;
            if (core.map(iova, page, pageBytes, PROT) != 0) {
                cursor -= pageBytes;
                return 0;
            }
            iovaByPage.put(page, iova);
            known = iova;
        }
        return known + (physAddr - page);
    }
}
