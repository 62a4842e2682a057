package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Each difference between the kernels, by name. */
class KernelModelTest {

    @Test
    void linuxSixTwelveKeepsPinnedPagesSafe() { // rdma:QRK-2, QRK-3, QRK-4
        KernelModel model = KernelModel.LINUX_6_12;
        assertThat(model.refusesLongtermWritesToTrackedFiles()).isTrue();
        assertThat(model.unsharesBeforeReadOnlyPins()).isTrue();
        assertThat(model.keepsPinnedPagesWithTheParent()).isTrue();
        assertThat(model.countsPinsOfTheZeroPage()).isFalse();
    }

    @Test
    void linuxFiveDoesNot() {
        KernelModel model = KernelModel.LINUX_5;
        assertThat(model.refusesLongtermWritesToTrackedFiles()).isFalse();
        assertThat(model.unsharesBeforeReadOnlyPins()).isFalse();
        assertThat(model.keepsPinnedPagesWithTheParent()).isFalse();
        assertThat(model.countsPinsOfTheZeroPage()).isTrue();
    }

    @Test
    void onlyLinuxSixTwelveTransfersWithoutRegions() { // rdma:RW-12, QRK-7
        assertThat(KernelModel.LINUX_6_12.transfersWithoutRegions()).isTrue();
        assertThat(KernelModel.LINUX_5.transfersWithoutRegions()).isFalse();
    }
}
