/** Golden vectors of a real kernel, asked of the library and compared field by field. */
module io.pagewalk.conformance {
    requires io.pagewalk.backends;
    requires io.pagewalk.dma;
    requires io.pagewalk.rdma;
    requires com.fasterxml.jackson.core;
    requires com.fasterxml.jackson.databind;
    requires static transitive org.jspecify;

    exports io.pagewalk.conformance;
}
