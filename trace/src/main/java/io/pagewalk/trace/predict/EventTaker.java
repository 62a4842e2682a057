package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceEvent;
import java.io.IOException;

/** Takes the events of a trace one after the other. */
interface EventTaker {
    void accept(TraceEvent event) throws IOException;

    /** Says that the trace is over. */
    void finish() throws IOException;
}
