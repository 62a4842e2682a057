package io.pagewalk.dma.spi;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * Contiguous pages that were allocated and mapped together, by {@code dma_alloc_pages} (dma-core:FE-54).
 *
 * @param physAddr the first page
 * @param dmaAddr its DMA address
 * @param sizeBytes their bytes, a multiple of the page size
 */
public record DmaPages(long physAddr, long dmaAddr, long sizeBytes) {
    private static final long U32 = 0xffff_ffffL;

    /**
     * The pages as a mapped list of one entry (dma-core:FE-64).
     *
     * @return a new table; lengths keep 32 bits, as entries do
     */
    public SgTable toSgTable() {
        long lengthBytes = sizeBytes & U32;
        SgTable sg = new SgTable(1).add(physAddr & Addresses.PAGE_MASK, 0, lengthBytes);
        sg.setDma(0, dmaAddr, lengthBytes);
        sg.mapped(1);
        return sg;
    }
}
