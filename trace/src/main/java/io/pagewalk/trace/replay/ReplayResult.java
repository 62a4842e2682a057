package io.pagewalk.trace.replay;

import io.pagewalk.trace.TraceSummary;
import io.pagewalk.trace.workload.Anomaly;
import java.util.List;
import java.util.Map;

/**
 * What came out of a replay. Its lists and maps are unmodifiable.
 *
 * @param traceName name of the trace
 * @param summary what the reader saw
 * @param content whether there was anything to replay
 * @param touch how much of each buffer was compared
 * @param cpus CPUs of the machines
 * @param timerCostNanos what two readings of the timer cost, which is in every time; 0 when not timed
 * @param anomalies what did not fit, in the order of {@link Anomaly}; only what was met
 * @param devices the devices, in the order of first appearance
 * @param backends the backends, in the order of the replay
 */
public record ReplayResult(
        String traceName,
        TraceSummary summary,
        Content content,
        Touch touch,
        int cpus,
        long timerCostNanos,
        Map<Anomaly, Long> anomalies,
        List<DeviceInfo> devices,
        List<BackendResult> backends) {

    /** Whether a trace has what a replay needs. */
    public enum Content {
        /** There are DMA events. */
        REPLAYED("replayed"),
        /** Only {@code iommu:*} events, which name no device and no call. */
        IOMMU_EVENTS_ONLY("trace has iommu events only; nothing to replay"),
        /** Other events than {@code dma:*}, such as bounces alone. */
        NO_DMA_EVENTS("trace has no dma events; nothing to replay");

        private final String label;

        Content(String label) {
            this.label = label;
        }

        /**
         * Says it in words.
         *
         * @return a short phrase
         */
        public String label() {
            return label;
        }
    }

    /**
     * Whether all was right on every backend.
     *
     * @return false when one of them is not {@link BackendResult#ok()}
     */
    public boolean ok() {
        return backends.stream().allMatch(BackendResult::ok);
    }
}
