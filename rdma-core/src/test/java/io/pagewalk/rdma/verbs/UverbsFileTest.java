package io.pagewalk.rdma.verbs;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.rxe.RxeMr;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The commands of uverbs: handles, checks in their order, and the end of a context (rdma:UV-1 to UV-10, PD-7). */
class UverbsFileTest {
    private static final int NO_SUCH = 0x7fffffff;

    private RxeWorld world = RxeWorld.start();
    private UverbsFile file = UverbsFile.open(world.device, world.process);
    private int pd = file.allocPd();
    private long memory = world.buffer(4);

    @AfterEach
    void close() {
        world.close();
    }

    private int reg(int domain, long addr, long length, long hcaVa, int access) {
        return file.regMr(0, world.process, domain, addr, length, hcaVa, access);
    }

    private int reg(int access) {
        return reg(pd, memory, PAGE, memory, access);
    }

    private int rereg(int mr, int flags, long addr, long hcaVa, int domain, int access) {
        return file.reregMr(0, world.process, mr, flags, addr, PAGE, hcaVa, domain, access);
    }

    @Test
    @DisplayName("UV-1: offset in the page, rights, domain, memory: in that order")
    void checksOfARegistrationInTheirOrder() {
        int bad = AccessFlags.REMOTE_WRITE;
        assertThat(reg(NO_SUCH, 1, PAGE, 0, bad)).isEqualTo(-Errno.EINVAL);
        assertThat(reg(NO_SUCH, 0, PAGE, 0, AccessFlags.ON_DEMAND)).as("rights").isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(reg(NO_SUCH, 0, PAGE, 0, 0)).as("domain").isEqualTo(-Errno.ENOENT);
        assertThat(reg(pd, 0, PAGE, 0, 0)).as("memory").isEqualTo(-Errno.EFAULT);
        int mr = reg(pd, memory + 5, 2 * PAGE, 0x10005, ALL);
        assertThat(mr).isOne();
        Mr made = Objects.requireNonNull(file.mr(mr));
        assertThat(made.iova()).isEqualTo(0x10005);
        assertThat(made.lengthBytes()).isEqualTo(2 * PAGE);
        assertThat(reg(mr, memory, PAGE, memory, 0))
                .as("UV-9: a region is no domain")
                .isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName("UV-9: handles of all kinds share one space; the lowest free one is next")
    void handlesShareOneSpace() {
        int cq = file.createCq(1);
        int mr = reg(LW);
        int mw = file.allocMw(pd, Mw.TYPE_1);
        int qp = file.createQp(pd, cq, cq, 1, 1);
        assertThat(new int[] {pd, cq, mr, mw, qp}).containsExactly(0, 1, 2, 3, 4);
        assertThat(file.objects()).isEqualTo(5);
        assertThat(file.pd(pd)).isNotNull();
        assertThat(file.cq(cq)).isNotNull();
        assertThat(file.mw(mw)).isNotNull();
        assertThat(file.qp(qp)).isNotNull();
        assertThat(file.mr(mw)).isNull();
        assertThat(file.mr(-1)).isNull();
        assertThat(file.deregMr(0, mw)).isEqualTo(-Errno.EINVAL);
        assertThat(file.deallocMw(mr)).isEqualTo(-Errno.EINVAL);
        assertThat(file.destroyCq(mr)).isEqualTo(-Errno.EINVAL);
        assertThat(file.destroyQp(mr)).isEqualTo(-Errno.EINVAL);
        assertThat(file.deallocPd(mr)).isEqualTo(-Errno.EINVAL);
        assertThat(file.createQp(cq, cq, cq, 1, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(file.createQp(pd, pd, cq, 1, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(file.createQp(pd, cq, NO_SUCH, 1, 1)).isEqualTo(-Errno.ENOENT);
        assertThat(file.createQp(pd, cq, cq, -1, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(file.deregMr(0, mr)).isZero();
        assertThat(file.deregMr(0, mr)).isEqualTo(-Errno.ENOENT);
        assertThat(reg(LW)).isEqualTo(mr);
        assertThat(file.allocPd()).isEqualTo(5);
    }

    @Test
    @DisplayName("PD-7, UV-8: what is used is busy, windows too")
    void whatIsUsedIsBusy() {
        int cq = file.createCq(1);
        int qp = file.createQp(pd, cq, cq, 1, 1);
        assertThat(file.deallocPd(pd)).isEqualTo(-Errno.EBUSY);
        assertThat(file.destroyCq(cq)).isEqualTo(-Errno.EBUSY);
        assertThat(file.destroyQp(qp)).isZero();
        assertThat(file.destroyCq(cq)).isZero();
        int mw = file.allocMw(pd, Mw.TYPE_2);
        assertThat(file.deallocPd(pd)).isEqualTo(-Errno.EBUSY);
        assertThat(file.deallocMw(mw)).isZero();
        assertThat(file.deallocPd(pd)).isZero();
        assertThat(file.deallocPd(pd)).isEqualTo(-Errno.ENOENT);
        assertThat(file.objects()).isZero();
    }

    @Test
    @DisplayName("UV-2: re-registration is checked in its order")
    void checksOfAReregistrationInTheirOrder() {
        int mr = reg(LW);
        assertThat(rereg(NO_SUCH, 0, 0, 0, 0, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(rereg(NO_SUCH, 8 | ReregFlags.TRANS, 1, 0, 0, 0)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(rereg(NO_SUCH, ReregFlags.TRANS, 1, 0, 0, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(rereg(NO_SUCH, ReregFlags.TRANS, 1, 1, 0, 0)).isEqualTo(-Errno.ENOENT);
        assertThat(rereg(pd, ReregFlags.TRANS, 1, 1, 0, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(rereg(mr, ReregFlags.ACCESS | ReregFlags.PD, 0, 0, NO_SUCH, RW))
                .isEqualTo(-Errno.EINVAL);
        assertThat(rereg(mr, ReregFlags.ACCESS | ReregFlags.PD, 0, 0, NO_SUCH, LW))
                .isEqualTo(-Errno.ENOENT);
        assertThat(rereg(mr, ReregFlags.PD, 0, 0, mr, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(rereg(mr, ReregFlags.TRANS, memory, memory, 0, 0))
                .as("RXE-16")
                .isEqualTo(-Errno.EOPNOTSUPP);
    }

    @Test
    @DisplayName("UV-3, UV-4, RXE-16: domain and rights change, keys do not; the use count moves")
    void domainAndRightsChange() {
        int mr = reg(LW);
        RxeMr region = (RxeMr) Objects.requireNonNull(file.mr(mr));
        int key = region.lkey();
        int second = file.allocPd();
        Pd from = Objects.requireNonNull(file.pd(pd));
        Pd to = Objects.requireNonNull(file.pd(second));
        assertThat(rereg(mr, ReregFlags.PD, 0, 0, pd, 0)).as("the same domain").isZero();
        assertThat(from.useCount()).isOne();
        assertThat(rereg(mr, ReregFlags.PD | ReregFlags.ACCESS, 0, 0, second, LW | RR))
                .isZero();
        assertThat(from.useCount()).isZero();
        assertThat(to.useCount()).isOne();
        assertThat(region.pd()).isSameAs(to);
        assertThat(region.access()).isEqualTo(LW | RR);
        assertThat(region.lkey()).isEqualTo(key);
        assertThat(rereg(mr, ReregFlags.ACCESS, 0, 0, 0, AccessFlags.ZERO_BASED))
                .isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(region.access()).isEqualTo(LW | RR);
        assertThat(file.deregMr(0, mr)).isZero();
        assertThat(to.useCount()).isZero();
        int readOnly = reg(RR);
        assertThat(rereg(readOnly, ReregFlags.ACCESS, 0, 0, 0, LW))
                .as("UMEM-28")
                .isEqualTo(-Errno.EACCES);
    }

    @Test
    @DisplayName("RXE-16: 5.2 cannot register anew")
    void theFirstRxeCannotRegisterAnew() {
        world.close();
        world = RxeWorld.start(KernelModel.LINUX_5);
        file = UverbsFile.open(world.device, world.process);
        pd = file.allocPd();
        memory = world.buffer(1);
        assertThat(rereg(reg(LW), ReregFlags.ACCESS, 0, 0, 0, LW)).isEqualTo(-Errno.EOPNOTSUPP);
    }

    @Test
    @DisplayName("MR-6, UV-7: no advice, no dma-buf")
    void whatRxeDoesNotHave() {
        assertThat(file.adviseMr(pd, 0, 0, 1)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(file.adviseMr(NO_SUCH, 0, 0, 1)).isEqualTo(-Errno.ENOENT);
        assertThat(file.regDmabufMr(pd, 3, 0, PAGE, 0, LW)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(file.allocMw(NO_SUCH, 1)).isEqualTo(-Errno.ENOENT);
        assertThat(file.allocMw(pd, 3)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName("UV-10: a context ends with the last process that has it open, and takes everything with it")
    void aContextEndsWithItsLastProcess() {
        int cq = file.createCq(1);
        int qp = file.createQp(pd, cq, cq, 1, 1);
        int mr = reg(ALL | AccessFlags.MW_BIND);
        int mw = file.allocMw(pd, Mw.TYPE_1);
        Mw window = Objects.requireNonNull(file.mw(mw));
        assertThat(world.rxe
                        .regions()
                        .bindWindow(
                                Objects.requireNonNull(file.qp(qp)),
                                window.rkey(),
                                0,
                                Objects.requireNonNull(file.mr(mr)).lkey(),
                                memory,
                                8,
                                RR))
                .isZero();
        Process child = Objects.requireNonNull(world.process.fork());
        file.share(child);
        file.share(child);
        var owner = world.process.addressSpace();
        world.process.exit();
        assertThat(file.objects()).isEqualTo(5);
        assertThat(owner.pinnedVm()).as("UV-10: nothing changes").isOne();
        child.exit();
        assertThat(file.objects()).isZero();
        assertThat(owner.pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.rxe.mrCount()).as("that of the kernel's domain").isOne();
        assertThat(world.rxe.mwCount()).isZero();
        assertThat(world.rxe.qpCount()).isZero();
        assertThat(world.device.restrack().holdings()).hasSize(1);
        assertThat(file.allocPd()).isEqualTo(-Errno.EBADF);
        assertThat(file.createCq(1)).isEqualTo(-Errno.EBADF);
        assertThat(file.deregMr(0, mr)).isEqualTo(-Errno.EBADF);
        Process stranger = Process.create(world.machine);
        assertThatThrownBy(() -> file.share(stranger))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
        file.close(stranger);
    }

    @Test
    @DisplayName("UV-10: any process that has the file may give back; the charge goes to who registered")
    void theChargeGoesToWhoRegistered() {
        int mr = reg(LW);
        Process child = Objects.requireNonNull(world.process.fork());
        file.share(child);
        int ofChild = file.regMr(0, child, pd, memory, PAGE, memory, LW);
        assertThat(child.addressSpace().pinnedVm()).isOne();
        assertThat(file.deregMr(0, mr)).isZero();
        assertThat(world.process.addressSpace().pinnedVm()).isZero();
        file.close(child);
        assertThat(file.deregMr(0, ofChild)).isZero();
        assertThat(child.addressSpace().pinnedVm()).isZero();
        assertThat(file).hasToString("rxe0 opened by process " + world.process.pid());
    }

    @Test
    void aProcessThatIsGoneOrElsewhereOpensNothing() {
        Process gone = Process.create(world.machine);
        gone.exit();
        assertThatThrownBy(() -> UverbsFile.open(world.device, gone)).isInstanceOf(IllegalStateException.class);
        try (RxeWorld other = RxeWorld.start()) {
            assertThatThrownBy(() -> UverbsFile.open(world.device, other.process))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("of another machine than rxe0");
        }
    }
}
