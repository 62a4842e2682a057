package io.pagewalk.trace.predict;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/** What a call came to on one machine. */
final class Placed {
    /** The address of each entry, or of the whole; {@link Dma#DMA_MAPPING_ERROR} where there is none. */
    final long[] dmaAddrs;
    /** Bytes behind each address. */
    final long[] sizes;
    /** The list, when it was mapped as one. */
    final @Nullable SgTable table;
    /** The memory, when it was allocated. */
    final @Nullable CoherentBuffer buffer;

    private Placed(long[] dmaAddrs, long[] sizes, @Nullable SgTable table, @Nullable CoherentBuffer buffer) {
        this.dmaAddrs = dmaAddrs;
        this.sizes = sizes;
        this.table = table;
        this.buffer = buffer;
    }

    static Placed entries(long[] dmaAddrs, long[] sizes) {
        return new Placed(dmaAddrs, sizes, null, null);
    }

    static Placed page(long dmaAddr, long sizeBytes) {
        return new Placed(new long[] {dmaAddr}, new long[] {sizeBytes}, null, null);
    }

    static Placed list(SgTable table, int nents) {
        long[] addrs = new long[nents];
        long[] sizes = new long[nents];
        for (int i = 0; i < nents; i++) {
            addrs[i] = table.dmaAddr(i);
            sizes[i] = table.dmaLengthBytes(i);
        }
        return new Placed(addrs, sizes, table, null);
    }

    static Placed memory(CoherentBuffer buffer) {
        long[] addr = {buffer.dmaAddr()};
        long[] size = {buffer.sizeBytes()};
        return new Placed(addr, size, null, buffer);
    }

    static Placed failed() {
        return page(Dma.DMA_MAPPING_ERROR, 0);
    }

    long dmaAddr() {
        return dmaAddrs[0];
    }

    boolean isFailed() {
        return dmaAddrs[0] == Dma.DMA_MAPPING_ERROR;
    }
}
