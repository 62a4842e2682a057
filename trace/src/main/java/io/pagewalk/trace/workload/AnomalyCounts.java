package io.pagewalk.trace.workload;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** How often each {@link Anomaly} was met. For one thread. */
public final class AnomalyCounts {
    private final long[] counts = new long[Anomaly.values().length];

    /** Makes counts of zero. */
    public AnomalyCounts() {}

    /**
     * Counts one more.
     *
     * @param anomaly what was met
     */
    public void add(Anomaly anomaly) {
        add(anomaly, 1);
    }

    void add(Anomaly anomaly, long times) {
        counts[anomaly.ordinal()] += times;
    }

    /**
     * How often one was met.
     *
     * @param anomaly which
     * @return the count
     */
    public long of(Anomaly anomaly) {
        return counts[anomaly.ordinal()];
    }

    /**
     * Copies what was met.
     *
     * @return the counts that are not zero, in the order of {@link Anomaly}; unmodifiable
     */
    public Map<Anomaly, Long> snapshot() {
        Map<Anomaly, Long> met = new EnumMap<>(Anomaly.class);
        for (Anomaly anomaly : Anomaly.values()) {
            if (of(anomaly) != 0) {
                met.put(anomaly, of(anomaly));
            }
        }
        return Collections.unmodifiableMap(met);
    }
}
