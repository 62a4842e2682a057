package io.pagewalk.rdma.qp;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.SgeList;

/**
 * A place in the segments of a work request, {@code copy_data}: bytes go in or come out one packet after another, each
 * segment's key looked up anew. Implements rdma:RXE-35. Not thread-safe.
 */
final class SgeCursor {
    private final MemoryRegions regions;
    private SgeList segments = new SgeList();
    private int segment;
    private long offset;
    private long left;

    SgeCursor(MemoryRegions regions) {
        this.regions = regions;
    }

    /** Begins at the first byte. */
    void start(SgeList list) {
        segments = list;
        segment = 0;
        offset = 0;
        left = list.totalBytes();
    }

    /** Copies out of the segments; 0 or a negated errno. */
    int read(Pd pd, byte[] bytes, int length) {
        return copy(pd, 0, bytes, length, false);
    }

    /** Copies into the segments; 0 or a negated errno. */
    int write(Pd pd, int access, byte[] bytes, int length) {
        return copy(pd, access, bytes, length, true);
    }

    private int copy(Pd pd, int access, byte[] bytes, int length, boolean in) {
        if (length > left) {
            return -Errno.EINVAL;
        }
        int done = 0;
        while (done < length) {
            if (segment == segments.count()) {
                return -Errno.ENOSPC;
            }
            int chunk = (int) Math.min(length - done, segments.lengthBytes(segment) - offset);
            if (chunk > 0) {
                int error = copyChunk(pd, access, bytes, done, chunk, in);
                if (error != 0) {
                    return error;
                }
            }
            done += chunk;
            advance(chunk);
        }
        left -= length;
        return 0;
    }

    private int copyChunk(Pd pd, int access, byte[] bytes, int at, int chunk, boolean in) {
        Region region = regions.lookupLocal(pd, segments.lkey(segment), access);
        if (region == null) {
            return -Errno.EINVAL;
        }
        long iova = segments.addr(segment) + offset;
        try {
            return in ? region.write(iova, bytes, at, chunk) : region.read(iova, bytes, at, chunk);
        } finally {
            region.put();
        }
    }

    private void advance(int chunk) {
        offset += chunk;
        if (offset == segments.lengthBytes(segment)) {
            segment++;
            offset = 0;
        }
    }

    /** Goes back to before the latest packet, which is sent again. */
    void rewind(int length) {
        left += length;
        long back = length;
        while (back > offset) {
            back -= offset;
            segment--;
            offset = segments.lengthBytes(segment);
        }
        offset -= back;
    }
}
