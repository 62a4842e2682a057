package io.pagewalk.dma.pool;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;

/** The pools of one device, the latest first. Thread-safe. */
public final class DmaPools {
    private final ArrayDeque<DmaPool> pools = new ArrayDeque<>();

    /** Makes an empty list. */
    public DmaPools() {}

    synchronized void add(DmaPool pool) {
        pools.addFirst(pool);
    }

    synchronized void remove(DmaPool pool) {
        pools.remove(pool);
    }

    /**
     * The pools.
     *
     * @return a copy, the latest first
     */
    public synchronized List<DmaPool> list() {
        return List.copyOf(pools);
    }

    /**
     * The text of the device's {@code pools} file (dma-core:POOL-8).
     *
     * @return a header line, and a line for each pool: name, blocks in use, blocks in all, bytes of a block, pages
     */
    public String text() {
        StringBuilder text = new StringBuilder("poolinfo - 0.1\n");
        for (DmaPool pool : list()) {
            text.append(String.format(
                            Locale.ROOT,
                            "%-16s %4s %4d %4s %2d",
                            pool.name(),
                            Long.toUnsignedString(pool.activeBlocks()),
                            pool.totalBlocks(),
                            Long.toUnsignedString(pool.blockBytes()),
                            pool.pageCount()))
                    .append('\n');
        }
        return text.toString();
    }
}
