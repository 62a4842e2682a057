package io.pagewalk.trace.replay;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * Goes over the bytes of a mapping that a replay touches, in runs that lie together for the CPU and for the device.
 * Reused.
 */
final class TouchWalk {
    /*
     * A mapping has two lists: the CPU's segments and the device's, which an IOMMU merges. Positions count bytes over the whole
     * mapping, the same in both. Where the device's segments end before the CPU's do, the run is not reached.
     */

    /** Longest run. */
    static final int WINDOW_BYTES = 1 << 16;

    private final boolean full;
    private long[] physAddrs = {};
    private long[] lengths = {};
    private boolean isList;
    private @Nullable SgTable table;
    private long dmaBase;
    private boolean forDevice;
    private long from;
    private long to;
    private long at;
    private int segment;
    private long segmentStart;
    private int dmaSegment;
    private long dmaStart;
    private long physAddr;
    private long dmaAddr;
    private int lengthBytes;
    private boolean reached;

    TouchWalk(Touch touch) {
        full = touch == Touch.FULL;
    }

    /** Starts over the CPU's side of a part. */
    TouchWalk cpuSide(LiveMapping mapping, long offset, long sizeBytes) {
        return start(mapping, offset, sizeBytes, false);
    }

    /** Starts over both sides of a part, as one backend mapped it. */
    TouchWalk bothSides(LiveMapping mapping, int backend, long offset, long sizeBytes) {
        table = mapping.table(backend);
        dmaBase = mapping.dmaAddrs[backend];
        return start(mapping, offset, sizeBytes, true);
    }

    private TouchWalk start(LiveMapping mapping, long offset, long sizeBytes, boolean deviceToo) {
        physAddrs = mapping.map.physAddrs();
        lengths = mapping.map.lengthsBytes();
        isList = mapping.isList();
        forDevice = deviceToo;
        from = offset;
        to = Math.min(offset + sizeBytes, mapping.sizeBytes);
        at = offset;
        segment = 0;
        segmentStart = 0;
        dmaSegment = 0;
        dmaStart = 0;
        return this;
    }

    /** Moves to the next run; false at the end. */
    boolean next() {
        if (at >= to) {
            return false;
        }
        while (at >= segmentStart + segmentBytes()) {
            segmentStart += segmentBytes();
            segment++;
        }
        long end = touchedEnd();
        if (at >= to) {
            return false;
        }
        physAddr = physAddrs[segment] + (at - segmentStart);
        long length = Math.min(end - at, WINDOW_BYTES);
        lengthBytes = (int) (forDevice ? reach(length) : length);
        at += lengthBytes;
        return true;
    }

    private long segmentBytes() {
        return lengths[segment];
    }

    /** The end of the touched stretch at or after the position, which moves there. */
    private long touchedEnd() {
        long first = Math.max(from, segmentStart);
        long end = Math.min(to, segmentStart + segmentBytes());
        if (full || end - first <= 2 * Touch.EDGE_BYTES) {
            return end;
        }
        if (at < first + Touch.EDGE_BYTES) {
            return first + Touch.EDGE_BYTES;
        }
        at = Math.max(at, end - Touch.EDGE_BYTES);
        return end;
    }

    /** Finds the DMA address of the position and cuts the run at the end of its DMA segment. */
    private long reach(long length) {
        SgTable list = table;
        if (list == null) {
            dmaAddr = dmaBase + at;
            reached = !isList;
            return length;
        }
        while (dmaSegment < list.nents() && at - dmaStart >= list.dmaLengthBytes(dmaSegment)) {
            dmaStart += list.dmaLengthBytes(dmaSegment);
            dmaSegment++;
        }
        reached = dmaSegment < list.nents();
        if (!reached) {
            return length;
        }
        dmaAddr = list.dmaAddr(dmaSegment) + (at - dmaStart);
        return Addresses.min(length, list.dmaLengthBytes(dmaSegment) - (at - dmaStart));
    }

    long physAddr() {
        return physAddr;
    }

    long dmaAddr() {
        return dmaAddr;
    }

    int lengthBytes() {
        return lengthBytes;
    }

    /** Whether the device has an address for the run. */
    boolean isReached() {
        return reached;
    }
}
