package io.pagewalk.rdma.umem;

import io.pagewalk.dma.scatterlist.SgTable;

/** Mapped lists for tests. */
final class Lists {
    private Lists() {}

    /** A list of DMA addresses and lengths in turn; the CPU's entries have the same lengths. */
    static SgTable mapped(long... addressesAndLengths) {
        SgTable sg = new SgTable(1);
        for (int i = 0; i < addressesAndLengths.length; i += 2) {
            sg.add(0, addressesAndLengths[i + 1]);
            sg.setDma(sg.entries() - 1, addressesAndLengths[i], addressesAndLengths[i + 1]);
        }
        sg.mapped(addressesAndLengths.length / 2);
        return sg;
    }
}
