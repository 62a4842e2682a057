package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.IommuEvent;
import io.pagewalk.trace.TraceHeader;
import io.pagewalk.trace.workload.PieceRun;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** What one task, in one context, has written and not finished: the IOMMU lines of the call that it is in. Bounded. */
final class Writer {
    /** Asks an {@link Ending} for a call wherever it starts; no page starts here. */
    static final long ANYWHERE = -1L;

    private static final int MOST_PIECES = 8192;

    /** A {@code map} line. */
    private record Piece(IommuEvent.IommuMap line, Moment moment, long previousLine) {}

    /** An {@code unmap} line whose call is not known yet. */
    private record OpenUnmap(long iova, Moment moment) {}

    /**
     * Where a call took its address.
     *
     * @param moment the place of its first {@code map} line
     * @param previousLine the line before that of the same writer, 0 for none
     */
    record Taken(Moment moment, long previousLine) {}

    /**
     * A call that says what it gives back before it does.
     *
     * @param moment the place of its own line, should no {@code unmap} line follow
     * @param candidate finds its call among those that live by the page of DMA addresses where it starts
     */
    record Ending(Moment moment, LongFunction<@Nullable Call> candidate) {}

    private final List<Piece> pieces = new ArrayList<>();
    private final List<OpenUnmap> unmaps = new ArrayList<>();
    private @Nullable Ending ending;
    private long lastLine;

    /** Notes a line of whatever kind. */
    void wrote(TraceHeader header) {
        lastLine = header.lineNumber();
    }

    long lastLine() {
        return lastLine;
    }

    // ---- maps

    void addPiece(IommuEvent.IommuMap line, Moment moment) {
        if (pieces.size() == MOST_PIECES) {
            List<Piece> oldest = pieces.subList(0, MOST_PIECES / 2);
            oldest.forEach(piece -> piece.moment.drop());
            oldest.clear();
        }
        pieces.add(new Piece(line, moment, lastLine));
    }

    /**
     * Takes the {@code map} lines that together cover a range, latest first.
     *
     * @param first first byte of the range, on a page
     * @param last last byte of the range, the last of a page
     * @param run takes the lines
     * @return the moment of the earliest of them, or null when they do not cover the range
     */
    @Nullable Taken claim(long first, long last, PieceRun run) {
        run.clear();
        long missing = last - first + 1;
        int at = pieces.size();
        while (missing > 0 && at > 0) {
            Piece piece = pieces.get(--at);
            if (isInside(piece, first, last)) {
                run.add(piece.line.iova(), piece.line.physAddr(), piece.line.sizeBytes());
                missing -= piece.line.sizeBytes();
            }
        }
        run.sort();
        return run.covers(first, last) ? take(at, first, last) : null;
    }

    private Taken take(int from, long first, long last) {
        Piece earliest = pieces.get(from);
        for (int i = pieces.size() - 1; i >= from; i--) {
            Piece piece = pieces.get(i);
            if (isInside(piece, first, last)) {
                pieces.remove(i);
                if (i != from) {
                    piece.moment.drop();
                }
            }
        }
        return new Taken(earliest.moment, earliest.previousLine);
    }

    private static boolean isInside(Piece piece, long first, long last) {
        return Addresses.contains(first, last - first + 1, piece.line.iova(), piece.line.sizeBytes());
    }

    // ---- unmaps

    void addUnmap(long iova, Moment moment) {
        unmaps.add(new OpenUnmap(iova, moment));
    }

    /** Takes the latest open unmap of a page of DMA addresses. */
    @Nullable Moment takeUnmap(long iova) {
        for (int i = unmaps.size() - 1; i >= 0; i--) {
            if (unmaps.get(i).iova == iova) {
                return unmaps.remove(i).moment;
            }
        }
        return null;
    }

    @Nullable Ending ending() {
        return ending;
    }

    void ends(@Nullable Ending call) {
        ending = call;
    }

    /** Drops what a call left that was not one of the DMA API; returns how many mappings that were. */
    int dropOpen() {
        int count = pieces.size();
        pieces.forEach(piece -> piece.moment.drop());
        pieces.clear();
        unmaps.forEach(unmap -> unmap.moment.drop());
        unmaps.clear();
        return count;
    }
}
