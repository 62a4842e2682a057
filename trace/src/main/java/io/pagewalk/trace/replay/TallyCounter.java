package io.pagewalk.trace.replay;

import io.pagewalk.dma.FailureReason;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** A {@link Tally} in the making. */
final class TallyCounter {
    final Map<FailureReason, Long> failures = new EnumMap<>(FailureReason.class);
    final Map<FailureReason, Long> allocFailures = new EnumMap<>(FailureReason.class);
    long mapsTried;
    long mapsDone;
    long unmaps;
    long bytesMapped;
    long verifiedMaps;
    long mismatchedMaps;
    long recordedFailuresTried;
    long syncs;
    long bytesVerified;
    long mismatchedBytes;
    long faults;
    long staleReads;
    long blockedReads;
    long allocsTried;
    long allocsDone;
    long frees;
    long allocsMismatched;

    void failed(FailureReason reason) {
        failures.merge(reason, 1L, Long::sum);
    }

    void allocFailed(FailureReason reason) {
        allocFailures.merge(reason, 1L, Long::sum);
    }

    /** Copies the counts; what is live is counted by who has the live ones, so that the sum of a tally is a check. */
    Tally snapshot(long stillLive, long allocsStillLive) {
        return new Tally(
                mapsTried,
                mapsDone,
                unmaps,
                copy(failures),
                bytesMapped,
                verifiedMaps,
                mismatchedMaps,
                stillLive,
                recordedFailuresTried,
                syncs,
                bytesVerified,
                mismatchedBytes,
                faults,
                staleReads,
                blockedReads,
                allocsTried,
                allocsDone,
                frees,
                copy(allocFailures),
                allocsMismatched,
                allocsStillLive);
    }

    private static Map<FailureReason, Long> copy(Map<FailureReason, Long> counts) {
        return Collections.unmodifiableMap(new EnumMap<>(counts));
    }
}
