package io.pagewalk.rdma.qp;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RA;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelWarnException;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WcStatus;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls in odd orders: queue pairs that are connected anew, reset between packets, or fail while they answer. */
class RcQpOrderTest {
    private static final int PAGES = 4;
    private static final int LENGTH = PAGES * PAGE;
    private static final long MILLISECOND = 1_000_000;
    private static final QpAttributes USUAL = QpAttributes.usual();

    private final RxeWorld world = RxeWorld.start();
    private final long near = world.buffer(PAGES);
    private final long far = world.buffer(PAGES);
    private final RxeMr local = world.reg(near, LENGTH, LW);
    private final RxeMr remote = world.reg(far, LENGTH, ALL);

    @AfterEach
    void close() {
        world.close();
    }

    private SendWr with(SendWr wr, int length) {
        return wr.sge(near, length, local.lkey()).signaled();
    }

    private SendWr write(long id, int length) {
        return with(new SendWr().write(id, far, remote.rkey()), length);
    }

    private static void post(RcQp qp, SendWr wr) {
        assertThat(qp.postSend(wr)).isZero();
    }

    private void postRecv(RcQp qp, long id, long offset, int length) {
        assertThat(qp.postRecv(world.recv.reset(id).sge(far + offset, length, remote.lkey())))
                .isZero();
    }

    private static void go(RcQp qp, QpAttributes attributes, QpState... states) {
        for (QpState next : states) {
            assertThat(qp.modify(next, attributes)).as("%s", next).isZero();
        }
    }

    /** Back to RESET and ready again, on the link that it has. */
    private static void restart(RcQp qp, QpAttributes attributes) {
        go(qp, attributes, QpState.RESET, QpState.INIT, QpState.RTR, QpState.RTS);
    }

    // ---- connected anew

    @Test
    @DisplayName("DP-14: who was connected with another one since does not answer its old peer")
    void aPeerThatWasConnectedAnewDoesNotAnswer() {
        RxeWorld.Pair old = world.connect();
        byte[] before = world.bytes(far, LENGTH);
        go(old.right(), USUAL, QpState.RESET);
        RcQp other = world.qp();
        Link.establish(old.right(), other, USUAL);
        postRecv(old.right(), 9, 0, 64);
        post(old.left(), write(1, 8));
        world.machine.clock().advance(10 * MILLISECOND);
        assertThat(world.completions()).containsExactly("1 RETRY_EXC_ERR");
        assertThat(world.bytes(far, LENGTH)).isEqualTo(before);
        assertThat(old.right().postedReceives()).isOne();
        post(other, with(new SendWr().send(2), 8));
        assertThat(world.completions()).containsExactly("2 SEND 8", "9 RECV 8 flags 1");
    }

    @Test
    void anOldLinkDoesNotRunWhoWasConnectedAnew() {
        RxeWorld.Pair old = world.connect();
        go(old.right(), USUAL, QpState.RESET);
        Link fresh = Link.establish(old.right(), world.qp(), USUAL);
        fresh.setStepped(true);
        post(old.right(), write(1, 8));
        assertThat(old.link().step()).isFalse();
        post(old.left(), write(2, 8));
        assertThat(world.completions())
                .as("2 waits for an answer, 1 for a step")
                .isEmpty();
        assertThat(fresh.step()).isTrue();
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 8");
    }

    // ---- connected with itself

    private enum Refusal {
        WRITE("1 WR_FLUSH_ERR"),
        READ("1 WR_FLUSH_ERR"),
        ATOMIC("1 WR_FLUSH_ERR"),
        TOO_LONG("1 WR_FLUSH_ERR"),
        INVALIDATION("1 WR_FLUSH_ERR");

        private final String completion;

        Refusal(String completion) {
            this.completion = completion;
        }
    }

    @ParameterizedTest
    @EnumSource(Refusal.class)
    @DisplayName("DP-10, DP-29: who refuses its own request flushes it with the rest, each of them once")
    void aQueuePairThatRefusesItselfIsFlushedOnce(Refusal refusal) {
        RcQp self = world.qp();
        Link.establish(self, self, USUAL);
        postRecv(self, 5, 0, 16);
        postRecv(self, 6, 0, 16);
        SendWr wr = new SendWr();
        switch (refusal) {
            case WRITE -> with(wr.write(1, far, 0xdead00), 8);
            case READ -> with(wr.read(1, far, 0xdead00), 8);
            case ATOMIC -> with(wr.fetchAdd(1, far, 0xdead00, 1), 8);
            case TOO_LONG -> with(wr.send(1), 17);
            case INVALIDATION -> with(wr.sendWithInv(1, 0xdead00), 8);
        }
        post(self, wr.then(write(2, 8)));
        String first = switch (refusal) {
            case TOO_LONG -> "5 LOC_QP_OP_ERR";
            case INVALIDATION -> "5 REM_INV_REQ_ERR";
            default -> "5 WR_FLUSH_ERR";
        };
        assertThat(world.completions()).containsExactly(refusal.completion, "2 WR_FLUSH_ERR", first, "6 WR_FLUSH_ERR");
        assertThat(self.state()).isEqualTo(QpState.ERR);
        assertThat(self.postedSends()).isZero();
        restart(self, USUAL);
        post(self, write(3, 8));
        assertThat(world.completions()).containsExactly("3 RDMA_WRITE 8");
    }

    // ---- reset between packets

    private RxeWorld.Pair stepped() {
        RxeWorld.Pair pair = world.connect();
        pair.link().setStepped(true);
        return pair;
    }

    @Test
    @DisplayName("DP-16: what goes on with a message that a reset forgot is out of sequence: nothing arrives unseen")
    void aResponderThatWasResetRefusesTheRestOfASend() {
        RxeWorld.Pair pair = stepped();
        postRecv(pair.right(), 5, 0, LENGTH);
        post(pair.left(), with(new SendWr().send(1), 3000));
        assertThat(pair.link().step()).isTrue();
        restart(pair.right(), USUAL);
        postRecv(pair.right(), 6, PAGE, PAGE);
        byte[] before = world.bytes(far, LENGTH);
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 REM_INV_REQ_ERR", "6 WR_FLUSH_ERR");
        assertThat(world.bytes(far, LENGTH)).isEqualTo(before);
        assertThat(pair.right().state()).isEqualTo(QpState.ERR);
    }

    @Test
    void aResponderThatWasResetRefusesTheRestOfAWrite() {
        RxeWorld.Pair pair = stepped();
        world.process.writeBytes(near, new byte[LENGTH]);
        byte[] before = world.bytes(far, LENGTH);
        post(pair.left(), write(1, 3000));
        assertThat(pair.link().step()).isTrue();
        restart(pair.right(), USUAL);
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 REM_INV_REQ_ERR");
        Arrays.fill(before, 0, 1024, (byte) 0);
        assertThat(world.bytes(far, LENGTH)).as("the first packet alone").isEqualTo(before);
    }

    @Test
    @DisplayName("DP-16, DP-25: a read that a reset forgot is asked for anew, with all that is checked then")
    void aResponderThatWasResetIsAskedAnewForARead() {
        RxeWorld.Pair pair = stepped();
        post(pair.left(), with(new SendWr().read(1, far, remote.rkey()), 3000));
        assertThat(pair.link().step()).isTrue();
        restart(pair.right(), USUAL);
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 RDMA_READ 3000");
        assertThat(world.bytes(near, 3000)).isEqualTo(world.bytes(far, 3000));
        post(pair.left(), with(new SendWr().read(2, far, remote.rkey()), 3000));
        assertThat(pair.link().step()).isTrue();
        restart(pair.right(), USUAL.withAccess(RW | RA));
        pair.link().run();
        assertThat(world.completions()).containsExactly("2 REM_INV_REQ_ERR");
    }

    @Test
    @DisplayName("DP-16, DP-29: a message that begins before the end of another one is out of sequence")
    void aRequesterThatWasResetBeginsOutOfSequence() {
        for (Consumer<SendWr> next : java.util.List.<Consumer<SendWr>>of(
                wr -> wr.send(2),
                wr -> wr.write(2, far, remote.rkey()),
                wr -> wr.read(2, far, remote.rkey()),
                wr -> wr.fetchAdd(2, far, remote.rkey(), 1))) {
            RxeWorld.Pair pair = stepped();
            postRecv(pair.right(), 5, 0, LENGTH);
            post(pair.left(), with(new SendWr().send(1), 3000));
            assertThat(pair.link().step()).isTrue();
            restart(pair.left(), USUAL);
            SendWr wr = new SendWr();
            next.accept(wr);
            post(pair.left(), with(wr, 8));
            pair.link().run();
            assertThat(world.completions()).as("%s", wr).containsExactly("2 REM_INV_REQ_ERR", "5 REM_INV_REQ_ERR");
        }
    }

    @Test
    @DisplayName("DP-3, DP-14, DP-29: syndromes have the numbers of the wire, and each side makes its own of them")
    void syndromes() {
        assertThat(new int[] {
                    Syndrome.ACK,
                    Syndrome.RNR_NAK,
                    Syndrome.INVALID_REQUEST,
                    Syndrome.REMOTE_ACCESS,
                    Syndrome.REMOTE_OPERATIONAL
                })
                .containsExactly(0x1f, 0x20, 0x61, 0x62, 0x63);
        assertThat(Syndrome.atRequester(0x61)).isEqualTo(WcStatus.REM_INV_REQ_ERR);
        assertThat(Syndrome.atRequester(0x62)).isEqualTo(WcStatus.REM_ACCESS_ERR);
        assertThat(Syndrome.atRequester(0x63)).isEqualTo(WcStatus.REM_OP_ERR);
        assertThat(Syndrome.atRequester(0x64)).as("unknown").isEqualTo(WcStatus.REM_OP_ERR);
        assertThat(Syndrome.atResponder(0x61)).isEqualTo(WcStatus.REM_INV_REQ_ERR);
        assertThat(Syndrome.atResponder(0x62)).isEqualTo(WcStatus.REM_ACCESS_ERR);
        assertThat(Syndrome.atResponder(0x63)).isEqualTo(WcStatus.LOC_QP_OP_ERR);
    }

    // ---- accesses that throw

    /** A region that says it is longer than its pages, as the kernel's arithmetic leaves it (rdma:SGP-11). */
    private RxeMr tooLong() {
        RxeMr mr = world.fast(1);
        SgTable sg = new SgTable(1);
        sg.add((world.process.pfnOf(far) << 12) + 0x200, 0x2000);
        assertThat(world.device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        assertThat(FastReg.mapMrSg(mr, sg, 1, 0, PAGE)).isZero();
        RcQp qp = world.connect().left();
        post(qp, new SendWr().regMr(0, mr, mr.rkey(), LW | RR | RW | RA));
        assertThat(mr.isValid()).isTrue();
        return mr;
    }

    private enum Access {
        SOURCE,
        SINK,
        WRITE,
        READ,
        ATOMIC
    }

    @ParameterizedTest
    @EnumSource(Access.class)
    @DisplayName("RXE-5, RXE-31: an access that ends in a fatal WARN lets go of its region, which can be destroyed")
    void anAccessThatThrowsHoldsNothing(Access access) {
        RxeMr mr = tooLong();
        long beyond = mr.iova() + PAGE - 0x200;
        RxeWorld.Pair pair = world.connect();
        SendWr wr = new SendWr();
        switch (access) {
            case SOURCE -> wr.write(1, far, remote.rkey()).sge(beyond, 8, mr.lkey());
            case SINK -> wr.read(1, far, remote.rkey()).sge(beyond, 8, mr.lkey());
            case WRITE -> with(wr.write(1, beyond, mr.rkey()), 8);
            case READ -> with(wr.read(1, beyond, mr.rkey()), 8);
            case ATOMIC -> with(wr.fetchAdd(1, beyond, mr.rkey(), 1), 8);
        }
        world.machine.log().warnsAreFatal(true);
        assertThatThrownBy(() -> pair.left().postSend(wr)).isInstanceOf(KernelWarnException.class);
        assertThat(pair.left().state()).isEqualTo(QpState.ERR);
        assertThat(world.completions()).containsExactly("1 WR_FLUSH_ERR");
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThat(world.device.deregMr(mr, 0)).isZero());
    }
}
