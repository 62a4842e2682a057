package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.VerbsWorld;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What random verbs found of the adapter. */
class I40iwMisuseTest {
    private static final int PAGE = VerbsWorld.PAGE;

    private final VerbsWorld world = new VerbsWorld(VerbsWorld.Kind.IRDMA_STRICT, 1);
    private final VerbsDevice device = world.devices.get(0);
    private final I40iwDevice driver = (I40iwDevice) device.provider();

    @AfterEach
    void close() {
        world.close();
    }

    @Test
    @DisplayName("rdma:IRD-8: a re-registration that cannot be is refused before the old one is given up")
    void aRefusedReregistrationChangesNothing() {
        UverbsFile file = UverbsFile.open(device, world.process);
        int pd = file.allocPd();
        long addr = world.memory(4);
        int handle = file.regMr(0, world.process, pd, addr, 3 * PAGE, addr, VerbsWorld.ALL);
        Mr mr = file.mr(handle);
        Process gone = Process.create(world.machine);
        gone.exit();
        try (VerbsWorld other = new VerbsWorld(VerbsWorld.Kind.IRDMA_STRICT, 0)) {
            assertThatThrownBy(() -> rereg(file, 99, world.process, handle, addr))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> rereg(file, 0, other.process, handle, addr))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("is of another machine than dev0");
            assertThatThrownBy(() -> rereg(file, 0, gone, handle, addr)).isInstanceOf(IllegalStateException.class);
        }
        assertThat(mr.pinnedPages()).isEqualTo(3);
        assertThat(((I40iwMr) mr).isRegistered()).isTrue();
        assertThat(world.pinsHeld()).isEqualTo(3);
        assertThat(rereg(file, 0, world.process, handle, addr)).isZero();
        assertThat(mr.pinnedPages()).isEqualTo(2);
        file.close(world.process);
        assertThat(VerbsWorld.held(device)).containsOnly(0L);
    }

    private static int rereg(UverbsFile file, int cpu, Process process, int handle, long addr) {
        return file.reregMr(cpu, process, handle, ReregFlags.TRANS, addr, 2 * PAGE, addr, 0, 0);
    }

    @Test
    @DisplayName("a closed adapter has no page buffers: lists cannot be had, mapped or put to use, and go nevertheless")
    void aClosedAdapterHasNoPageBuffers() {
        Pd pd = device.allocPd(0, "test").value();
        Cq cq = device.createCq(Owner.kernel("test"), 8).value();
        RcQp qp = (RcQp) device.createQp(pd, QpInit.of(cq, cq)).value();
        Link.establish(qp, qp, QpAttributes.usual());
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 4).value();
        var list = world.mappedList(device, 3);
        assertThat(FastReg.mapMrSg(fast, list, list.nents(), 0, PAGE)).isEqualTo(list.nents());
        driver.close();
        driver.close();
        assertThat(FastReg.mapMrSg(fast, list, list.nents(), 0, PAGE)).isNegative();
        assertThat(FastReg.allocMr(pd, MrType.MEM_REG, 4).error()).isEqualTo(-Errno.ENOMEM);
        assertThat(FastReg.allocMr(pd, MrType.MEM_REG, 600).error()).isEqualTo(-Errno.ENOMEM);
        assertThat(qp.postSend(new SendWr().regMr(1, fast, fast.lkey(), 1))).isZero();
        assertThat(cq.size()).isEqualTo(1);
        assertThat(device.destroyQp(qp)).isZero();
        assertThat(device.deregMr(fast, 0)).isZero();
        assertThat(device.deallocPd(pd, 0)).isZero();
        assertThat(List.of(driver.stags().inUse(), device.restrack().holdings().size()))
                .containsExactly(0, 1);
    }

    @Test
    void whatIsNotThereIsOutOfBounds() {
        assertThatThrownBy(() -> driver.pbles().chunkGranules(1)).isExactlyInstanceOf(IndexOutOfBoundsException.class);
        assertThat(driver.pbles().chunkGranules(0)).isPositive();
        assertThatThrownBy(() -> new PbleAllocation().leafIndex(0))
                .isExactlyInstanceOf(IndexOutOfBoundsException.class);
    }
}
