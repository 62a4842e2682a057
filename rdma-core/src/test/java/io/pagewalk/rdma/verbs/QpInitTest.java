package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a queue pair asks for when nobody says, and what is told of one that asks for too much. */
class QpInitTest {
    /** Every device there is. */
    enum Shipped {
        RXE(KernelModel.LINUX_6_12, 4),
        RXE_5(KernelModel.LINUX_5, 4),
        X722_I40IW(KernelModel.LINUX_5, 3),
        X722_IRDMA(KernelModel.LINUX_6_12, 3),
        E810(KernelModel.LINUX_6_12, 4),
        ONE_SEGMENT(KernelModel.LINUX_6_12, 1);

        private final KernelModel model;
        private final int usualSge;

        Shipped(KernelModel model, int usualSge) {
            this.model = model;
            this.usualSge = usualSge;
        }

        private VerbsDevice addTo(Machine machine) {
            return switch (this) {
                case RXE, RXE_5 -> RxeDevice.add("rdma0", machine, RxeConfig.kernel());
                case X722_I40IW -> adapter(machine, I40iwConfig.x722(Generation.I40IW));
                case X722_IRDMA -> adapter(machine, I40iwConfig.x722(Generation.IRDMA));
                case E810 -> adapter(machine, I40iwConfig.e810());
                case ONE_SEGMENT -> adapter(machine, I40iwConfig.e810().withSegments(1, 1, 0));
            };
        }

        private Machine machine() {
            return Machine.builder()
                    .ramBytes(32L << 20)
                    .chunkBytes(1 << 16)
                    .kernelModel(model)
                    .build();
        }
    }

    private static VerbsDevice adapter(Machine machine, I40iwConfig config) {
        var nic = machine.addDevice(DeviceConfig.named("nic").withMask(-1L));
        return I40iwDevice.add("rdma0", nic, config).value();
    }

    @ParameterizedTest
    @EnumSource
    void everyDeviceTakesTheUsualQueuePairAndTellsOfOneSegmentTooMany(Shipped shipped) {
        try (Machine machine = shipped.machine()) {
            VerbsDevice device = shipped.addTo(machine);
            Pd pd = device.allocPd(0, "test").value();
            Cq cq = device.createCq(Owner.kernel("test"), 16).value();
            QpInit usual = QpInit.of(cq, cq);
            assertThat(usual.maxSge()).isEqualTo(shipped.usualSge);
            assertThat(usual.maxSendWr()).isEqualTo(16);
            assertThat(usual.maxRecvWr()).isEqualTo(16);
            assertThat(usual.excessOver(device.attributes())).isNull();
            Qp qp = device.createQp(pd, usual).value();
            assertThat(qp.init()).isEqualTo(usual);
            assertThat(machine.log().count("ib_create_qp")).isZero();

            int most = device.attributes().maxSge();
            ErrPtr<Qp> refused = device.createQp(pd, usual.withSizes(1, 1, most + 1));
            assertThat(refused.error()).isEqualTo(-Errno.EINVAL);
            assertThat(machine.log().entries())
                    .extracting(KernelLog.Entry::text)
                    .contains("a queue pair in domain of [test] on rdma0 is refused: EINVAL, as it asks for "
                            + (most + 1) + " segments, of at most " + most);
            assertThat(machine.log().warnCount()).isZero();
            assertThat(pd.useCount()).isEqualTo(1);
            assertThat(device.createQp(pd, usual.withSizes(1, 1, most)).isErr()).isFalse();
        }
    }

    @Test
    @SuppressWarnings("NullAway") // null is what is tested
    void aMissingCompletionQueueIsNamed() {
        assertThatNullPointerException().isThrownBy(() -> QpInit.of(null, null)).withMessage("sendCq");
    }

    @Test
    void whatADeviceHasIsNoExcessAndOneMoreIs() {
        try (Machine machine = Shipped.RXE.machine()) {
            VerbsDevice device = Shipped.RXE.addTo(machine);
            Cq cq = device.createCq(Owner.kernel("test"), 16).value();
            DeviceAttributes most = device.attributes();
            QpInit full = QpInit.of(cq, cq)
                    .withSizes(most.maxQpWr(), most.maxQpWr(), most.maxSge())
                    .withInline(most.maxInlineData());
            assertThat(full.excessOver(most)).isNull();
            assertThat(full.withSizes(most.maxQpWr() + 1, 1, 1).excessOver(most))
                    .isEqualTo("1048577 requests, of at most 1048576");
            assertThat(full.withSizes(1, most.maxQpWr() + 1, 1).excessOver(most))
                    .isEqualTo("1048577 receives, of at most 1048576");
            assertThat(full.withSizes(1, 1, most.maxSge() + 1).excessOver(most))
                    .isEqualTo("33 segments, of at most 32");
            assertThat(full.withInline(most.maxInlineData() + 1).excessOver(most))
                    .isEqualTo("513 inline bytes, of at most 512");
            assertThat(full.withSizes(0, 0, 0).withInline(0).excessOver(most)).isNull();
        }
    }
}
