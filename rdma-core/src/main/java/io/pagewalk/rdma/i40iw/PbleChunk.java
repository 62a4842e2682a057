package io.pagewalk.rdma.i40iw;

import java.util.BitSet;

/** A run of backed PBLEs, of which granules are taken: the lowest run that fits. Not thread-safe. */
final class PbleChunk {
    /** Bytes of a granule: 8 PBLEs (rdma:PBLE-1). */
    static final int GRANULE_BYTES = 64;

    final long fpmAddr;
    private final int granules;
    private final BitSet taken = new BitSet();

    PbleChunk(long fpmAddr, long sizeBytes) {
        this.fpmAddr = fpmAddr;
        granules = (int) (sizeBytes / GRANULE_BYTES);
    }

    int granules() {
        return granules;
    }

    /** Takes granules in a row; gives the first, or -1. None at all still needs a free one to stand at. */
    int take(int count) {
        int first = taken.nextClearBit(0);
        while (first < granules) {
            int end = taken.nextSetBit(first);
            if (end < 0 || end > granules) {
                end = granules;
            }
            if (end - first >= count) {
                taken.set(first, first + count);
                return first;
            }
            first = taken.nextClearBit(end);
        }
        return -1;
    }

    void free(int first, int count) {
        taken.clear(first, first + count);
    }
}
