/**
 * The property kit: jqwik arbitraries, laws that every DMA backend keeps, and the validators that run after each try.
 */
module io.pagewalk.kit {
    requires transitive io.pagewalk.dma;
    requires transitive net.jqwik.api;
    requires transitive org.junit.jupiter.api;
    requires org.assertj.core;
    requires static transitive org.jspecify;

    exports io.pagewalk.kit;
}
