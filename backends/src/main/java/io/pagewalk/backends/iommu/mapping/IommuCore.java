package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The loops of the IOMMU core over one domain: they cut a range into chunks of one page size, call the driver for each,
 * and unwind or invalidate.
 *
 * <p>Implements iommu:CORE-14 to CORE-21, CORE-26, CORE-27, INV-11, DALLOC-6. Thread-safe for disjoint ranges.
 * Allocates only for errors, and when two threads unmap at once.
 */
final class IommuCore {
    private static final String SITE = "iommu";
    private static final int NO_DOMAIN_ID = 0;

    private final PageTable table;
    private final IommuDriver driver;
    private final KernelLog log;
    /** Of unmaps that no CPU is named for: the first takes it, others meanwhile have their own. */
    private final CpuGathers gathers = new CpuGathers(1);
    /** No hardware knows of the domain before this is set, so that there is nothing to invalidate. */
    private int domainId = NO_DOMAIN_ID;

    private @Nullable FreedPageWatch watch;

    IommuCore(PageTable table, IommuDriver driver, KernelLog log) {
        this.table = table;
        this.driver = driver;
        this.log = log;
    }

    /** Has every page that is mapped from now on watched. */
    void watch(FreedPageWatch newWatch) {
        watch = newWatch;
    }

    /** Says under which id the hardware knows the domain, once a device was attached. */
    void attachedAs(int id) {
        domainId = id;
    }

    /**
     * Maps a range (iommu:CORE-14 to CORE-18). On an error what was mapped is unmapped and invalidated again; entries
     * that the failing chunk wrote stay (CORE-16).
     *
     * @param iova first device address, a multiple of the smallest page
     * @param physAddr first physical address, likewise
     * @param sizeBytes length, likewise; 0 maps nothing
     * @param prot bits of {@code IommuProt}
     * @return 0, or a negated errno
     */
    int map(long iova, long physAddr, long sizeBytes, int prot) {
        int error = mapRange(iova, physAddr, sizeBytes, prot);
        return error == 0 ? syncMap(iova, sizeBytes) : error;
    }

    /** Tells the driver of new mappings, which go again when it cannot say so to the hardware (iommu:CORE-17). */
    private int syncMap(long iova, long sizeBytes) {
        int error = domainId == NO_DOMAIN_ID ? 0 : driver.syncMap(domainId, iova, sizeBytes);
        if (error != 0) {
            unmap(iova, sizeBytes);
        }
        return error;
    }

    private int mapRange(long iova, long physAddr, long sizeBytes, int prot) {
        long bitmap = table.pageSizes();
        if (!Addresses.isAligned(iova | physAddr | sizeBytes, Long.lowestOneBit(bitmap))) {
            refuseMisaligned(String.format("iova 0x%x pa 0x%016x", iova, physAddr), sizeBytes);
            return -Errno.EINVAL;
        }
        long done = 0;
        while (done != sizeBytes) {
            long pageSize = PageSizes.choose(bitmap, iova + done, physAddr + done, sizeBytes - done);
            long count = PageSizes.count(bitmap, pageSize, iova + done, physAddr + done, sizeBytes - done);
            int error = table.mapPages(iova + done, physAddr + done, pageSize, count, prot);
            if (error != 0) {
                unmap(iova, done);
                return error;
            }
            done += pageSize * count;
        }
        FreedPageWatch watching = watch;
        if (watching != null && sizeBytes != 0) {
            watching.mapped(physAddr, sizeBytes);
        }
        return 0;
    }

    private void refuseMisaligned(String where, long sizeBytes) {
        log.message(
                SITE,
                "unaligned: " + where + " size " + Addresses.hex(sizeBytes) + " min_pagesz "
                        + Addresses.hex(Long.lowestOneBit(table.pageSizes())));
    }

    /**
     * Maps a list, padded lengths and all, to one run of device addresses (iommu:CORE-21).
     *
     * @param iova first device address
     * @param sg the list
     * @param nents how many entries
     * @param prot bits of {@code IommuProt}
     * @return bytes mapped, or a negated errno with nothing mapped
     */
    long mapSg(long iova, SgTable sg, int nents, int prot) {
        long mapped = 0;
        long start = 0;
        long length = 0;
        for (int turn = 0; turn <= nents; turn++) {
            int entry = Math.min(turn, nents - 1);
            long physAddr = sg.physAddr(entry);
            if (length != 0 && physAddr != start + length) {
                int error = mapRange(iova + mapped, start, length, prot);
                if (error != 0) {
                    unmap(iova, mapped);
                    return error;
                }
                mapped += length;
                length = 0;
            }
            if (!sg.isBusAddress(entry)) {
                start = length == 0 ? physAddr : start;
                length += sg.lengthBytes(entry);
            }
        }
        int error = syncMap(iova, mapped);
        return error == 0 ? mapped : error;
    }

    /**
     * Unmaps a range and invalidates it (iommu:CORE-19).
     *
     * @param iova first device address
     * @param sizeBytes length
     * @return bytes unmapped, which may exceed the request
     */
    long unmap(long iova, long sizeBytes) {
        InvalidationGather gather = gathers.take(0, false);
        long unmapped = unmapFast(iova, sizeBytes, gather);
        sync(gather);
        gathers.give(0, gather);
        return unmapped;
    }

    /**
     * Unmaps a range and leaves the invalidation to the caller.
     *
     * @param iova first device address
     * @param sizeBytes length
     * @param gather takes the range and the unlinked table pages
     * @return bytes unmapped, which may exceed the request; 0 when misaligned
     */
    long unmapFast(long iova, long sizeBytes, InvalidationGather gather) {
        long bitmap = table.pageSizes();
        if (!Addresses.isAligned(iova | sizeBytes, Long.lowestOneBit(bitmap))) {
            refuseMisaligned("iova " + Addresses.hex(iova), sizeBytes);
            return 0;
        }
        long done = 0;
        while (Addresses.lessThan(done, sizeBytes)) {
            long from = iova + done;
            long pageSize = PageSizes.choose(bitmap, from, from, sizeBytes - done);
            long count = PageSizes.count(bitmap, pageSize, from, from, sizeBytes - done);
            long unmapped = table.unmapPages(from, pageSize * count, gather.freed());
            if (unmapped == 0) {
                break;
            }
            gatherChunk(gather, from, unmapped);
            done += unmapped;
        }
        return done;
    }

    /** What the VT-d driver does after each chunk, with the bytes of the whole chunk (iommu:CORE-27). */
    private void gatherChunk(InvalidationGather gather, long iova, long sizeBytes) {
        if (gather.isQueued()) {
            return;
        }
        if (gather.mustSyncBefore(iova, sizeBytes)) {
            sync(gather);
            gather.initAfterSync();
        }
        gather.add(iova, sizeBytes);
    }

    /** Invalidates what is gathered, then gives the table pages back (iommu:INV-11, DALLOC-6). */
    void sync(InvalidationGather gather) {
        boolean leafOnly = gather.freed().isEmpty();
        if (domainId != NO_DOMAIN_ID) {
            driver.invalidateRange(domainId, gather.firstIova(), gather.lastIova(), leafOnly);
        }
        if (!leafOnly) {
            driver.freeTablePages(gather.freed());
        }
    }

    /** Invalidates the whole domain (iommu:FQ-3). */
    void flushAll() {
        if (domainId != NO_DOMAIN_ID) {
            driver.invalidateDomain(domainId);
        }
    }

    /** Looks an address up; 0 when not mapped (iommu:CORE-20). */
    long iovaToPhys(long iova) {
        return table.iovaToPhys(iova);
    }
}
