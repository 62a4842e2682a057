package io.pagewalk.rdma.verbs;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.rxe.RxeMr;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The core of the verbs as the kernel's own users see it (rdma:PD-1 to PD-7, MR-1 to MR-7, FR-1 to FR-3). */
class VerbsDeviceTest {
    private RxeWorld world = RxeWorld.start();

    @AfterEach
    void close() {
        world.close();
    }

    private int tracked(Restrack.Kind kind) {
        return world.device.restrack().count(kind);
    }

    @Test
    @DisplayName("PD-2, PD-4, PD-5: an in-kernel domain has a region of its own, which counts nowhere")
    void aDomainHasARegionOfItsOwn() {
        Pd pd = world.device.allocPd(0, "nvme_rdma").value();
        Mr internal = Objects.requireNonNull(pd.internalMr());
        assertThat(internal.type()).isEqualTo(MrType.DMA);
        assertThat(pd.localDmaLkey()).isEqualTo(internal.lkey()).isNotZero();
        assertThat(pd.unsafeGlobalRkey()).isZero();
        assertThat(((RxeMr) internal).access()).isEqualTo(LW);
        assertThat(pd.useCount()).isZero();
        assertThat(tracked(Restrack.Kind.MR)).isZero();
        assertThat(tracked(Restrack.Kind.PD)).isEqualTo(2);
        assertThat(world.rxe.mrCount()).isEqualTo(2);
        assertThat(world.rxe.pdCount()).isEqualTo(2);
        assertThat(pd).hasToString("domain of [nvme_rdma] on rxe0");
        assertThat(world.device.deallocPd(pd, 0)).isZero();
        assertThat(world.rxe.mrCount()).isOne();
        assertThat(world.rxe.pdCount()).isOne();
        assertThat(tracked(Restrack.Kind.PD)).isOne();
        assertThat(pd.internalMr()).isNull();
        assertThat(pd.isDestroyed()).isTrue();
        assertThatThrownBy(() -> world.device.deallocPd(pd, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("domain of [nvme_rdma] on rxe0 was destroyed already");
        assertThatThrownBy(() -> world.device.createQp(pd, QpInit.of(world.sendCq, world.recvCq)))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    @DisplayName("PD-3: a global rkey is warned of and lets the peer read and write everything")
    void aGlobalRkeyIsWarnedOf() {
        Pd pd = world.device.allocPd(Pd.UNSAFE_GLOBAL_RKEY, "old_ulp").value();
        assertThat(pd.unsafeGlobalRkey()).isEqualTo(pd.localDmaLkey());
        assertThat(((RxeMr) Objects.requireNonNull(pd.internalMr())).access()).isEqualTo(LW | RR | RW);
        assertThat(world.machine.log().entries())
                .extracting(KernelLog.Entry::text)
                .containsOnlyOnce("enabling unsafe global rkey for [old_ulp] (rdma:PD-3)");
    }

    @Test
    @DisplayName("PD-1, PD-4: whichever allocation fails, nothing of a domain is left")
    void nothingIsLeftOfADomainThatFailed() {
        for (String point : List.of("ib.pd", "rxe.mr")) {
            world.machine.failures().failNth(point, 1);
            assertThat(world.device.allocPd(0, "x").error()).as(point).isEqualTo(-Errno.ENOMEM);
            assertThat(world.machine.failures().failedAt()).isEqualTo(point);
        }
        world.machine.failures().disarm();
        assertThat(world.rxe.pdCount()).isOne();
        assertThat(world.rxe.mrCount()).isOne();
        assertThat(tracked(Restrack.Kind.PD)).isOne();
    }

    @Test
    @DisplayName("PD-6: the kernel's own deallocation looks at no use count; a 5.x kernel warns and goes on")
    void deallocationLooksAtNoUseCount() {
        long addr = world.process.mmap(PAGE);
        world.reg(addr, PAGE, 0);
        assertThat(world.device.deallocPd(world.pd, 0)).isZero();
        assertThat(world.machine.log().warnCount()).isZero();
        world.close();
        world = RxeWorld.start(KernelModel.LINUX_5);
        world.reg(world.process.mmap(PAGE), PAGE, 0);
        assertThat(world.device.deallocPd(world.pd, 0)).isZero();
        assertThat(world.machine.log().count("ib_dealloc_pd")).isOne();
    }

    @Test
    @DisplayName("PD-5: each region, window and queue pair is a user of its domain; PD-7: a queue pair of its queues")
    void usersAreCounted() {
        long addr = world.process.mmap(PAGE);
        Mr user = world.reg(addr, PAGE, 0);
        Mr fast = world.fast(1);
        Mw mw = world.window(Mw.TYPE_2);
        Qp qp = world.qp();
        assertThat(world.pd.useCount()).isEqualTo(4);
        assertThat(world.sendCq.useCount()).isOne();
        assertThat(world.recvCq.useCount()).isOne();
        assertThat(world.device.destroyCq(world.recvCq)).isEqualTo(-Errno.EBUSY);
        assertThat(world.rxe.qpCount()).isOne();
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.device.destroyCq(world.recvCq)).isZero();
        assertThatThrownBy(() -> world.device.destroyCq(world.recvCq)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> world.device.destroyQp(qp)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> world.qp()).isInstanceOf(IllegalStateException.class);
        assertThat(world.device.deallocMw(mw)).isZero();
        assertThat(world.device.deregMr(fast, 0)).isZero();
        assertThat(world.device.deregMr(user, 0)).isZero();
        assertThat(world.pd.useCount()).isZero();
        assertThat(world.rxe.qpCount()).isZero();
        for (Restrack.Kind kind : List.of(Restrack.Kind.MR, Restrack.Kind.MW, Restrack.Kind.QP)) {
            assertThat(tracked(kind)).as(kind.name()).isZero();
        }
        assertThat(tracked(Restrack.Kind.CQ)).isOne();
    }

    @Test
    @DisplayName("MR-4: a region that could not be destroyed is out of the table, and may be tried again")
    void aFailedDestructionLeavesTheTable() {
        long addr = world.process.mmap(PAGE);
        RxeMr mr = world.reg(addr, PAGE, ALL | RxeWorld.BIND);
        Mw mw = world.window(Mw.TYPE_1);
        assertThat(world.rxe.regions().bindWindow(world.qp(), mw.rkey(), 0, mr.lkey(), addr, 8, RR))
                .isZero();
        assertThat(world.device.deregMr(mr, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(tracked(Restrack.Kind.MR)).isZero();
        assertThat(world.pd.useCount()).as("region, window, queue pair").isEqualTo(3);
        assertThat(mr.isDestroyed()).isFalse();
        assertThat(world.device.deallocMw(mw)).isZero();
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(world.pd.useCount()).isOne();
    }

    @Test
    @DisplayName("MR-7: numbers of the table go up by kind, from 0, and one that is free is taken after all others")
    void numbersOfTheTable() {
        long addr = world.process.mmap(PAGE);
        Mr first = world.reg(addr, PAGE, 0);
        world.reg(addr, PAGE, 0);
        world.device.deregMr(first, 0);
        world.reg(addr, PAGE, 0);
        assertThat(world.device.restrack().entries(Restrack.Kind.MR))
                .extracting(Restrack.Entry::id)
                .containsExactly(1, 2);
        assertThat(world.device.restrack().entries(Restrack.Kind.PD))
                .extracting(Restrack.Entry::id)
                .containsExactly(0);
    }

    @Test
    @DisplayName("MR-7: the table says who holds how many pins, regions and keys")
    void whoHoldsWhat() {
        Process other = Process.create(world.machine);
        UverbsFile file = UverbsFile.open(world.device, other);
        int pd = file.allocPd();
        long addr = other.mmap(3 * PAGE);
        assertThat(file.regMr(0, other, pd, addr, 3 * PAGE, addr, 0)).isPositive();
        assertThat(file.regMr(0, other, pd, addr, PAGE, addr, 0)).isPositive();
        assertThat(file.allocMw(pd, Mw.TYPE_1)).isPositive();
        world.qp();
        world.fast(1);
        assertThat(world.device.restrack().holdings())
                .containsExactly(
                        new Restrack.Holding(Owner.kernel("test"), 1, 2, 1, 1, 0, 0),
                        new Restrack.Holding(Owner.of(other), 1, 0, 0, 2, 1, 4));
        assertThat(world.device.restrack().holdings().get(1).keys()).isEqualTo(3);
        other.exit();
        assertThat(world.device.restrack().holdings()).hasSize(1);
        assertThat(world.pinsHeld()).isZero();
    }

    @Test
    @DisplayName("limits of queues, and what a queue pair asks for in vain")
    void limitsOfQueues() {
        Owner owner = Owner.kernel("x");
        assertThat(world.device.createCq(owner, 0).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.device.createCq(owner, 32768).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.device.createCq(owner, 32767).isErr()).isFalse();
        world.machine.failures().failNth("ib.cq", 1);
        assertThat(world.device.createCq(owner, 1).error()).isEqualTo(-Errno.ENOMEM);
        world.machine.failures().failNth("rxe.qp", 1);
        QpInit init = QpInit.of(world.sendCq, world.recvCq);
        assertThat(world.device.createQp(world.pd, init).error()).isEqualTo(-Errno.ENOMEM);
        for (QpInit tooMuch : List.of(
                init.withSizes(0x100001, 1, 1),
                init.withSizes(1, 0x100001, 1),
                init.withSizes(1, 1, 33),
                init.withInline(513))) {
            assertThat(world.device.createQp(world.pd, tooMuch).error()).isEqualTo(-Errno.EINVAL);
        }
        assertThat(world.machine.log().entries())
                .extracting(KernelLog.Entry::site)
                .as("one for each, and none for what ran out")
                .containsOnly("ib_create_qp")
                .hasSize(4);
        String refused = "a queue pair in domain of [test] on rxe0 is refused: EINVAL, as it asks for ";
        assertThat(world.machine.log().entries())
                .extracting(KernelLog.Entry::text)
                .containsExactly(
                        refused + "1048577 requests, of at most 1048576",
                        refused + "1048577 receives, of at most 1048576",
                        refused + "33 segments, of at most 32",
                        refused + "513 inline bytes, of at most 512");
        assertThat(world.device
                        .createQp(world.pd, init.withSizes(0, 0, 32).withInline(512))
                        .isErr())
                .isFalse();
        assertThatThrownBy(() -> init.withSizes(-1, 0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a queue pair cannot hold -1 sends, 0 receives, 0 segments, 0 inline bytes");
        try (RxeWorld stranger = RxeWorld.start()) {
            assertThatThrownBy(() -> world.device.createQp(stranger.pd, init))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("is not of rxe0");
            assertThatThrownBy(() -> world.device.createQp(world.pd, QpInit.of(stranger.sendCq, world.recvCq)))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aPointerOrAnErrorInItsPlace() {
        ErrPtr<String> made = ErrPtr.of("x");
        assertThat(made.isErr()).isFalse();
        assertThat(made.error()).isZero();
        assertThat(made.value()).isEqualTo("x");
        assertThat(made).hasToString("x");
        ErrPtr<String> failed = ErrPtr.err(-Errno.EBUSY);
        assertThat(failed.isErr()).isTrue();
        assertThat(failed.error()).isEqualTo(-Errno.EBUSY);
        assertThat(failed).hasToString("-EBUSY");
        assertThatThrownBy(failed::value)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("nothing was made: EBUSY");
        assertThatThrownBy(() -> ErrPtr.err(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anOwnerIsTheKernelOrAProcess() {
        assertThat(Owner.kernel("ib_core")).hasToString("[ib_core]");
        assertThat(Owner.of(world.process)).hasToString("process " + world.process.pid());
        assertThatThrownBy(() -> new Owner("", 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Owner("both", 7))
                .hasMessage("an owner is the kernel by a name or a process by a number, not \"both\" and 7");
    }

    @Test
    void attributesOfAQueuePairAreChecked() {
        QpAttributes usual = QpAttributes.usual();
        for (int mtu : new int[] {0, 128, 1000, 8192}) {
            assertThatThrownBy(() -> usual.withPathMtu(mtu))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageEndingWith("not " + mtu);
        }
        assertThat(usual.withPathMtu(4096).pathMtu()).isEqualTo(4096);
        assertThatThrownBy(() -> usual.withRetries(-1, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> usual.withMaxDestRdAtomic(-1)).isInstanceOf(IllegalArgumentException.class);
    }
}
