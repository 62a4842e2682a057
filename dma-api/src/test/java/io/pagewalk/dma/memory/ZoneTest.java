package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ZoneTest {

    @Test
    void zonesEndAt16MiBAndAt4GiB() {
        assertThat(Zone.of(0)).isEqualTo(Zone.DMA);
        assertThat(Zone.of(0xff_ffff)).isEqualTo(Zone.DMA);
        assertThat(Zone.of(0x100_0000)).isEqualTo(Zone.DMA32);
        assertThat(Zone.of(0xffff_ffffL)).isEqualTo(Zone.DMA32);
        assertThat(Zone.of(0x1_0000_0000L)).isEqualTo(Zone.NORMAL);
        assertThat(Zone.of(-1L)).isEqualTo(Zone.NORMAL);
    }

    @Test
    void theLastAddressOfAZoneIsInIt() {
        for (Zone zone : Zone.values()) {
            assertThat(Zone.of(zone.lastAddress())).isEqualTo(zone);
        }
    }
}
