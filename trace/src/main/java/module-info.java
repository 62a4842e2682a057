/** The kernel's trace text as a stream of events, the workload in it, and its replay on every backend. */
module io.pagewalk.trace {
    requires transitive io.pagewalk.dma;
    requires com.fasterxml.jackson.core;
    requires com.fasterxml.jackson.databind;
    requires HdrHistogram;
    requires static transitive org.jspecify;

    exports io.pagewalk.trace;
    exports io.pagewalk.trace.check;
    exports io.pagewalk.trace.held;
    exports io.pagewalk.trace.predict;
    exports io.pagewalk.trace.replay;
    exports io.pagewalk.trace.workload;
}
