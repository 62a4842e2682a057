package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's {@code sg_page_iter} and {@code sg_dma_page_iter}: walks a list page by page, by the CPU's lengths or by
 * the device's. Implements dma-core:SGH-1.
 *
 * <p>An entry covers as many pages as its offset and its length together reach into, counted from the page of the
 * entry; so one with an offset and no bytes still covers the pages up to the offset. The walk ends after as many
 * entries as it was given, or at END. Reusable: starting again allocates nothing. Not thread-safe.
 */
public final class SgPageIter {
    private @Nullable SgTable sg;
    private boolean ofDevice;
    private int entry;
    private int entriesLeft;
    private long pageInEntry;
    private long advance;

    /** Makes an iterator that has nothing to walk until it is started. */
    public SgPageIter() {}

    /**
     * Starts a walk over what the CPU sees, {@code for_each_sg_page}.
     *
     * @param list the list
     * @param nents how many entries at most, usually {@link SgTable#origNents()}
     * @param firstPage how many pages to leave out
     * @return this
     * @throws IllegalArgumentException when a number is negative
     */
    public SgPageIter startCpu(SgTable list, int nents, long firstPage) {
        return start(list, nents, firstPage, false);
    }

    /**
     * Starts a walk over what the device sees, {@code for_each_sg_dma_page}.
     *
     * @param list the list
     * @param nents how many segments at most, usually {@link SgTable#nents()}
     * @param firstPage how many pages to leave out
     * @return this
     * @throws IllegalArgumentException when a number is negative
     */
    public SgPageIter startDma(SgTable list, int nents, long firstPage) {
        return start(list, nents, firstPage, true);
    }

    private SgPageIter start(SgTable list, int nents, long firstPage, boolean device) {
        if (nents < 0 || firstPage < 0) {
            throw new IllegalArgumentException(nents + " entries from page " + firstPage);
        }
        sg = Objects.requireNonNull(list, "list");
        ofDevice = device;
        entry = 0;
        entriesLeft = list.entries() == 0 ? 0 : nents;
        pageInEntry = firstPage;
        advance = 0;
        return this;
    }

    /**
     * Steps to the first page, or to the next one.
     *
     * @return false when there is none
     */
    public boolean next() {
        if (entriesLeft == 0) {
            return false;
        }
        pageInEntry += advance;
        advance = 1;
        for (long pages = pagesOfEntry(); pageInEntry >= pages; pages = pagesOfEntry()) {
            pageInEntry -= pages;
            entry = list().next(entry);
            entriesLeft = entry < 0 ? 0 : entriesLeft - 1;
            if (entriesLeft == 0) {
                return false;
            }
        }
        return true;
    }

    private long pagesOfEntry() {
        SgTable list = list();
        long length = ofDevice ? list.dmaLengthBytes(entry) : list.lengthBytes(entry);
        return Addresses.alignUp(list.offset(entry) + length, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
    }

    private SgTable list() {
        if (sg == null) {
            throw new IllegalStateException("the iterator was not started");
        }
        return sg;
    }

    /** Goes on with a later page of the same entry. */
    void skipPages(long pages) {
        pageInEntry += pages;
    }

    /**
     * The entry of the page.
     *
     * @return its index
     */
    public int entry() {
        return entry;
    }

    /**
     * Which page of its entry it is.
     *
     * @return from 0
     */
    public long pageInEntry() {
        return pageInEntry;
    }

    /**
     * The page's physical address, {@code sg_page_iter_page}.
     *
     * @return the address, a multiple of the page size
     */
    public long pageAddr() {
        return list().pageAddr(entry) + (pageInEntry << Addresses.PAGE_SHIFT);
    }

    /**
     * The page's DMA address, {@code sg_page_iter_dma_address}: that of the segment, which is not rounded to a page,
     * and a page more for each page before this one.
     *
     * @return the address
     */
    public long dmaAddr() {
        return list().dmaAddr(entry) + (pageInEntry << Addresses.PAGE_SHIFT);
    }
}
