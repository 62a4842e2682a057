package io.pagewalk.trace;

import java.util.List;
import java.util.Set;
import java.util.SortedMap;

/**
 * What a reader has seen up to one moment; an immutable snapshot.
 *
 * @param file name of the trace
 * @param formats formats of the lines read
 * @param linesRead lines read, headers, blank and bad ones included
 * @param eventCounts events handed out, by the kernel's name ({@code dma_map_page}, {@code map},
 *     {@code tracing_mark_write}); loss marks are not among them
 * @param otherEventCounts events of other systems, left out, by name; beyond some thousand names in one sum
 * @param badLineCount lines that could not be read
 * @param firstBadLines the first few of them
 * @param lostEvents events missing in gaps whose size is known
 * @param lostGaps gaps seen, of known and unknown size
 * @param lostGapsOfUnknownSize gaps whose size the file does not tell
 * @param overwrittenEvents events that the ring buffer overwrote before the file was written, as its header tells
 * @param truncatedLists {@code dma_map_sg} events whose lists are cut
 * @param bytesRead bytes read of the input, compressed as it is
 * @param totalBytes size of the input in bytes, -1 when unknown
 */
public record TraceSummary(
        String file,
        Set<TraceFormat> formats,
        long linesRead,
        SortedMap<String, Long> eventCounts,
        SortedMap<String, Long> otherEventCounts,
        long badLineCount,
        List<BadLine> firstBadLines,
        long lostEvents,
        long lostGaps,
        long lostGapsOfUnknownSize,
        long overwrittenEvents,
        long truncatedLists,
        long bytesRead,
        long totalBytes) {

    /**
     * Adds up the events handed out.
     *
     * @return events of all names, loss marks not counted
     */
    public long eventsRead() {
        return sum(eventCounts);
    }

    /**
     * Adds up the events of other systems.
     *
     * @return events that were recognised as such and left out
     */
    public long otherEvents() {
        return sum(otherEventCounts);
    }

    /**
     * Says whether the trace is known to be incomplete.
     *
     * @return true after any loss mark or a header that tells of overwritten events
     */
    public boolean isIncomplete() {
        return lostGaps > 0 || overwrittenEvents > 0;
    }

    private static long sum(SortedMap<String, Long> counts) {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }
}
