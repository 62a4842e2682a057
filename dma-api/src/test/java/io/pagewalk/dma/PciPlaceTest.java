package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which ids a device's requests carry, and what isolates it (iommu:GRP-1, CTX-3). */
class PciPlaceTest {
    private static final PciBridge ROOT_PORT = PciBridge.port(0x08, true);

    @Test
    void aDeviceBelowPortsKeepsItsId() {
        PciPlace place = PciPlace.below(PciBridge.port(0x100, true).below(ROOT_PORT));
        assertThat(place.requesterIds(0x210)).containsExactly(0x210);
        assertThat(place.carriedId(0x210)).isEqualTo(0x210);
        assertThat(PciPlace.ALONE.requesterIds(0)).containsExactly(0);
    }

    @Test
    @DisplayName("requests from conventional PCI carry device 0 of the bus below the bridge, or the bridge's own id")
    void bridgesToConventionalPciTakeRequestsOver() {
        PciBridge toPci = PciBridge.toConventional(0x100, 2).below(ROOT_PORT);
        assertThat(PciPlace.below(toPci).requesterIds(0x210)).containsExactly(0x210, 0x200);
        assertThat(PciPlace.below(toPci).carriedId(0x210)).isEqualTo(0x200);
        PciPlace deeper = PciPlace.below(PciBridge.conventional(0x218).below(toPci));
        assertThat(deeper.requesterIds(0x310)).containsExactly(0x310, 0x218, 0x200);
        assertThat(deeper.carriedId(0x310)).isEqualTo(0x200);
        assertThat(PciPlace.below(PciBridge.conventional(0xf0)).carriedId(0x310))
                .isEqualTo(0xf0);
    }

    @Test
    void idsOfTheFunctionItselfComeAfterItsOwnAndOnce() {
        PciPlace place = PciPlace.below(PciBridge.toConventional(0x100, 2)).withAliases(0x211, 0x200);
        assertThat(place.requesterIds(0x210)).containsExactly(0x210, 0x211, 0x200);
        assertThat(place.isolates()).isTrue();
        assertThat(place.notIsolated()).isEqualTo(new PciPlace(place.bridge(), false, place.aliases()));
    }

    @Test
    void aPathIsIsolatedWhenEveryBridgeOnItIs() {
        assertThat(ROOT_PORT.isIsolatedToRoot()).isTrue();
        assertThat(PciBridge.port(0x100, true).below(ROOT_PORT).isIsolatedToRoot())
                .isTrue();
        assertThat(PciBridge.port(0x100, false).below(ROOT_PORT).isIsolatedToRoot())
                .isFalse();
        assertThat(PciBridge.port(0x100, true).below(PciBridge.port(8, false)).isIsolatedToRoot())
                .isFalse();
        assertThat(PciBridge.conventional(8).isolates()).isFalse();
        assertThat(PciBridge.toConventional(8, 1).isolates()).isFalse();
    }

    @Test
    void idsAreSixteenBits() {
        assertThatThrownBy(() -> PciBridge.port(0x1_0000, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("requester id 65536 of a bridge is not 16-bit");
        assertThatThrownBy(() -> PciBridge.port(-1, true)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> PciBridge.toConventional(8, 256)).hasMessage("alias 65536 of a bridge is not 16-bit");
        assertThatThrownBy(() -> PciBridge.toConventional(8, -1)).hasMessage("alias -256 of a bridge is not 16-bit");
        assertThatThrownBy(() -> PciPlace.ALONE.withAliases(0x1_0000))
                .hasMessage("alias 65536 of a device is not 16-bit");
        assertThatThrownBy(() -> PciPlace.ALONE.withAliases(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThat(new PciBridge(0xffff, 0xffff, false, null).alias()).isEqualTo(0xffff);
    }
}
