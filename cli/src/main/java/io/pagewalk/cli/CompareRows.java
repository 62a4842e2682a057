package io.pagewalk.cli;

import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.trace.replay.BackendResult;
import io.pagewalk.trace.replay.Latency;
import io.pagewalk.trace.replay.Tally;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** The rows of the comparison: what each counts, in which group it stands, and how to get it. */
final class CompareRows {
    /** Stands where a number makes no sense for a backend. */
    static final String NONE = "-";

    /**
     * A row.
     *
     * @param label its name
     * @param meaning one phrase for the help
     * @param cell its text for a backend
     */
    record Row(String label, String meaning, Function<BackendResult, String> cell) {}

    private CompareRows() {}

    /** What was called and what became of it. */
    static List<Row> calls(Set<FailureReason> reasons, Function<BackendResult, Tally> of) {
        List<Row> rows = new ArrayList<>();
        rows.add(count("maps tried", "calls of map: a page or a list counts as one", of, Tally::mapsTried));
        rows.add(count("maps", "calls of map that gave an address", of, Tally::mapsDone));
        rows.add(count("unmaps", "calls of unmap", of, Tally::unmaps));
        rows.add(count("failed", "calls of map that failed, by reason below", of, Tally::failed));
        for (FailureReason reason : reasons) {
            rows.add(count(
                    "  " + reason,
                    "maps that failed so; what helps: " + reason.knob(),
                    of,
                    t -> t.failuresByReason().getOrDefault(reason, 0L)));
        }
        rows.add(count(
                "failed when recorded",
                "maps tried that had failed on the recording machine",
                of,
                Tally::recordedFailuresTried));
        rows.add(count("syncs", "calls of sync for the CPU or the device", of, Tally::syncs));
        rows.add(count("still live", "mappings that the trace does not end", of, Tally::stillLive));
        rows.add(bytes("bytes mapped", "bytes of all maps that gave an address", of, Tally::bytesMapped));
        rows.add(count("coherent allocs", "coherent allocations, apart from maps", of, Tally::allocsTried));
        rows.add(count("  failed", "coherent allocations that gave no memory", of, Tally::allocsFailed));
        rows.add(
                count("  still live", "coherent allocations that the trace does not free", of, Tally::allocsStillLive));
        return rows;
    }

    /** The reasons for which maps failed on any backend. */
    static Set<FailureReason> reasons(List<BackendResult> backends, Function<BackendResult, Tally> of) {
        Set<FailureReason> reasons = EnumSet.noneOf(FailureReason.class);
        backends.forEach(b -> reasons.addAll(of.apply(b).failuresByReason().keySet()));
        return reasons;
    }

    /** Whether the bytes were right, and what a device still reached after the unmap. */
    static List<Row> data(Function<BackendResult, Tally> of) {
        return List.of(
                count("verified", "mappings whose compared bytes were all right", of, Tally::verifiedMaps),
                count(
                        "mismatched",
                        "mappings with a wrong byte, or a fault while they were live",
                        of,
                        Tally::mismatchedMaps),
                bytes("bytes verified", "bytes that device and CPU compared and found right", of, Tally::bytesVerified),
                count("bytes mismatched", "bytes compared and wrong, or not reached", of, Tally::mismatchedBytes),
                count(
                        "coherent mismatched",
                        "coherent allocations in which both sides did not see the same",
                        of,
                        Tally::allocsMismatched),
                count(
                        "faults while live",
                        "device accesses to live mappings that did not get through",
                        of,
                        Tally::faults),
                count(
                        "stale accesses",
                        "sampled device reads after an unmap that still got through",
                        of,
                        Tally::staleReads),
                count(
                        "blocked accesses",
                        "sampled device reads after an unmap that were blocked",
                        of,
                        Tally::blockedReads));
    }

    /** What the backend counted itself: those metrics that one of the backends reports. */
    static List<Row> metrics(List<BackendResult> backends) {
        List<Row> rows = new ArrayList<>();
        for (Metric metric : Metric.values()) {
            if (backends.stream().anyMatch(b -> b.metrics().containsKey(metric))) {
                rows.add(metric(metric));
            }
            if (metric == Metric.IOTLB_HITS && rows.stream().anyMatch(r -> r.label.equals(metric.label()))) {
                rows.add(hitRate());
            }
        }
        return rows;
    }

    private static Row metric(Metric metric) {
        boolean isBytes = metric.name().contains("BYTES");
        return new Row(metric.label(), metric.meaning(), b -> {
            @Nullable Long value = b.metrics().get(metric);
            return value == null ? NONE : isBytes ? bytes(value) : count(value);
        });
    }

    private static Row hitRate() {
        return new Row("IOTLB hit rate", "hits in a hundred lookups", b -> {
            long lookups = b.metrics().getOrDefault(Metric.IOTLB_LOOKUPS, 0L);
            return lookups == 0
                    ? NONE
                    : String.format(
                            Locale.ROOT, "%.1f %%", 100.0 * b.metrics().getOrDefault(Metric.IOTLB_HITS, 0L) / lookups);
        });
    }

    /** How long the calls took on this host. */
    static List<Row> times() {
        return List.of(
                time(
                        "map median",
                        "half of the map calls took no longer, in nanoseconds",
                        BackendResult::mapTime,
                        Latency::medianNanos),
                time("map p99", "99 in 100 map calls took no longer", BackendResult::mapTime, Latency::p99Nanos),
                time(
                        "unmap median",
                        "half of the unmap calls took no longer",
                        BackendResult::unmapTime,
                        Latency::medianNanos),
                time("unmap p99", "99 in 100 unmap calls took no longer", BackendResult::unmapTime, Latency::p99Nanos));
    }

    private static Row time(
            String label,
            String meaning,
            Function<BackendResult, @Nullable Latency> latency,
            ToLongFunction<Latency> figure) {
        return new Row(label, meaning, b -> {
            @Nullable Latency measured = latency.apply(b);
            return measured == null || measured.count() == 0 ? NONE : count(figure.applyAsLong(measured)) + " ns";
        });
    }

    private static Row count(
            String label, String meaning, Function<BackendResult, Tally> of, ToLongFunction<Tally> figure) {
        return new Row(label, meaning, b -> count(figure.applyAsLong(of.apply(b))));
    }

    private static Row bytes(
            String label, String meaning, Function<BackendResult, Tally> of, ToLongFunction<Tally> figure) {
        return new Row(label, meaning, b -> bytes(figure.applyAsLong(of.apply(b))));
    }

    static String count(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    /** Bytes in the largest unit that keeps three digits before the point. */
    static String bytes(long value) {
        if (value < 1024) {
            return value + " B";
        }
        int step = Math.min((63 - Long.numberOfLeadingZeros(value)) / 10, 4);
        return String.format(Locale.ROOT, "%.1f %ciB", value / (double) (1L << (10 * step)), "KMGT".charAt(step - 1));
    }

    /** Every row with its meaning, for the help: reasons and metrics in full. */
    static List<Row> all() {
        Function<BackendResult, Tally> total = BackendResult::total;
        List<Row> rows = new ArrayList<>(calls(EnumSet.allOf(FailureReason.class), total));
        rows.addAll(data(total));
        for (Metric metric : Metric.values()) {
            rows.add(metric(metric));
        }
        rows.add(hitRate());
        rows.addAll(times());
        return rows;
    }
}
