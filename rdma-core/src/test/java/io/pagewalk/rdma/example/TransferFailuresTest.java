package io.pagewalk.rdma.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** From the queue pair to the prepared transfer: whichever step fails, nothing stays behind. */
class TransferFailuresTest {
    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy"})
    @DisplayName(
            "rdma:CONV-6, RW-1, RW-4, RW-11, IRD-1: the n-th failure, for every n, leaves pools, PBLEs, stags, IOVAs and slots")
    void whicheverStepFailsNothingIsLeft(String backend) {
        try (Machine machine = Machine.builder()
                .ramBytes(128L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .build()) {
            VerbsDevice device = I40iwDevice.add(
                            "i40iw0",
                            machine.addDevice(DeviceConfig.named("nic").withMask(-1L)),
                            I40iwConfig.x722(Generation.I40IW))
                    .value();
            I40iwDevice driver = (I40iwDevice) device.provider();
            Pd pd = device.allocPd(0, "target").value();
            Cq cq = device.createCq(Owner.kernel("target"), 16).value();
            SgTable sg = new SgTable(3);
            for (int i = 0; i < 3; i++) {
                sg.add(machine.pages().allocPages(Zone.NORMAL, 1), 4096);
            }
            Set<String> failed = new TreeSet<>();
            String failedAt;
            int n = 0;
            do {
                machine.failures().failNth(++n);
                int result = run(device, pd, cq, sg);
                failedAt = machine.failures().failedAt();
                machine.failures().disarm();
                if (result < 0) {
                    failed.add(String.valueOf(failedAt));
                    assertThat(result).isIn(-Errno.ENOMEM, -Errno.EIO);
                }
                String when = backend + " step " + n + " at " + failedAt;
                assertThat(driver.stags().inUse()).as(when).isZero();
                assertThat(driver.pbles().allocatedPbles())
                        .as(when)
                        .isEqualTo(driver.pbles().freedPbles());
                assertThat(driver.commands().taken()).as(when).isZero();
                assertThat(pd.useCount()).as(when).isZero();
                assertThat(cq.useCount()).as(when).isZero();
            } while (failedAt != null);

            assertThat(failed)
                    .contains("i40iw.mr", "i40iw.cqp_request", "i40iw.cqp_command", "i40iw.qp", "rdma_rw.regs");
            assertThat(failed.contains("swiotlb.slots")).isEqualTo(backend.equals("swiotlb"));
            assertThat(failed.contains("iommu.iova")).isEqualTo(backend.startsWith("iommu"));
            assertThat(machine.log().warnCount()).isZero();
            driver.close();
            List<String> violations = new ArrayList<>();
            machine.quiesce();
            machine.checkStructure(violations::add);
            machine.checkIdle(violations::add);
            assertThat(violations).isEmpty();
        }
    }

    /** A queue pair for two contexts, and one of them prepared: the first errno, or 0. */
    private static int run(VerbsDevice device, Pd pd, Cq cq, SgTable sg) {
        ErrPtr<Qp> made =
                device.createQp(pd, QpInit.of(cq, cq).withSizes(8, 1, 3).with(RwInit.of(2)));
        if (made.isErr()) {
            return made.error();
        }
        Qp qp = made.value();
        RwContext context = new RwContext(device);
        int places = context.init(qp, 0, 1, sg, 0, 0x1000, 5, DmaDirection.FROM_DEVICE);
        assertThat(qp.mrsUsed()).isEqualTo(places < 0 ? 0 : 1);
        // What fails while it is given back is lost, as in the kernel (rdma:POOL-5).
        device.machine().failures().disarm();
        if (places >= 0) {
            context.destroy(qp, 0, sg, DmaDirection.FROM_DEVICE);
        }
        assertThat(device.destroyQp(qp)).isZero();
        return Math.min(places, 0);
    }
}
