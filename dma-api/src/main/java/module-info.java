/** The driver-facing DMA API, the device-facing bus, the memory under them and the SPI of backends. */
module io.pagewalk.dma {
    requires jdk.jfr;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.pagewalk.dma;
    exports io.pagewalk.dma.debug;
    exports io.pagewalk.dma.events;
    exports io.pagewalk.dma.held;
    exports io.pagewalk.dma.memory;
    exports io.pagewalk.dma.pool;
    exports io.pagewalk.dma.scatterlist;
    exports io.pagewalk.dma.spi;

    uses io.pagewalk.dma.spi.DmaBackendProvider;
}
