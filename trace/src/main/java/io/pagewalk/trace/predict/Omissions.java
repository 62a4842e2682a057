package io.pagewalk.trace.predict;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** Counts what is not judged. */
final class Omissions {
    private final Map<NotJudged, Long> counts = new EnumMap<>(NotJudged.class);

    void add(NotJudged what) {
        add(what, 1);
    }

    void add(NotJudged what, long count) {
        if (count != 0) {
            counts.merge(what, count, Long::sum);
        }
    }

    Map<NotJudged, Long> snapshot() {
        return Collections.unmodifiableMap(new EnumMap<>(counts));
    }
}
