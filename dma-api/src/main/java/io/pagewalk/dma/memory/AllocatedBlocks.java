package io.pagewalk.dma.memory;

import java.util.HashMap;
import java.util.Map;

/** Which page blocks are allocated, and of what order. Sparse, one byte a frame. Not thread-safe. */
final class AllocatedBlocks {

    /** The answer for a frame at which no block begins. */
    static final int NONE = -1;

    private static final int GROUP_SHIFT = 12;
    private static final int GROUP_FRAMES = 1 << GROUP_SHIFT;

    /** Order + 1 of the block that begins at a frame, 0 if none does. */
    private final Map<Long, byte[]> groups = new HashMap<>();

    int orderAt(long pfn) {
        byte[] group = groups.get(pfn >>> GROUP_SHIFT);
        return group == null ? NONE : group[slotOf(pfn)] - 1;
    }

    void add(long pfn, int order) {
        byte[] group = groups.computeIfAbsent(pfn >>> GROUP_SHIFT, key -> new byte[GROUP_FRAMES]);
        group[slotOf(pfn)] = (byte) (order + 1);
    }

    void remove(long pfn) {
        add(pfn, NONE);
    }

    private static int slotOf(long pfn) {
        return (int) pfn & (GROUP_FRAMES - 1);
    }
}
