package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;

/**
 * Where a list is cut, by the CPU's lengths or by the device's: for each part its first entry, how much of that entry
 * lies before the part, how many entries it touches and how long its last one is (dma-core:SGH-4).
 */
final class SplitPlan {
    private final SgTable sg;
    private final int nents;
    private final boolean ofDevice;
    private final int[] firsts;
    private final long[] skips;
    private final int[] counts;
    private final long[] lastLengths;
    private int entry;
    private long inEntry;

    SplitPlan(SgTable sg, int nents, boolean ofDevice, int parts) {
        this.sg = sg;
        this.nents = nents;
        this.ofDevice = ofDevice;
        firsts = new int[parts];
        skips = new long[parts];
        counts = new int[parts];
        lastLengths = new long[parts];
    }

    /** Makes the cuts; false when the list ends before the parts do. */
    boolean cut(long skipBytes, long[] sizes) {
        skip(skipBytes);
        for (int part = 0; part < sizes.length; part++) {
            if (!cutPart(part, sizes[part])) {
                return false;
            }
        }
        return true;
    }

    /** An entry that is skipped to its very end still belongs to the first part, which so begins with no bytes. */
    private void skip(long skipBytes) {
        inEntry = skipBytes;
        while (entry < nents && inEntry > length(entry)) {
            inEntry -= length(entry);
            entry++;
        }
    }

    private boolean cutPart(int part, long sizeBytes) {
        firsts[part] = entry;
        skips[part] = inEntry;
        long left = sizeBytes;
        do {
            if (entry == nents) {
                return false;
            }
            long taken = Addresses.min(left, length(entry) - inEntry);
            left -= taken;
            counts[part]++;
            lastLengths[part] = taken;
            advance(taken);
        } while (left != 0);
        return true;
    }

    private void advance(long taken) {
        inEntry += taken;
        if (inEntry == length(entry)) {
            entry++;
            inEntry = 0;
        }
    }

    private long length(int index) {
        return ofDevice ? sg.dmaLengthBytes(index) : sg.lengthBytes(index);
    }

    int first(int part) {
        return firsts[part];
    }

    int count(int part) {
        return counts[part];
    }

    /** How much of an entry lies before the part. */
    long skipIn(int part, int i) {
        return i == 0 ? skips[part] : 0;
    }

    /** How much of an entry lies in the part. */
    long lengthIn(int part, int i) {
        return i == counts[part] - 1 ? lastLengths[part] : length(firsts[part] + i) - skipIn(part, i);
    }
}
