package io.pagewalk.trace.workload;

import io.pagewalk.dma.DmaDirection;
import org.jspecify.annotations.Nullable;

/** A mapping or allocation that has not ended yet, as the trace tells it. */
final class LiveEntry {
    /** What it is. */
    enum Kind {
        PAGE,
        SG,
        ALLOC
    }

    private static final long[] NO_LIST = {};

    final long id;
    final Kind kind;
    final long dmaAddr;

    /** All bytes; of a list those of its first DMA segment. */
    final long sizeBytes;

    final DmaDirection direction;
    final long[] physAddrs;

    /** Gaps of lost events before it was made. */
    final long gapsBefore;

    /** False for a list that is left out: it lives here only so that its unmap is recognised. */
    final boolean isReplayed;

    /** True for a list of which {@link #physAddrs} has only the first entries. */
    final boolean isTruncated;

    /** The next younger one at the same DMA address. */
    @Nullable LiveEntry nextAtAddress;

    /** The next younger list with the same first physical address. */
    @Nullable LiveEntry nextAtPhys;

    private LiveEntry(
            long id,
            Kind kind,
            long dmaAddr,
            long sizeBytes,
            DmaDirection direction,
            long[] physAddrs,
            long gapsBefore,
            boolean isReplayed,
            boolean isTruncated) {
        this.id = id;
        this.kind = kind;
        this.dmaAddr = dmaAddr;
        this.sizeBytes = sizeBytes;
        this.direction = direction;
        this.physAddrs = physAddrs;
        this.gapsBefore = gapsBefore;
        this.isReplayed = isReplayed;
        this.isTruncated = isTruncated;
    }

    static LiveEntry page(long id, long dmaAddr, long sizeBytes, DmaDirection direction, long gapsBefore) {
        return new LiveEntry(id, Kind.PAGE, dmaAddr, sizeBytes, direction, NO_LIST, gapsBefore, true, false);
    }

    static LiveEntry alloc(long id, long dmaAddr, long sizeBytes, long gapsBefore) {
        DmaDirection both = DmaDirection.BIDIRECTIONAL;
        return new LiveEntry(id, Kind.ALLOC, dmaAddr, sizeBytes, both, NO_LIST, gapsBefore, true, false);
    }

    static LiveEntry list(
            long id, long dmaAddr, long sizeBytes, DmaDirection direction, long[] physAddrs, long gapsBefore) {
        return new LiveEntry(id, Kind.SG, dmaAddr, sizeBytes, direction, physAddrs, gapsBefore, true, false);
    }

    static LiveEntry listLeftOut(
            long dmaAddr,
            long sizeBytes,
            DmaDirection direction,
            long[] physAddrs,
            long gapsBefore,
            boolean isTruncated) {
        return new LiveEntry(-1, Kind.SG, dmaAddr, sizeBytes, direction, physAddrs, gapsBefore, false, isTruncated);
    }

    boolean isLike(Kind otherKind, long otherSizeBytes, DmaDirection otherDirection) {
        return kind == otherKind && sizeBytes == otherSizeBytes && direction == otherDirection;
    }
}
