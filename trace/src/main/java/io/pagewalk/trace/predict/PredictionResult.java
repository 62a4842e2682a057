package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceSummary;
import java.util.Map;

public record PredictionResult(
        String traceName,
        TraceSummary summary,
        RecordedMachine machine,
        Figures inLineOrder,
        Map<NotJudged, Long> notJudged) {}
