package io.pagewalk.trace.replay;

import io.pagewalk.dma.FailureReason;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * What a replay counted, on one backend, of one device or of all. A map of a page and a map of a list count as one call
 * each.
 *
 * <p>{@code verifiedMaps + mismatchedMaps + failed() + stillLive = mapsTried}.
 *
 * @param mapsTried calls of map
 * @param mapsDone those that gave an address
 * @param unmaps calls of unmap
 * @param failuresByReason maps that failed, by cause, in the order of {@link FailureReason}
 * @param bytesMapped bytes of all maps that gave an address
 * @param verifiedMaps mappings that ended with every compared byte right
 * @param mismatchedMaps mappings that ended with a wrong byte or a fault while they were live
 * @param stillLive mappings that the trace does not end
 * @param recordedFailuresTried maps among {@code mapsTried} that failed on the recording machine
 * @param syncs calls of sync
 * @param bytesVerified bytes compared and right, mappings only
 * @param mismatchedBytes bytes compared and wrong, or not reached, mappings only
 * @param faults device accesses of live mappings and allocations that did not get through
 * @param staleReads sampled device reads after an unmap that got through
 * @param blockedReads sampled device reads after an unmap that were blocked
 * @param allocsTried coherent allocations
 * @param allocsDone those that gave memory
 * @param frees coherent frees
 * @param allocFailuresByReason coherent allocations that failed, by cause
 * @param allocsMismatched coherent allocations in which device and CPU did not see the same
 * @param allocsStillLive coherent allocations that the trace does not free
 */
public record Tally(
        long mapsTried,
        long mapsDone,
        long unmaps,
        Map<FailureReason, Long> failuresByReason,
        long bytesMapped,
        long verifiedMaps,
        long mismatchedMaps,
        long stillLive,
        long recordedFailuresTried,
        long syncs,
        long bytesVerified,
        long mismatchedBytes,
        long faults,
        long staleReads,
        long blockedReads,
        long allocsTried,
        long allocsDone,
        long frees,
        Map<FailureReason, Long> allocFailuresByReason,
        long allocsMismatched,
        long allocsStillLive) {

    /** Nothing counted. */
    public static final Tally ZERO =
            new Tally(0, 0, 0, Map.of(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), 0, 0);

    /**
     * Maps that failed.
     *
     * @return over all causes
     */
    public long failed() {
        return sum(failuresByReason);
    }

    /**
     * Coherent allocations that failed.
     *
     * @return over all causes
     */
    public long allocsFailed() {
        return sum(allocFailuresByReason);
    }

    private static long sum(Map<FailureReason, Long> counts) {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * Adds two tallies.
     *
     * @param other of another device of the same backend
     * @return the sums
     */
    public Tally plus(Tally other) {
        return new Tally(
                mapsTried + other.mapsTried,
                mapsDone + other.mapsDone,
                unmaps + other.unmaps,
                plus(failuresByReason, other.failuresByReason),
                bytesMapped + other.bytesMapped,
                verifiedMaps + other.verifiedMaps,
                mismatchedMaps + other.mismatchedMaps,
                stillLive + other.stillLive,
                recordedFailuresTried + other.recordedFailuresTried,
                syncs + other.syncs,
                bytesVerified + other.bytesVerified,
                mismatchedBytes + other.mismatchedBytes,
                faults + other.faults,
                staleReads + other.staleReads,
                blockedReads + other.blockedReads,
                allocsTried + other.allocsTried,
                allocsDone + other.allocsDone,
                frees + other.frees,
                plus(allocFailuresByReason, other.allocFailuresByReason),
                allocsMismatched + other.allocsMismatched,
                allocsStillLive + other.allocsStillLive);
    }

    private static Map<FailureReason, Long> plus(Map<FailureReason, Long> a, Map<FailureReason, Long> b) {
        Map<FailureReason, Long> sum = new EnumMap<>(FailureReason.class);
        sum.putAll(a);
        b.forEach((reason, count) -> sum.merge(reason, count, Long::sum));
        return Collections.unmodifiableMap(sum);
    }
}
