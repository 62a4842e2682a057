package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import org.junit.jupiter.api.Test;

class VtdDriverTest {
    private static final long PAGE = VtdWorld.PAGE;

    @Test
    void aMappedPageIsReachedAndAnUnmappedOneIsNot() {
        VtdWorld world = VtdWorld.create();

        assertThat(world.map(0x5000, 0x800_0000, PAGE, 2)).isZero();

        assertThat(world.translate(0x5123, Access.READ)).isEqualTo(0x800_0123);
        assertThat(world.translate(0x6fff, Access.WRITE)).isEqualTo(0x800_1fff);
        assertThat(world.translate(0x7000, Access.READ)).isEqualTo(BusPort.fault(6));
        assertThat(world.unmap(0x5000, 2 * PAGE)).isEqualTo(2 * PAGE);
        assertThat(world.translate(0x5123, Access.WRITE)).isEqualTo(BusPort.fault(5));
        assertThat(world.metric(Metric.TRANSLATION_FAULTS)).isEqualTo(2);
        assertThat(world.violations()).isEmpty();
    }
}
