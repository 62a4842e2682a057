/** The kernel's trace text, read as a stream of events. */
module io.pagewalk.trace {
    requires transitive io.pagewalk.dma;
    requires static transitive org.jspecify;

    exports io.pagewalk.trace;
}
