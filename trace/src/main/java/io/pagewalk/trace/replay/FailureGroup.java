package io.pagewalk.trace.replay;

import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.FailureReason;
import java.util.List;

/**
 * Maps of one size that failed for one reason on one backend, with what the backend said at each of those moments.
 *
 * @param reason the cause
 * @param sizeBytes bytes of each of these maps, a list's all together; -1 for sizes beyond those that are kept apart
 * @param count how many failed so
 * @param numbers the cause's numbers, in the order of {@link FailureReason#labels()}
 * @param firstLine line of the trace at which the first of them stands
 * @param firstDevice whose map that was
 * @param first its cause
 */
public record FailureGroup(
        FailureReason reason,
        long sizeBytes,
        long count,
        List<Range> numbers,
        long firstLine,
        String firstDevice,
        DmaFailure first) {
    /**
     * What one number of a cause was, over all failures of a group.
     *
     * @param lowest the lowest, unsigned
     * @param highest the highest, unsigned
     */
    public record Range(long lowest, long highest) {}

    /**
     * Copies the list.
     *
     * @param reason the cause
     * @param sizeBytes bytes of each of these maps
     * @param count how many failed so
     * @param numbers the cause's numbers
     * @param firstLine line of the first of them
     * @param firstDevice whose map that was
     * @param first its cause
     */
    public FailureGroup {
        numbers = List.copyOf(numbers);
    }
}
