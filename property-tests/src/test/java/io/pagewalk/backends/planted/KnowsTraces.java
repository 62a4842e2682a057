package io.pagewalk.backends.planted;

import io.pagewalk.trace.TraceFormat;

final class KnowsTraces {
    TraceFormat[] formats() {
        return TraceFormat.values();
    }
}
