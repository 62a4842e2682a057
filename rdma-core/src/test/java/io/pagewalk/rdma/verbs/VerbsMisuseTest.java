package io.pagewalk.rdma.verbs;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.rxe.RxeMr;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What random verbs found: each a whole kind of misuse, with the numbers that must not have changed. */
class VerbsMisuseTest {
    private final RxeWorld world = RxeWorld.start();

    @AfterEach
    void close() {
        world.close();
    }

    private List<Integer> counts() {
        List<Integer> all = new ArrayList<>();
        for (Restrack.Kind kind : Restrack.Kind.values()) {
            all.add(world.device.restrack().count(kind));
        }
        all.addAll(List.of(world.rxe.pdCount(), world.rxe.mrCount(), world.rxe.mwCount(), world.rxe.qpCount()));
        all.add(world.pd.useCount());
        all.add(world.sendCq.useCount());
        return all;
    }

    private void refused(Class<? extends Exception> by, String message, ThrowingCallable call) {
        List<Integer> before = counts();
        assertThatThrownBy(call).isInstanceOf(by).hasMessageContaining(message);
        assertThat(counts()).isEqualTo(before);
    }

    @Test
    @DisplayName("whatever is another device's is refused by the one that is asked")
    void objectsOfAnotherDeviceAreRefused() {
        VerbsDevice other = RxeDevice.add("rxe1", world.machine);
        Mr mr = world.reg(world.buffer(1), PAGE, ALL);
        Mw mw = world.window(Mw.TYPE_2);
        RcQp qp = world.qp();
        List<Callable<Integer>> calls = List.of(
                () -> other.deallocPd(world.pd, 0),
                () -> other.deregMr(mr, 0),
                () -> other.deallocMw(mw),
                () -> other.destroyCq(world.recvCq),
                () -> other.destroyQp(qp),
                () -> other.adviseMr(world.pd, 0, 0, 0));
        for (Callable<Integer> call : calls) {
            refused(IllegalArgumentException.class, "is not of rxe1", call::call);
        }
        assertThat(List.of(mr.isDestroyed(), mw.isDestroyed(), qp.isDestroyed()))
                .containsOnly(false);
        refused(IllegalStateException.class, "destroyed already", () -> {
            Pd gone = world.otherPd();
            world.device.deallocPd(gone, 0);
            world.device.adviseMr(gone, 0, 0, 0);
        });
    }

    @Test
    @DisplayName("rdma:PD-4, POOL-4, POOL-5: what goes with a domain or a pool is not destroyed under it")
    void regionsThatGoWithSomethingElseStay() {
        Mr internal = world.pd.internalMr();
        RcQp qp = world.qp();
        Mr pooled = world.fast(2);
        qp.rdmaMrs().put(pooled);
        refused(IllegalArgumentException.class, "(rdma:PD-4)", () -> world.device.deregMr(internal, 0));
        refused(
                IllegalArgumentException.class,
                "(rdma:PD-4)",
                () -> qp.rdmaMrs().put(internal));
        refused(IllegalStateException.class, "(rdma:POOL-5)", () -> world.device.deregMr(pooled, 0));
        VerbsDevice other = RxeDevice.add("rxe1", world.machine);
        Mr foreign = FastReg.allocMr(other.allocPd(0, "x").value(), MrType.MEM_REG, 1)
                .value();
        refused(
                IllegalArgumentException.class,
                "is not of rxe0",
                () -> qp.rdmaMrs().put(foreign));
        assertThat(qp.rdmaMrs().size()).isEqualTo(1);
        assertThat(qp.rdmaMrs().get()).isSameAs(pooled);
        assertThat(world.device.deregMr(pooled, 0)).isZero();
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.pd.useCount()).isZero();
    }

    @Test
    @DisplayName("rdma:POOL-6: a use that nobody took cannot be given back")
    void usesOfAQueuePairDoNotGoBelowZero() {
        RcQp qp = world.qp();
        refused(IllegalStateException.class, "has no use to give back", qp::unuse);
        assertThat(qp.useCount()).isZero();
        qp.use();
        assertThat(world.device.destroyQp(qp)).isEqualTo(-Errno.EBUSY);
        qp.unuse();
        assertThat(world.device.destroyQp(qp)).isZero();
    }

    // ---- queues

    @Test
    @DisplayName("a queue keeps its order while it grows to its capacity, from any place in its ring")
    void queuesGrowInOrder() {
        for (int skip = 0; skip < 40; skip += 3) {
            Cq cq = world.device.createCq(Owner.kernel("x"), 100).value();
            WorkCompletion wc = new WorkCompletion();
            for (int i = 0; i < skip; i++) {
                cq.post(wc.error(i, WcStatus.WR_FLUSH_ERR, 1));
                assertThat(cq.poll(wc)).isEqualTo(1);
            }
            for (int i = 0; i < 102; i++) {
                cq.post(wc.error(1000 + i, WcStatus.WR_FLUSH_ERR, 1));
            }
            assertThat(cq.size()).isEqualTo(100);
            assertThat(cq.capacity()).isEqualTo(100);
            assertThat(cq.lost()).isEqualTo(2);
            for (int i = 0; i < 100; i++) {
                assertThat(cq.poll(wc)).isEqualTo(1);
                assertThat(wc.wrId()).isEqualTo(1000 + i);
            }
            assertThat(cq.poll(wc)).isZero();
            assertThat(world.device.destroyCq(cq)).isZero();
        }
    }

    @Test
    void requestsAndReceivesGrowInOrder() {
        Cq cq = world.device.createCq(Owner.kernel("x"), 200).value();
        QpInit init = QpInit.of(cq, cq).withSizes(50, 40, 1);
        RcQp left = (RcQp) world.device.createQp(world.pd, init).value();
        RcQp right = (RcQp) world.device.createQp(world.pd, init).value();
        Link link = Link.establish(left, right, QpAttributes.usual());
        SendWr wr = new SendWr();
        RecvWr recv = new RecvWr();
        for (int i = 0; i < 13; i++) {
            assertThat(right.postRecv(recv.reset(i))).isZero();
            assertThat(left.postSend(wr.send(i).signaled())).isZero();
        }
        link.setStepped(true);
        WorkCompletion wc = new WorkCompletion();
        while (cq.poll(wc) == 1) {
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
        }
        for (int i = 0; i < 50; i++) {
            assertThat(left.postSend(wr.send(1000 + i).signaled())).isZero();
            assertThat(right.postRecv(recv.reset(2000 + i))).isEqualTo(i < 40 ? 0 : -Errno.ENOMEM);
        }
        assertThat(left.postSend(wr.send(1))).isEqualTo(-Errno.ENOMEM);
        assertThat(left.postedSends()).isEqualTo(50);
        assertThat(right.postedReceives()).isEqualTo(40);
        link.run();
        for (int i = 0; i < 40; i++) {
            for (long id : new long[] {2000 + i, 1000 + i}) {
                assertThat(cq.poll(wc)).isEqualTo(1);
                assertThat(wc.wrId()).isEqualTo(id);
                assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            }
        }
    }

    @Test
    void segmentsBehindTheLastOneAreNone() {
        SgeList list = new SgeList();
        list.add(1, 2, 3);
        for (int i : new int[] {-1, 1, 3, 4, 1000}) {
            List<ThrowingCallable> calls = List.of(
                    () -> list.addr(i), () -> list.lengthBytes(i), () -> list.lkey(i), () -> list.setLkey(i, 0));
            for (ThrowingCallable call : calls) {
                assertThatThrownBy(call).isExactlyInstanceOf(IndexOutOfBoundsException.class);
            }
        }
        SgeList grows = new SgeList(Integer.MAX_VALUE);
        for (int i = 0; i < 300; i++) {
            grows.add(i, i, i);
        }
        assertThat(grows.lkey(299)).isEqualTo(299);
        byte[] small = new byte[3];
        assertThatThrownBy(() -> new SendWr().send(1).inline(new byte[4], 0, 4).copyInline(small))
                .isExactlyInstanceOf(IndexOutOfBoundsException.class);
    }

    // ---- links and timers

    @Test
    @DisplayName("a queue pair that is connected anew answers its old peer no more, and runs on its new link alone")
    void theOldPeerOfAQueuePairGetsNoAnswer() {
        RcQp first = world.qp();
        RcQp second = world.qp();
        RcQp third = world.qp();
        Link old = Link.establish(first, second, QpAttributes.usual().withRetries(0, 0));
        assertThat(second.modify(QpState.RESET, QpAttributes.usual())).isZero();
        Link now = Link.establish(third, second, QpAttributes.usual());
        now.setStepped(true);
        assertThat(second.postSend(world.wr.send(7).signaled())).isZero();
        assertThat(third.postRecv(world.recv.reset(8))).isZero();
        assertThat(old.step()).isFalse();
        assertThat(second.postRecv(world.recv.reset(9))).isZero();
        assertThat(first.postSend(world.wr.send(10).signaled())).isZero();
        assertThat(world.completions()).containsExactly("10 RETRY_EXC_ERR");
        assertThat(second.postedReceives()).isEqualTo(1);
        assertThat(second.postedSends()).isEqualTo(1);
        now.run();
        assertThat(world.completions()).containsExactly("7 SEND 0", "8 RECV 0 flags 1");
    }

    @Test
    @DisplayName(
            "rdma:DP-14, DP-29: a queue pair that is connected with itself and refuses itself completes each request once")
    void aQueuePairThatRefusesItselfCompletesOnce() {
        RcQp qp = world.qp();
        Mr mr = world.reg(world.buffer(1), PAGE, ALL);
        for (int round = 0; round < 3; round++) {
            Link link = Link.establish(qp, qp, QpAttributes.usual());
            link.setStepped(true);
            qp.postRecv(world.recv.reset(9));
            qp.postSend(world.wr.read(1, mr.iova(), mr.rkey() ^ 1).sge(mr.iova(), 8, mr.lkey()));
            qp.postSend(world.wr.send(2));
            qp.postSend(world.wr.sendWithInv(3, 4));
            link.run();
            assertThat(world.completions())
                    .containsExactly("1 WR_FLUSH_ERR", "2 WR_FLUSH_ERR", "3 WR_FLUSH_ERR", "9 WR_FLUSH_ERR");
            assertThat(List.of(qp.postedSends(), qp.postedReceives())).containsOnly(0);
            qp.modify(QpState.RESET, QpAttributes.usual());
        }
    }

    @Test
    @DisplayName("rdma:DP-14: waiting for no time at all waits for the shortest that InfiniBand can say")
    void timersOfNoLengthLetTimeGoOn() {
        QpAttributes atOnce = new QpAttributes(ALL, 1024, 1, 2, QpAttributes.RNR_FOR_EVER, 0, 0);
        RxeWorld.Pair pair = world.connect(atOnce, PostChecks.KERNEL);
        assertThat(pair.left().postSend(world.wr.send(1).signaled())).isZero();
        world.machine.clock().advance(1_000_000);
        assertThat(world.completions()).isEmpty();
        assertThat(pair.right().postRecv(world.recv.reset(2))).isZero();
        world.machine.clock().advance(9_999);
        assertThat(world.completions()).isEmpty();
        world.machine.clock().advance(1);
        assertThat(world.completions()).containsExactly("1 SEND 0", "2 RECV 0 flags 1");

        pair.right().modify(QpState.RESET, atOnce);
        assertThat(pair.left().postSend(world.wr.send(3))).isZero();
        world.machine.clock().advance(2 * 4096 - 1);
        assertThat(world.completions()).isEmpty();
        world.machine.clock().advance(1);
        assertThat(world.completions()).containsExactly("3 RETRY_EXC_ERR");
    }

    // ---- what has an end

    @Test
    @DisplayName(
            "rdma:RXE-5: a reference that is never given back delays a deregistration, warns, and does not stop it")
    void aLostReferenceDoesNotStopDeregistration() {
        Mr mr = world.reg(world.buffer(3), 3 * PAGE, ALL);
        Region held = world.rxe.regions().lookupLocal(world.pd, mr.lkey(), 0);
        assertThat(held).isSameAs(mr);
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("__rxe_cleanup")).isEqualTo(1);
        assertThat(world.machine.log().entries().toString()).contains("is still held", "(rdma:RXE-5)");
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.rxe.mrCount()).isEqualTo(1); // that of the domain
        assertThat(world.pd.useCount()).isZero();
    }

    @ParameterizedTest
    @EnumSource(
            value = KernelModel.class,
            names = {"LINUX_5", "LINUX_6_12"})
    @DisplayName("rdma:RXE-17, RXE-20: a page list that would fill the machine's memory cannot be had")
    void pageListsAreNoLongerThanMemory(KernelModel model) {
        try (RxeWorld small = RxeWorld.start(model)) { // of 32 MiB
            int most = 4 << 20;
            for (int tooMany : new int[] {most + 1, Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
                assertThat(FastReg.allocMr(small.pd, MrType.MEM_REG, tooMany).error())
                        .isEqualTo(-Errno.ENOMEM);
            }
            assertThat(small.pd.useCount()).isZero();
            assertThat(small.rxe.mrCount()).isEqualTo(1);
            assertThat(FastReg.allocMr(small.pd, MrType.MEM_REG, most).isErr()).isFalse();
        }
    }

    @Test
    @DisplayName("rdma:RXE-24: nor can the longer list that large pages need")
    void largePagesNeedAListThatFits() {
        RxeMr mr = world.fast(3);
        SgTable list =
                new SgTable(1).add(world.machine.pages().allocPages(io.pagewalk.dma.memory.Zone.NORMAL, 1), PAGE);
        assertThat(world.device.ibDevice().dma().mapSgTable(list, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        assertThat(FastReg.mapMrSg(mr, list, 1, 0, 1 << 31)).isEqualTo(1); // 3 * 2^19 entries
        RxeMr longer = world.fast(9);
        assertThat(FastReg.mapMrSg(longer, list, 1, 0, 1 << 31)).isEqualTo(-Errno.ENOMEM);
        assertThat(FastReg.mapMrSg(longer, list, 1, 0, PAGE)).isEqualTo(1);
    }
}
