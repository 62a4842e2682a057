package io.pagewalk.trace.replay;

import io.pagewalk.dma.spi.Metric;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What came out on one backend. Its lists and maps are unmodifiable.
 *
 * @param name the backend variant
 * @param summary what it is, in a line
 * @param blocksAfterUnmap whether it promises that an unmapped address faults at once
 * @param total all devices together
 * @param byDevice each device, in the order of first appearance
 * @param metrics what the backend itself counted, in the order of {@link Metric}; only those that it reports
 * @param mapTime times of map calls, null when not timed
 * @param unmapTime times of unmap calls, null when not timed
 * @param failures why maps failed, by reason and size
 * @param violations broken invariants, a sentence each: of its structures at the end, and each kind of stale read on a
 *     backend that promises to block
 * @param firstMismatches the first few wrong bytes and faults, a sentence each
 * @param kernelWarnings WARNs of the emulated kernel
 * @param residentBytes memory still backed at the end
 */
public record BackendResult(
        String name,
        String summary,
        boolean blocksAfterUnmap,
        Tally total,
        Map<String, Tally> byDevice,
        Map<Metric, Long> metrics,
        @Nullable Latency mapTime,
        @Nullable Latency unmapTime,
        List<FailureGroup> failures,
        List<String> violations,
        List<String> firstMismatches,
        long kernelWarnings,
        long residentBytes) {

    /**
     * Whether all was right. Maps that failed are results, not faults.
     *
     * @return false after a mismatch, a stale read where the backend promises to block, or a broken invariant
     */
    public boolean ok() {
        return total.mismatchedMaps() == 0
                && total.mismatchedBytes() == 0
                && total.allocsMismatched() == 0
                && violations.isEmpty();
    }
}
