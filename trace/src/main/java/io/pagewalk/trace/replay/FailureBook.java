package io.pagewalk.trace.replay;

import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Why maps failed on one backend, by reason and size; bounded however long a trace is. */
final class FailureBook {
    /** Sizes that are kept apart, of each reason; the rest stands together. */
    static final int MOST_SIZES = 200;

    /** Stands for all sizes beyond those. */
    static final long OTHER_SIZES = -1L;

    private static final class Group {
        private final long sizeBytes;
        private final long line;
        private final String device;
        private final DmaFailure first;
        private final List<FailureGroup.Range> numbers = new ArrayList<>();
        private long count;

        private Group(long sizeBytes, long line, String device, DmaFailure first) {
            this.sizeBytes = sizeBytes;
            this.line = line;
            this.device = device;
            this.first = first;
            first.numbers().forEach(number -> numbers.add(new FailureGroup.Range(number, number)));
        }

        private void add(DmaFailure failure) {
            count++;
            for (int i = 0; i < numbers.size(); i++) {
                FailureGroup.Range range = numbers.get(i);
                long number = failure.numbers().get(i);
                if (Addresses.lessThan(number, range.lowest()) || Addresses.lessThan(range.highest(), number)) {
                    numbers.set(
                            i,
                            new FailureGroup.Range(
                                    Addresses.min(range.lowest(), number), Addresses.max(range.highest(), number)));
                }
            }
        }

        private FailureGroup snapshot() {
            return new FailureGroup(first.reason(), sizeBytes, count, numbers, line, device, first);
        }
    }

    private final Map<FailureReason, Map<Long, Group>> groups = new LinkedHashMap<>();

    void add(LiveMapping live, String device, DmaFailure failure) {
        Map<Long, Group> sizes = groups.computeIfAbsent(failure.reason(), reason -> new LinkedHashMap<>());
        boolean apart = sizes.size() < MOST_SIZES || sizes.containsKey(live.sizeBytes);
        sizes.computeIfAbsent(
                        apart ? live.sizeBytes : OTHER_SIZES,
                        size -> new Group(size, live.map.origin().lineNumber(), device, failure))
                .add(failure);
    }

    /** By reason, and in each the commonest first. */
    List<FailureGroup> snapshot() {
        return groups.values().stream()
                .flatMap(sizes -> sizes.values().stream())
                .map(Group::snapshot)
                .sorted(Comparator.comparing(FailureGroup::reason)
                        .thenComparing(FailureGroup::count, Comparator.reverseOrder())
                        .thenComparing(FailureGroup::sizeBytes, Long::compareUnsigned))
                .toList();
    }
}
