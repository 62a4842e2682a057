package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceHeader;
import java.util.EnumMap;
import java.util.Map;

/** Counts what comes out, and tells of what does not. */
final class Score {
    private final Miss.Order order;
    private final PredictionListener listener;
    private final Map<AddressKind, Long> judged = new EnumMap<>(AddressKind.class);
    private final Map<AddressKind, Long> predicted = new EnumMap<>(AddressKind.class);

    Score(Miss.Order order, PredictionListener listener) {
        this.order = order;
        this.listener = listener;
    }

    /** Judges one address; true when it came out. */
    boolean judge(AddressKind kind, TraceHeader header, String device, long recordedAddr, long predictedAddr) {
        return judge(kind, header, device, recordedAddr, predictedAddr, "");
    }

    boolean judge(
            AddressKind kind, TraceHeader header, String device, long recordedAddr, long predictedAddr, String remark) {
        judged.merge(kind, 1L, Long::sum);
        boolean right = recordedAddr == predictedAddr && remark.isEmpty();
        if (right) {
            predicted.merge(kind, 1L, Long::sum);
        } else {
            listener.notPredicted(new Miss(
                    order,
                    header.lineNumber(),
                    Call.taskOf(header),
                    header.cpu(),
                    device,
                    kind,
                    recordedAddr,
                    predictedAddr,
                    remark));
        }
        return right;
    }

    Figures figures() {
        return new Figures(judged, predicted);
    }
}
