package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class KernelLayoutTest {

    private final KernelLayout layout = KernelLayout.x86_64();

    @Test
    @DisplayName("rdma:DMA-6")
    void theDirectMapShowsPhysicalMemoryAtItsBase() {
        assertThat(layout.physToVirt(0)).isEqualTo(0xffff_8880_0000_0000L);
        assertThat(layout.physToVirt(0x1234_5678)).isEqualTo(0xffff_8880_1234_5678L);
        assertThat(layout.virtToPhys(0xffff_8880_1234_5678L)).isEqualTo(0x1234_5678);
        assertThat(layout.isDirectMap(layout.physToVirt(0))).isTrue();
        assertThat(layout.isDirectMap(layout.physToVirt(0) - 1)).isFalse();
        assertThat(layout.isDirectMap(layout.directMap().last())).isTrue();
        assertThat(layout.isDirectMap(layout.directMap().last() + 1)).isFalse();
    }

    @Test
    @DisplayName("dma-core:FE-3")
    void vmallocIsToldFromTheDirectMap() {
        assertThat(layout.isVmalloc(0xffff_c900_0000_0000L)).isTrue();
        assertThat(layout.isVmalloc(0xffff_e8ff_ffff_ffffL)).isTrue();
        assertThat(layout.isVmalloc(0xffff_c8ff_ffff_ffffL)).isFalse();
        assertThat(layout.isVmalloc(0xffff_e900_0000_0000L)).isFalse();
        assertThat(layout.isDirectMap(0xffff_c900_0000_0000L)).isFalse();
    }

    @Test
    void theKernelImageHasItsOwnRange() {
        assertThat(layout.isText(0xffff_ffff_8000_0000L)).isTrue();
        assertThat(layout.isText(0xffff_ffff_7fff_ffffL)).isFalse();
        assertThat(layout.isText(layout.text().last())).isTrue();
        assertThat(layout.isText(-1L)).isFalse();
        assertThat(layout.isVmalloc(layout.vmalloc().first())).isTrue();
    }

    @Test
    void aUserPointerIsNothingOfTheKernel() {
        long user = 0x7fff_ffff_f000L;
        assertThat(layout.isDirectMap(user) || layout.isVmalloc(user) || layout.isText(user))
                .isFalse();
    }

    @Test
    void rangesOfOnesOwnMustNotOverlap() {
        VirtRange low = new VirtRange(0x1000, 0x1fff);
        VirtRange middle = new VirtRange(0x2000, 0x2fff);
        VirtRange high = new VirtRange(0x3000, 0x3fff);

        assertThat(KernelLayout.of(low, middle, high).physToVirt(4)).isEqualTo(0x1004);
        assertThat(KernelLayout.of(low, middle, high).toString())
                .isEqualTo("direct map [0x1000, 0x1fff], vmalloc [0x2000, 0x2fff], text [0x3000, 0x3fff]");
        assertThatThrownBy(() -> KernelLayout.of(low, new VirtRange(0x1fff, 0x2fff), high))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("direct map [0x1000, 0x1fff] and vmalloc [0x1fff, 0x2fff] overlap");
        assertThatThrownBy(() -> KernelLayout.of(low, middle, new VirtRange(0, -1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new VirtRange(2, 1)).hasMessageContaining("0x2");
    }
}
