package io.pagewalk.rdma;

/** Takes the pages of a list for a memory region of a driver, {@code set_page} of {@code ib_sg_to_pages}. */
@FunctionalInterface
public interface PageSetter {
    /**
     * Takes the next page.
     *
     * @param pageDmaAddr DMA address of the page, a multiple of the region's page size
     * @return 0, or a negated errno when it cannot take any more
     */
    int setPage(long pageDmaAddr);
}
