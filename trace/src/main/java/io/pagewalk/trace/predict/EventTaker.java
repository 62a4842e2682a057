package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceEvent;

/** Takes the events of a trace one after the other. */
interface EventTaker {
    void accept(TraceEvent event) throws MachineFactsException;

    /** Says that the trace is over. */
    void finish() throws MachineFactsException;
}
