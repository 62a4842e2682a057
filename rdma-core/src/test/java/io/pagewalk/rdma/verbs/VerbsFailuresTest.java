package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.VerbsWorld;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Everything that a program of verbs could run out of, one after the other: counters and pins return to their start.
 */
class VerbsFailuresTest {
    private static final int PAGE = VerbsWorld.PAGE;
    private static final int ALL = VerbsWorld.ALL;

    /** What was made, to be given back the latest first. */
    private final Deque<Runnable> made = new ArrayDeque<>();

    private final Set<String> failed = new TreeSet<>();

    @ParameterizedTest
    @EnumSource(VerbsWorld.Kind.class)
    @DisplayName(
            "rdma:CONV-6, PD-1, MR-4, UV-1, UV-3, RXE-2, RXE-15, IRD-1, IRD-6: the n-th failure, for every n, leaves nothing behind")
    void countersReturnWhicheverStepFails(VerbsWorld.Kind kind) {
        try (VerbsWorld world = new VerbsWorld(kind, 1)) {
            VerbsDevice device = world.devices.get(0);
            SgTable list = world.list(3);
            long addr = world.memory(5);
            String failedAt;
            int n = 0;
            do {
                world.machine.failures().failNth(++n);
                run(world, device, list, addr);
                failedAt = world.machine.failures().failedAt();
                world.machine.failures().disarm();
                made.forEach(Runnable::run);
                made.clear();
                String when = kind + " step " + n + " at " + failedAt;
                assertThat(VerbsWorld.held(device)).as(when).containsOnly(0L);
                assertThat(world.pinsHeld()).as(when).isZero();
                assertThat(world.process.addressSpace().pinnedVm()).as(when).isZero();
                failed.add(String.valueOf(failedAt));
            } while (failedAt != null);

            assertThat(n).isGreaterThan(10);
            assertThat(failed).contains("ib.pd", "ib.cq", "umem.struct", "umem.page_list", "sg.chunk");
            assertThat(failed).contains(kind.isRxe() ? "rxe.mr_pages" : "i40iw.cqp_command");
            assertThat(failed).contains(kind.isRxe() ? "rxe.qp" : "i40iw.qp");
            assertThat(failed.contains("rxe.mw")).isEqualTo(kind.isRxe() && kind != VerbsWorld.Kind.RXE_5);
            assertThat(failed.contains("swiotlb.slots")).isEqualTo(kind == VerbsWorld.Kind.IRDMA_SWIOTLB);
            assertThat(failed.contains("iommu.iova"))
                    .isEqualTo(kind == VerbsWorld.Kind.I40IW_LAZY || kind == VerbsWorld.Kind.IRDMA_STRICT);
            assertThat(world.machine.log().warnCount()).isZero();
            assertThat(world.leftOver()).isEmpty();
        }
    }

    /** A little of everything; what could not be made is gone without. */
    private void run(VerbsWorld world, VerbsDevice device, SgTable list, long addr) {
        int error = device.ibDevice().dma().mapSgTable(list, DmaDirection.BIDIRECTIONAL, 0);
        if (error == 0) {
            made.addFirst(() -> device.ibDevice().dma().unmapSgTable(list, DmaDirection.BIDIRECTIONAL, 0));
        }
        requireOutOfMemory(error);
        ofTheKernel(world, device, list, addr, error == 0);
        ofAProcess(world, device, addr);
    }

    private void ofTheKernel(VerbsWorld world, VerbsDevice device, SgTable list, long addr, boolean mapped) {
        ErrPtr<Pd> pd = check(device.allocPd(0, "test"));
        ErrPtr<Cq> cq = check(device.createCq(Owner.kernel("test"), 8));
        if (pd.isErr()) {
            freeCq(device, cq);
            return;
        }
        made.addFirst(() -> assertThat(device.deallocPd(pd.value(), 0)).isZero());
        freeCq(device, cq);
        free(check(device.regUserMr(pd.value(), 0, world.process, addr, 4 * PAGE, addr, ALL)));
        ErrPtr<Mr> fast = free(check(FastReg.allocMr(pd.value(), MrType.MEM_REG, 4)));
        if (!fast.isErr() && mapped) {
            assertThat(FastReg.mapMrSg(fast.value(), list, list.nents(), 0, PAGE))
                    .isEqualTo(list.nents());
            requireOutOfMemory(Math.min(0, FastReg.mapMrSg(fast.value(), list, 1, 0, 2 * PAGE)));
        }
        if (device.provider().ops().contains(ProviderOp.ALLOC_MW)) {
            ErrPtr<Mw> mw = check(device.allocMw(pd.value(), Mw.TYPE_2));
            if (!mw.isErr()) {
                made.addFirst(() -> assertThat(device.deallocMw(mw.value())).isZero());
            }
        }
        if (!cq.isErr()) {
            QpInit init = QpInit.of(cq.value(), cq.value()).withSizes(4, 4, 1).with(RwInit.of(2));
            ErrPtr<Qp> qp = check(device.createQp(pd.value(), init));
            if (!qp.isErr()) {
                made.addFirst(() -> assertThat(device.destroyQp(qp.value())).isZero());
            }
        }
    }

    private void freeCq(VerbsDevice device, ErrPtr<Cq> cq) {
        if (!cq.isErr()) {
            made.addFirst(() -> assertThat(device.destroyCq(cq.value())).isZero());
        }
    }

    private ErrPtr<Mr> free(ErrPtr<Mr> mr) {
        if (!mr.isErr()) {
            made.addFirst(() ->
                    assertThat(mr.value().pd().device().deregMr(mr.value(), 0)).isZero());
        }
        return mr;
    }

    private void ofAProcess(VerbsWorld world, VerbsDevice device, long addr) {
        UverbsFile file = UverbsFile.open(device, world.process);
        made.addFirst(() -> {
            file.close(world.process);
            assertThat(file.objects()).isZero();
        });
        int pd = requireOutOfMemory(file.allocPd());
        int cq = requireOutOfMemory(file.createCq(4));
        if (pd < 0) {
            return;
        }
        int mr = requireOutOfMemory(file.regMr(0, world.process, pd, addr + 8, 2 * PAGE, addr + 8, ALL));
        if (mr >= 0 && device.provider().ops().contains(ProviderOp.REREG_USER_MR)) {
            boolean moves = !(device.provider() instanceof io.pagewalk.rdma.rxe.RxeDevice);
            int flags = ReregFlags.ACCESS | (moves ? ReregFlags.TRANS : 0);
            requireOutOfMemory(file.reregMr(0, world.process, mr, flags, addr, 3 * PAGE, addr, pd, ALL));
        }
        if (cq >= 0) {
            requireOutOfMemory(file.createQp(pd, cq, cq, 4, 1));
        }
    }

    private static <T> ErrPtr<T> check(ErrPtr<T> answer) {
        requireOutOfMemory(answer.error());
        return answer;
    }

    /** A 5.x kernel's rxe says that it cannot do what it has no memory for (rdma:RXE-21). */
    private static int requireOutOfMemory(int answer) {
        assertThat(answer >= 0
                        || Set.of(-Errno.ENOMEM, -Errno.EIO, -Errno.EINVAL).contains(answer))
                .as("%d", answer)
                .isTrue();
        return answer;
    }
}
