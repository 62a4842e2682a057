package io.pagewalk.kit;

import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;

/**
 * The CPU's side of a scatterlist: buffers in the order in which a device sees them.
 *
 * @param buffers at least one
 */
public record Segments(List<Buffer> buffers) {
    /**
     * Copies the list and refuses an empty one.
     *
     * @param buffers at least one
     */
    public Segments {
        buffers = List.copyOf(buffers);
        if (buffers.isEmpty()) {
            throw new IllegalArgumentException("a scatterlist needs an entry");
        }
    }

    /**
     * Makes the kernel's table of it.
     *
     * @return a new table, not mapped
     */
    public SgTable toSgTable() {
        SgTable table = new SgTable(buffers.size());
        buffers.forEach(b -> table.add(b.physAddr(), b.sizeBytes()));
        return table;
    }

    /**
     * Bytes of all entries.
     *
     * @return the sum
     */
    public int sizeBytes() {
        return buffers.stream().mapToInt(Buffer::sizeBytes).sum();
    }

    /**
     * The list with some of its entries once more at the end, so that pages occur twice.
     *
     * @param count how many of the first entries
     * @return a longer list
     */
    public Segments withRepeated(int count) {
        List<Buffer> longer = new ArrayList<>(buffers);
        longer.addAll(buffers.subList(0, Math.min(count, buffers.size())));
        return new Segments(longer);
    }
}
