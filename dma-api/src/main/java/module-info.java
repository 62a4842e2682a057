module io.pagewalk.dma {
    requires org.slf4j;
    requires static org.jspecify;

    exports io.pagewalk.dma;
}
