package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.VerbsWorld;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Page sizes of fast regions: one rule for all devices. */
class RegionPageSizeTest {
    private static final int PAGE = VerbsWorld.PAGE;

    @ParameterizedTest
    @EnumSource
    @DisplayName(
            "rdma:FR-4, RXE-23: a size that is no power of two is -EINVAL; the region has it, and is else as before")
    void sizesThatAreNoPowersOfTwoAreRefusedAlike(VerbsWorld.Kind kind) {
        try (VerbsWorld world = new VerbsWorld(kind, 1)) {
            VerbsDevice device = world.devices.get(0);
            Pd pd = device.allocPd(0, "test").value();
            Mr mr = FastReg.allocMr(pd, MrType.MEM_REG, 4).value();
            SgTable list = world.mappedList(device, 2);
            assertThat(FastReg.mapMrSg(mr, list, 1, 0x10, PAGE)).isEqualTo(1);
            long iova = mr.iova();
            assertThat(iova).isEqualTo(list.dmaAddr(0) + 0x10);
            long length = mr.lengthBytes();
            for (int size : new int[] {0, 3, 5000, 3 * PAGE, 7 * PAGE, 0x8000_1000, -1, -PAGE}) {
                assertThat(FastReg.mapMrSg(mr, list, list.nents(), 0x20, size))
                        .as("0x%x", size)
                        .isEqualTo(-Errno.EINVAL);
                assertThat(mr.pageBytes()).isEqualTo(size);
                assertThat(mr.iova()).isEqualTo(iova);
                assertThat(mr.lengthBytes()).isEqualTo(length);
                assertThat(mr.sgOffset()).isZero();
            }
            for (int shift = 9; shift < 32; shift++) {
                int size = 1 << shift;
                assertThat(FastReg.mapMrSg(mr, list, 1, 0, size))
                        .as("0x%x", size)
                        .isNotEqualTo(-Errno.EINVAL);
                assertThat(mr.pageBytes()).isEqualTo(size);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("rdma:FR-5: after such a refusal addresses count from 0 all the same, when that was asked for")
    void aRefusedSizeLeavesTheAddressAtZeroWhenItWasAskedFor(VerbsWorld.Kind kind) {
        try (VerbsWorld world = new VerbsWorld(kind, 1)) {
            VerbsDevice device = world.devices.get(0);
            Mr mr = FastReg.allocMr(device.allocPd(0, "test").value(), MrType.MEM_REG, 4)
                    .value();
            SgTable list = world.mappedList(device, 1);
            assertThat(FastReg.mapMrSg(mr, list, 1, 0, PAGE)).isEqualTo(1);
            assertThat(mr.iova()).isEqualTo(list.dmaAddr(0)).isNotZero();
            assertThat(FastReg.mapMrSgZbva(mr, list, 1, 0, 3 * PAGE)).isEqualTo(-Errno.EINVAL);
            assertThat(mr.iova()).isZero();
        }
    }
}
