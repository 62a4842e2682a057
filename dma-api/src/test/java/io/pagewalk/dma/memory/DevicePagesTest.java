package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Pages of devices and their maps: what dma-core:SGA-4 and DIR-33 ask. */
class DevicePagesTest {
    private static final long PAGE = 0x1000;

    private final DevicePages pages = new DevicePages();
    private final DevicePageMap pmem = DevicePageMap.generic("pmem0");
    private final DevicePageMap bar = DevicePageMap.pciP2pDma("bar4", "nvme0", -0x1000_0000L);

    @Test
    void ordinaryPagesHaveNoMap() {
        assertThat(pages.mapOf(0)).isNull();
        assertThat(pages.mapOf(-1)).isNull();
    }

    @Test
    void everyPageOfARangeHasItsMap() {
        pages.add(PhysRange.ofSize(0x20 * PAGE, 4 * PAGE), bar);
        pages.add(PhysRange.ofSize(0x10 * PAGE, PAGE), pmem);
        pages.add(PhysRange.ofSize(0x30 * PAGE, 2 * PAGE), pmem);
        pages.add(PhysRange.ofSize(0x24 * PAGE, PAGE), pmem);
        pages.add(new PhysRange(-PAGE, -1), bar);

        for (long pfn = 0; pfn < 0x40; pfn++) {
            boolean isBar = pfn >= 0x20 && pfn < 0x24;
            boolean isPmem = pfn == 0x10 || pfn == 0x24 || pfn == 0x30 || pfn == 0x31;
            assertThat(pages.mapOf(pfn)).as("page %x", pfn).isSameAs(isBar ? bar : isPmem ? pmem : null);
        }
        assertThat(pages.mapOf(-PAGE >>> 12)).isSameAs(bar);
        assertThat(pages.mapOf((-PAGE >>> 12) - 1)).isNull();
        assertThat(pages.mapOf(-1L)).isNull();
    }

    @Test
    void pagesBelongToOneMap() {
        pages.add(PhysRange.ofSize(0x20 * PAGE, 4 * PAGE), bar);

        for (long first : new long[] {0x1f, 0x20, 0x22, 0x23}) {
            assertThatThrownBy(() -> pages.add(PhysRange.ofSize(first * PAGE, 2 * PAGE), pmem))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageEndingWith("of pmem0 overlaps pages of bar4");
        }
        assertThatThrownBy(() -> pages.add(PhysRange.ofSize(0, 0x100 * PAGE), pmem))
                .hasMessage("[0x0, 0xfffff] of pmem0 overlaps pages of bar4");
        assertThat(pages.mapOf(0x1f)).isNull();
        assertThat(pages.mapOf(0x24)).isNull();
        pages.add(PhysRange.ofSize(0x1e * PAGE, 2 * PAGE), pmem);
        assertThat(pages.mapOf(0x1f)).isSameAs(pmem);
    }

    @Test
    void onlyWholePagesAreTaken() {
        assertThatThrownBy(() -> pages.add(new PhysRange(0x1001, 0x1fff), pmem))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("[0x1001, 0x1fff] of pmem0 is not whole pages");
        assertThatThrownBy(() -> pages.add(new PhysRange(0x1000, 0x1ffe), pmem))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(pages.mapOf(1)).isNull();
    }

    @Test
    void aMapSaysWhoseMemoryItIs() { // DIR-33
        assertThat(bar.name()).isEqualTo("bar4");
        assertThat(bar.kind()).isEqualTo(DevicePageMap.Kind.PCI_P2PDMA);
        assertThat(bar.providerName()).isEqualTo("nvme0");
        assertThat(bar.busOffset()).isEqualTo(-0x1000_0000L);
        assertThat(bar).hasToString("bar4 of nvme0 at bus offset 0xfffffffff0000000");
        assertThat(pmem.kind()).isEqualTo(DevicePageMap.Kind.GENERIC);
        assertThat(pmem.providerName()).isNull();
        assertThat(pmem.busOffset()).isZero();
        assertThat(pmem).hasToString("pmem0").isNotEqualTo(DevicePageMap.generic("pmem0"));
    }

    @Test
    @SuppressWarnings("NullAway") // hostile on purpose
    void nullsAreRefused() {
        assertThatThrownBy(() -> pages.add(PhysRange.ofSize(0, PAGE), null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> DevicePageMap.generic(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> DevicePageMap.pciP2pDma("x", null, 0)).isInstanceOf(NullPointerException.class);
        assertThat(pages.mapOf(0)).isNull();
    }
}
