package io.pagewalk.backends.iommu.driver;

import io.pagewalk.dma.memory.PhysicalMemory;

/** An oracle: it reads root, context and paging entries byte by byte, after the layout tables of the specification. */
final class NaiveWalk {
    /** What stands for "not translated". */
    static final long NOTHING = -1;

    private final PhysicalMemory memory;

    NaiveWalk(PhysicalMemory memory) {
        this.memory = memory;
    }

    /** Translates as the hardware of a requester would without any cache, or NOTHING. */
    long translate(long rootTable, int requesterId, long iova, boolean write) {
        long bus = requesterId >> 8;
        long rootEntry = word(rootTable + bus * 16);
        if ((rootEntry & 1) == 0) {
            return NOTHING;
        }
        long devfn = requesterId & 0xff;
        long contextTable = rootEntry - rootEntry % 4096;
        long low = word(contextTable + devfn * 16);
        if (low % 2 == 0) {
            return NOTHING;
        }
        int levels = (int) (word(contextTable + devfn * 16 + 8) % 8) + 2;
        return walk(low - low % 4096, levels, iova, write);
    }

    /** Translates through second-stage tables, or NOTHING. */
    long walk(long root, int levels, long iova, boolean write) {
        long table = root;
        for (int level = levels; level >= 1; level--) {
            long span = span(level);
            long entry = word(table + iova / span % 512 * 8);
            if (!(write ? entry / 2 % 2 == 1 : entry % 2 == 1)) {
                return NOTHING;
            }
            long address = entry - entry % 4096;
            boolean large = entry / 128 % 2 == 1;
            if (level == 1 || large) {
                return address + iova % span;
            }
            table = address;
        }
        throw new AssertionError("a walk of " + levels + " levels has no end");
    }

    private static long span(int level) {
        long span = 4096;
        for (int i = 1; i < level; i++) {
            span *= 512;
        }
        return span;
    }

    private long word(long physAddr) {
        long value = 0;
        for (int i = 7; i >= 0; i--) {
            value = value * 256 + (memory.getByte(physAddr + i) & 0xff);
        }
        return value;
    }
}
