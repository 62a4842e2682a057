package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * What became of an {@code mmap} of DMA memory: an errno, or the physical pages that the process sees and how they are
 * cached. Immutable.
 *
 * <p>Implements dma-core:FE-57, and of FE-71 and COH-7 the bounds.
 */
public final class UserMapping {
    private final int result;
    private final PageProtection protection;
    private final long pages;
    private final long firstPhysAddr;
    private final long @Nullable [] pagePhysAddrs;
    private final int firstPage;

    private UserMapping(
            int result,
            PageProtection protection,
            long pages,
            long firstPhysAddr,
            long @Nullable [] pagePhysAddrs,
            int firstPage) {
        this.result = result;
        this.protection = protection;
        this.pages = pages;
        this.firstPhysAddr = firstPhysAddr;
        this.pagePhysAddrs = pagePhysAddrs;
        this.firstPage = firstPage;
    }

    /**
     * Nothing was mapped.
     *
     * @param negatedErrno why, below 0
     * @return the outcome
     */
    public static UserMapping failed(int negatedErrno) {
        if (negatedErrno >= 0) {
            throw new IllegalArgumentException(negatedErrno + " is no negated errno");
        }
        return new UserMapping(negatedErrno, PageProtection.CACHED, 0, 0, null, 0);
    }

    /**
     * Maps a part of memory that is contiguous physically.
     *
     * @param vma which part
     * @param physAddr page 0 of the memory
     * @param bufferPages how many pages it has, unsigned
     * @param protection how they are cached
     * @return the outcome; -ENXIO when the part is not inside (dma-core:FE-57)
     */
    public static UserMapping ofContiguous(UserVma vma, long physAddr, long bufferPages, PageProtection protection) {
        if (!isInside(vma, bufferPages)) {
            return failed(-Errno.ENXIO);
        }
        long first = physAddr + (vma.pgoff() << Addresses.PAGE_SHIFT);
        return new UserMapping(0, protection, vma.pages(), first, null, 0);
    }

    /**
     * Maps a part of memory whose pages lie apart.
     *
     * @param vma which part
     * @param pagePhysAddrs the pages in order
     * @param protection how they are cached
     * @return the outcome; -ENXIO when the part is not inside
     */
    public static UserMapping ofPages(UserVma vma, long[] pagePhysAddrs, PageProtection protection) {
        if (!isInside(vma, pagePhysAddrs.length)) {
            return failed(-Errno.ENXIO);
        }
        return new UserMapping(0, protection, vma.pages(), 0, pagePhysAddrs.clone(), (int) vma.pgoff());
    }

    private static boolean isInside(UserVma vma, long bufferPages) {
        return Addresses.lessThan(vma.pgoff(), bufferPages)
                && Addresses.lessOrEqual(vma.pages(), bufferPages - vma.pgoff());
    }

    /**
     * The answer of the call.
     *
     * @return 0, or a negated errno
     */
    public int result() {
        return result;
    }

    /**
     * How the process sees the memory.
     *
     * @return the caching; {@link PageProtection#CACHED} when nothing was mapped
     */
    public PageProtection protection() {
        return protection;
    }

    /**
     * How many pages were mapped.
     *
     * @return the count, unsigned; 0 when nothing was mapped
     */
    public long pages() {
        return pages;
    }

    /**
     * What the process sees.
     *
     * @param page of the process's range, from 0
     * @return the physical page
     * @throws IndexOutOfBoundsException when the range has no such page
     */
    public long physAddr(long page) {
        if (!Addresses.lessThan(page, pages)) {
            throw new IndexOutOfBoundsException("page " + Long.toUnsignedString(page) + " of a mapping of "
                    + Long.toUnsignedString(pages) + " pages");
        }
        return pagePhysAddrs == null
                ? firstPhysAddr + (page << Addresses.PAGE_SHIFT)
                : pagePhysAddrs[firstPage + (int) page];
    }

    @Override
    public String toString() {
        if (result != 0) {
            return "not mapped: " + Errno.name(result);
        }
        String where = pages == 0 ? "" : " from " + Addresses.hex(physAddr(0));
        return Long.toUnsignedString(pages) + " pages " + protection + where;
    }
}
