package io.pagewalk.trace.workload;

import io.pagewalk.trace.IommuEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The {@code map} lines that no DMA event has claimed yet, by CPU. Bounded: the oldest go first. */
final class MapPieces {
    /*
     * A `map` line names no device and comes before the dma_map_page, dma_map_sg or dma_alloc line that it belongs to. To find
     * the lines of an event is to go back over the lines of its CPU, latest first, and take those inside the event's range of
     * addresses until the range is full. Latest first, because an interrupt puts a complete other allocation in between, even
     * one with the same addresses on another device; its own event comes first too, and takes its lines away.
     *
     * A task that is moved to another CPU in the middle leaves its lines on the old one: these are looked for by task when the
     * CPU's own lines do not fill the range. Lines that nobody claims (the identity map at boot, those before a lost event)
     * sink to the bottom and fall out.
     */
    private static final int KEPT_PER_CPU = 8192;

    private record Piece(long iova, long physAddr, long sizeBytes, int pid) {}

    private final Map<Integer, List<Piece>> byCpu = new HashMap<>();
    private final PieceRun run = new PieceRun();

    void add(IommuEvent.IommuMap event) {
        List<Piece> pieces = byCpu.computeIfAbsent(event.header().cpu(), cpu -> new ArrayList<>());
        if (pieces.size() == KEPT_PER_CPU) {
            pieces.subList(0, KEPT_PER_CPU / 2).clear();
        }
        int pid = event.header().pid();
        pieces.add(new Piece(event.iova(), event.physAddr(), event.sizeBytes(), pid));
    }

    /** Forgets the lines of a CPU of which events are missing, all for a CPU below 0. */
    void forget(int cpu) {
        if (cpu < 0) {
            byCpu.clear();
        } else {
            byCpu.remove(cpu);
        }
    }

    /**
     * Takes the lines that together cover a range.
     *
     * @return true when they do; {@link #run} then has them
     */
    boolean claim(int cpu, int pid, long first, long last) {
        if (byCpu.isEmpty()) {
            return false;
        }
        List<Piece> own = byCpu.get(cpu);
        return (own != null && claim(own, first, last)) || claimFromOtherCpu(pid, first, last);
    }

    private boolean claimFromOtherCpu(int pid, long first, long last) {
        for (List<Piece> pieces : byCpu.values()) {
            boolean sameTask =
                    !pieces.isEmpty() && pieces.get(pieces.size() - 1).pid() == pid;
            if (pid != 0 && sameTask && claim(pieces, first, last)) {
                return true;
            }
        }
        return false;
    }

    private boolean claim(List<Piece> pieces, long first, long last) {
        long missing = last - first + 1;
        run.clear();
        int at = pieces.size();
        while (missing > 0 && at > 0) {
            Piece piece = pieces.get(--at);
            if (isInside(piece, first, last)) {
                run.add(piece.iova(), piece.physAddr(), piece.sizeBytes());
                missing -= piece.sizeBytes();
            }
        }
        run.sort();
        if (!run.covers(first, last)) {
            return false;
        }
        remove(pieces, at, first, last);
        return true;
    }

    private static void remove(List<Piece> pieces, int from, long first, long last) {
        pieces.subList(from, pieces.size()).removeIf(piece -> isInside(piece, first, last));
    }

    private static boolean isInside(Piece piece, long first, long last) {
        return Long.compareUnsigned(piece.iova() - first, last - first) <= 0
                && Long.compareUnsigned(piece.iova() + piece.sizeBytes() - 1 - first, last - first) <= 0;
    }

    /** What the latest {@link #claim} took. */
    PieceRun run() {
        return run;
    }
}
