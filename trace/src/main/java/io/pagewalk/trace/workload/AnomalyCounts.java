package io.pagewalk.trace.workload;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** How often each {@link Anomaly} was met. For one thread. */
public final class AnomalyCounts {
    private final Map<Anomaly, Long> counts = new EnumMap<>(Anomaly.class);

    /** Makes counts of zero. */
    public AnomalyCounts() {}

    /**
     * Counts one more.
     *
     * @param anomaly what was met
     */
    public void add(Anomaly anomaly) {
        counts.merge(anomaly, 1L, Long::sum);
    }

    /**
     * How often one was met.
     *
     * @param anomaly which
     * @return the count
     */
    public long of(Anomaly anomaly) {
        return counts.getOrDefault(anomaly, 0L);
    }

    /**
     * Copies what was met.
     *
     * @return the counts that are not zero, in the order of {@link Anomaly}; unmodifiable
     */
    public Map<Anomaly, Long> snapshot() {
        return Collections.unmodifiableMap(new EnumMap<>(counts));
    }
}
