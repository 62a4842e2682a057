package io.pagewalk.rdma.qp;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RA;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WcStatus;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What work requests do to memory, completions and states of both sides (rdma:DP-1 to DP-34). */
class RcQpTest {
    private static final int PAGES = 4;
    private static final int LENGTH = PAGES * PAGE;
    private static final long MILLISECOND = 1_000_000;

    private RxeWorld world = RxeWorld.start();
    private long near = world.buffer(PAGES);
    private long far = world.buffer(PAGES);
    private RxeMr local = world.reg(near, LENGTH, LW);
    private RxeMr remote = world.reg(far, LENGTH, ALL);
    private RxeWorld.Pair pair = world.connect();

    @AfterEach
    void close() {
        world.close();
    }

    private void restart(RxeWorld fresh) {
        world.close();
        world = fresh;
        near = world.buffer(PAGES);
        far = world.buffer(PAGES);
        local = world.reg(near, LENGTH, LW);
        remote = world.reg(far, LENGTH, ALL);
        pair = world.connect();
    }

    private void reconnect(QpAttributes attributes) {
        pair = world.connect(attributes, PostChecks.KERNEL);
    }

    private SendWr from(SendWr wr, long offset, long length) {
        return wr.sge(near + offset, length, local.lkey()).signaled();
    }

    private void post(SendWr wr) {
        assertThat(pair.left().postSend(wr)).isZero();
    }

    private void postRecv(long id, long offset, long length) {
        assertThat(pair.right().postRecv(world.recv.reset(id).sge(far + offset, length, remote.lkey())))
                .isZero();
    }

    private void assertStates(QpState left, QpState right) {
        assertThat(pair.left().state()).isEqualTo(left);
        assertThat(pair.right().state()).isEqualTo(right);
    }

    private void fillNear(int value) {
        byte[] bytes = new byte[LENGTH];
        Arrays.fill(bytes, (byte) value);
        world.process.writeBytes(near, bytes);
    }

    // ---- what moves

    @Test
    @DisplayName("DP-15, DP-32: a write of many packets puts every byte in place and completes once")
    void aWriteMovesBytesAndCompletesOnce() {
        fillNear(0x5a);
        byte[] before = world.bytes(far, LENGTH);
        post(from(world.wr.write(7, far + 5, remote.rkey()), 3, 5000));
        assertThat(world.completions()).containsExactly("7 RDMA_WRITE 5000");
        byte[] after = world.bytes(far, LENGTH);
        Arrays.fill(before, 5, 5005, (byte) 0x5a);
        assertThat(after).isEqualTo(before);
        assertStates(QpState.RTS, QpState.RTS);
    }

    @Test
    void aReadGathersNothingAndScattersOverSegments() {
        byte[] source = world.bytes(far, LENGTH);
        world.wr
                .read(8, far + 100, remote.rkey())
                .sge(near, 10, local.lkey())
                .sge(near + 50, 0, 0xdead)
                .sge(near + 4000, 3000, local.lkey())
                .signaled();
        post(world.wr);
        assertThat(world.completions()).containsExactly("8 RDMA_READ 3010");
        assertThat(world.bytes(near, 10)).isEqualTo(Arrays.copyOfRange(source, 100, 110));
        assertThat(world.bytes(near + 4000, 3000)).isEqualTo(Arrays.copyOfRange(source, 110, 3110));
    }

    @Test
    @DisplayName("DP-31: a send fills the receive and says how much; an immediate and an invalidated key come along")
    void aSendFillsTheReceive() {
        byte[] source = world.bytes(near, 100);
        postRecv(1, 0, 64);
        postRecv(2, 64, 200);
        postRecv(3, 264, 100);
        post(from(world.wr.send(10), 0, 60));
        post(from(world.wr.sendWithImm(11, 0x12345678), 0, 100));
        post(world.wr.send(12).signaled());
        assertThat(world.completions())
                .containsExactly(
                        "10 SEND 60",
                        "11 SEND 100 flags 2",
                        "12 SEND 0",
                        "1 RECV 60 flags 1",
                        "2 RECV 100 flags 3",
                        "3 RECV 0 flags 1");
        assertThat(world.bytes(far + 64, 100)).isEqualTo(source);
        assertThat(pair.right().postedReceives()).isZero();
    }

    @Test
    void anImmediateAndAnInvalidatedKeyAreInTheCompletion() {
        var wc = new io.pagewalk.rdma.verbs.WorkCompletion();
        postRecv(1, 0, 64);
        post(world.wr.sendWithImm(11, 0x12345678));
        assertThat(world.recvCq.poll(wc)).isOne();
        assertThat(wc.immediate()).isEqualTo(0x12345678);
        assertThat(wc.qpNum()).isEqualTo(pair.right().qpNum());
        assertThat(wc.vendorErr()).isZero();
        RxeMr fast = world.fast(1);
        register(fast);
        world.completions();
        postRecv(2, 0, 64);
        post(world.wr.sendWithInv(12, fast.rkey()));
        assertThat(world.recvCq.poll(wc)).isOne();
        assertThat(wc.flags()).isEqualTo(9);
        assertThat(wc.invalidatedRkey()).isEqualTo(fast.rkey());
        assertThat(wc).hasToString("request 2 of queue pair " + wc.qpNum() + ": SUCCESS RECV of 0 bytes");
        assertThat(fast.isFree()).isTrue();
        assertThat(world.recvCq.poll(wc)).isZero();
    }

    private void register(RxeMr fast) {
        assertThat(pair.left()
                        .postSend(world.wr.regMr(90, fast, fast.rkey(), ALL).signaled()))
                .isZero();
    }

    @Test
    void aWriteWithImmediateTakesAReceiveAndLeavesItsMemoryAlone() {
        fillNear(0x11);
        byte[] before = world.bytes(far + 3 * PAGE, 64);
        postRecv(5, 3 * PAGE, 64);
        post(from(world.wr.writeWithImm(20, far, remote.rkey(), 9), 0, 2000));
        assertThat(world.completions())
                .containsExactly("20 RDMA_WRITE 2000 flags 2", "5 RECV_RDMA_WITH_IMM 2000 flags 3");
        assertThat(world.bytes(far + 3 * PAGE, 64)).isEqualTo(before);
        assertThat(world.bytes(far, 2000)).containsOnly(0x11);
    }

    @Test
    @DisplayName("RXE-36: atomics bring the old value back and change eight bytes")
    void atomicsBringTheOldValueBack() {
        world.process.putLong(far + 64, 41);
        post(world.wr
                .fetchAdd(1, far + 64, remote.rkey(), 2)
                .sge(near, 8, local.lkey())
                .signaled());
        assertThat(world.process.getLong(near)).isEqualTo(41);
        assertThat(world.process.getLong(far + 64)).isEqualTo(43);
        post(world.wr
                .compareAndSwap(2, far + 64, remote.rkey(), 43, 7)
                .sge(near + 8, 8, local.lkey())
                .signaled());
        post(world.wr
                .compareAndSwap(3, far + 64, remote.rkey(), 43, 9)
                .sge(near + 16, 8, local.lkey())
                .signaled());
        assertThat(world.process.getLong(near + 8)).isEqualTo(43);
        assertThat(world.process.getLong(near + 16)).isEqualTo(7);
        assertThat(world.process.getLong(far + 64)).isEqualTo(7);
        assertThat(world.completions()).containsExactly("1 FETCH_ADD 8", "2 COMP_SWAP 8", "3 COMP_SWAP 8");
    }

    @Test
    @DisplayName("DP-5: inline bytes are copied at once and need no key")
    void inlineBytesAreCopiedAtPost() {
        pair.link().setStepped(true);
        byte[] bytes = {1, 2, 3, 4, 5};
        post(world.wr.write(1, far, remote.rkey()).inline(bytes, 1, 3).signaled());
        bytes[1] = 99;
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 3");
        assertThat(world.bytes(far, 3)).containsExactly(2, 3, 4);
        assertThat(pair.left().postSend(world.wr.write(1, far, remote.rkey()).inline(new byte[129], 0, 129)))
                .isEqualTo(-Errno.EINVAL);
        assertThat(pair.left().postSend(world.wr.read(1, far, remote.rkey()).inline(bytes, 0, 1)))
                .isEqualTo(-Errno.EINVAL);
        assertThatThrownBy(() -> world.wr.inline(bytes, 3, 3)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    @DisplayName("DP-15: without a signal a success makes no completion; a queue pair may signal all")
    void onlySignaledRequestsComplete() {
        post(world.wr.write(1, far, remote.rkey()).sge(near, 8, local.lkey()));
        assertThat(world.completions()).isEmpty();
        RcQp all = (RcQp) world.device
                .createQp(world.pd, QpInit.of(world.sendCq, world.recvCq).signalingAll())
                .value();
        Link.establish(all, world.qp(), QpAttributes.usual());
        assertThat(all.postSend(world.wr.write(2, far, remote.rkey()))).isZero();
        assertThat(world.completions()).containsExactly("2 RDMA_WRITE 0");
    }

    @Test
    void aQueuePairMayBeConnectedWithItself() {
        RcQp self = world.qp();
        Link.establish(self, self, QpAttributes.usual());
        self.postRecv(world.recv.reset(4).sge(far, 8, remote.lkey()));
        assertThat(self.postSend(from(world.wr.send(3), 0, 8))).isZero();
        assertThat(world.completions()).containsExactly("3 SEND 8", "4 RECV 8 flags 1");
    }

    // ---- posting

    @Test
    @DisplayName("DP-4: the first request that cannot be queued ends the list, those before it stay")
    void theFirstBadRequestEndsTheList() {
        SendWr third = new SendWr().write(3, far, remote.rkey()).signaled();
        SendWr second = new SendWr()
                .fetchAdd(2, far + 4, remote.rkey(), 1)
                .sge(near, 8, local.lkey())
                .then(third);
        SendWr first = from(new SendWr().write(1, far, remote.rkey()), 0, 8).then(second);
        assertThat(pair.left().postSend(first)).isEqualTo(-Errno.EINVAL);
        assertThat(pair.left().badSendWr()).isSameAs(second);
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 8");
        assertThat(pair.left().postSend(third)).isZero();
        assertThat(pair.left().badSendWr()).isNull();
    }

    @Test
    @DisplayName("DP-4, DP-7: what the kernel refuses at post")
    void whatTheKernelRefusesAtPost() {
        RcQp fresh = world.qp();
        assertThat(fresh.postSend(world.wr.send(1))).as("RESET").isEqualTo(-Errno.EINVAL);
        assertThat(fresh.postRecv(world.recv.reset(1))).as("RESET").isEqualTo(-Errno.EINVAL);
        fresh.modify(QpState.INIT, QpAttributes.usual());
        assertThat(fresh.postSend(world.wr.send(1))).as("INIT").isEqualTo(-Errno.EINVAL);
        assertThat(fresh.postRecv(world.recv.reset(1))).as("INIT").isZero();
        SendWr wide = world.wr.send(1);
        for (int i = 0; i < 5; i++) {
            wide.sge(near, 8, local.lkey());
        }
        assertThat(pair.left().postSend(wide)).as("five segments of four").isEqualTo(-Errno.EINVAL);
        RecvWr wideRecv = world.recv.reset(1);
        for (int i = 0; i < 5; i++) {
            wideRecv.sge(far, 8, remote.lkey());
        }
        assertThat(pair.right().postRecv(wideRecv)).isEqualTo(-Errno.EINVAL);
        long most = 1L << 31;
        assertThat(pair.left()
                        .postSend(world.wr.read(1, far, 0).sge(near, most, 0).sge(near, 1, 0)))
                .isEqualTo(-Errno.EINVAL);
        assertThat(pair.right().postRecv(world.recv.reset(1).sge(far, most, 0).sge(far, 1, 0)))
                .isEqualTo(-Errno.EINVAL);
        assertThat(pair.right().postRecv(world.recv.reset(1).sge(far, most, 0))).isZero();
        assertThat(pair.left()
                        .postSend(world.wr.fetchAdd(1, far, remote.rkey(), 1).sge(near, 16, local.lkey())))
                .isEqualTo(-Errno.EINVAL);
        assertThatThrownBy(() -> world.wr.sge(0, 1L << 32, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a segment of 4294967296 bytes needs more than 32 bits");
        assertThat(world.completions()).isEmpty();
    }

    @Test
    @DisplayName("DP-4, DP-7: a full queue takes no more")
    void aFullQueueTakesNoMore() {
        pair.link().setStepped(true);
        for (int i = 0; i < 16; i++) {
            post(world.wr.send(i));
            postRecv(i, 0, 8);
        }
        assertThat(pair.left().postSend(world.wr.send(16))).isEqualTo(-Errno.ENOMEM);
        assertThat(pair.right().postRecv(world.recv.reset(16))).isEqualTo(-Errno.ENOMEM);
        assertThat(pair.left().postedSends()).isEqualTo(16);
        assertThat(pair.link().step()).isTrue();
        assertThat(pair.left().postedSends()).isEqualTo(15);
        assertThat(pair.right().postedReceives()).isEqualTo(15);
        post(world.wr.send(16));
    }

    @Test
    @DisplayName("DP-33: the user library checks atomics in its own way; a raw queue is taken as it is")
    void whoPostsDecidesWhatIsChecked() {
        pair = world.connect(QpAttributes.usual(), PostChecks.USER_LIBRARY);
        assertThat(pair.left()
                        .postSend(world.wr.fetchAdd(1, far, remote.rkey(), 1).sge(near, 4, local.lkey())))
                .isEqualTo(-Errno.EINVAL);
        assertThat(pair.left()
                        .postSend(
                                world.wr.fetchAdd(1, far + 4, remote.rkey(), 1).sge(near, 8, local.lkey())))
                .isEqualTo(-Errno.EINVAL);
        post(world.wr
                .fetchAdd(1, far, remote.rkey(), 1)
                .sge(near, 16, local.lkey())
                .signaled());
        assertThat(world.completions()).containsExactly("1 FETCH_ADD 16");

        pair = world.connect(QpAttributes.usual(), PostChecks.RAW);
        post(world.wr.fetchAdd(2, far + 4, remote.rkey(), 1).sge(near, 8, local.lkey()));
        assertThat(world.completions()).containsExactly("2 REM_INV_REQ_ERR");
        assertStates(QpState.ERR, QpState.ERR);

        pair = world.connect(QpAttributes.usual(), PostChecks.RAW);
        SendWr wide = world.wr.send(3);
        for (int i = 0; i < 5; i++) {
            wide.sge(near, 8, local.lkey());
        }
        post(wide);
        assertThat(world.completions()).containsExactly("3 WR_FLUSH_ERR");
        assertThat(pair.left().lastLocalStatus()).as("QRK-14").isEqualTo(WcStatus.LOC_QP_OP_ERR);

        pair = world.connect(QpAttributes.usual(), PostChecks.RAW);
        post(world.wr
                .write(4, far, remote.rkey())
                .sge(near, 1L << 31, local.lkey())
                .sge(near, 1, local.lkey()));
        assertThat(world.completions()).as("DP-19").containsExactly("4 REM_INV_REQ_ERR");
    }

    // ---- failures on this side

    @Test
    @DisplayName("DP-9, DP-10: a failure here is flushed; the cause is known inside")
    void aFailureHereIsFlushed() {
        post(world.wr.write(1, far, remote.rkey()).sge(near, 8, local.lkey() ^ 1));
        assertThat(world.completions()).containsExactly("1 WR_FLUSH_ERR");
        assertThat(pair.left().lastLocalStatus()).isEqualTo(WcStatus.LOC_QP_OP_ERR);
        assertStates(QpState.ERR, QpState.RTS);
        post(world.wr.write(2, far, remote.rkey()).sge(near, 8, local.lkey()));
        assertThat(world.completions()).as("DP-5: posted in ERR").containsExactly("2 WR_FLUSH_ERR");
        assertThat(pair.left().postRecv(world.recv.reset(3))).isZero();
        assertThat(world.completions()).containsExactly("3 WR_FLUSH_ERR");
    }

    @Test
    @DisplayName("DP-10: an ideal device tells the cause, and flushes the rest")
    void anIdealDeviceTellsTheCause() {
        restart(RxeWorld.start(RxeConfig.kernel().withIdealStatuses()));
        SendWr second = new SendWr().send(2);
        post(world.wr.localInv(1, 0x7fff00).then(second));
        assertThat(world.completions()).containsExactly("1 LOC_QP_OP_ERR", "2 WR_FLUSH_ERR");
        reconnect(QpAttributes.usual());
        post(world.wr.bindMw(3, 0x8000100, 0, 0, 0, 0, 0));
        assertThat(world.completions()).containsExactly("3 MW_BIND_ERR");
        reconnect(QpAttributes.usual());
        post(world.wr.readWithInv(4, far, remote.rkey()));
        assertThat(world.completions()).containsExactly("4 LOC_QP_OP_ERR");
    }

    @Test
    @DisplayName("DP-9, DP-11: 5.2 tells a cause, the same for all that is wrong with a source")
    void theFirstRxeTellsACause() {
        restart(RxeWorld.start(KernelModel.LINUX_5));
        post(world.wr.write(1, far, remote.rkey()).sge(near, 8, local.lkey() ^ 1));
        assertThat(world.completions()).containsExactly("1 LOC_PROT_ERR");
        reconnect(QpAttributes.usual());
        post(world.wr.localInv(2, 0x7fff00));
        assertThat(world.completions()).containsExactly("2 MW_BIND_ERR");
        reconnect(QpAttributes.usual());
        post(from(world.wr.readWithInv(3, far, remote.rkey()), 0, 8));
        assertThat(world.completions())
                .as("DP-6: no packet was to be filled, as there is none on the wire")
                .containsExactly("3 LOC_QP_OP_ERR");
    }

    @Test
    @DisplayName("DP-12: what was done before the failure has completed")
    void whatWasDoneBeforeTheFailureHasCompleted() {
        SendWr bad = new SendWr().write(2, far, remote.rkey()).sge(near, 8, 0);
        SendWr after = new SendWr().write(3, far, remote.rkey());
        post(from(world.wr.write(1, far, remote.rkey()), 0, 8).then(bad.then(after)));
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 8", "2 WR_FLUSH_ERR", "3 WR_FLUSH_ERR");
    }

    @Test
    @DisplayName("DP-13, DP-34: a bad sink is found when the answer comes, and the peer does not know")
    void aBadSinkIsFoundWhenTheAnswerComes() {
        RxeMr readOnly = world.reg(near, LENGTH, 0);
        byte[] source = world.bytes(far, LENGTH);
        world.wr.read(1, far, remote.rkey()).sge(near, 1024, local.lkey()).sge(near + PAGE, 1024, readOnly.lkey());
        post(world.wr);
        assertThat(world.completions()).containsExactly("1 LOC_PROT_ERR");
        assertStates(QpState.ERR, QpState.RTS);
        assertThat(world.bytes(near, 1024)).as("the first packet stays").isEqualTo(Arrays.copyOf(source, 1024));
        assertThat(pair.left().lastLocalStatus()).isEqualTo(WcStatus.LOC_PROT_ERR);
        reconnect(QpAttributes.usual());
        world.process.putLong(far, 5);
        post(world.wr.fetchAdd(2, far, remote.rkey(), 1).sge(near, 8, readOnly.lkey()));
        assertThat(world.completions()).containsExactly("2 LOC_PROT_ERR");
        assertThat(world.process.getLong(far)).as("done all the same").isEqualTo(6);
    }

    // ---- refusals of the other side

    @Test
    @DisplayName("DP-17, DP-18: what the queue pair may not do is an invalid request")
    void rightsOfTheQueuePair() {
        for (int access : new int[] {0, RR | RW, RR | RA, RW | RA}) {
            reconnect(QpAttributes.usual().withAccess(access));
            refusal((access & RW) == 0, from(world.wr.write(1, far, remote.rkey()), 0, 8));
            reconnect(QpAttributes.usual().withAccess(access));
            refusal((access & RR) == 0, from(world.wr.read(1, far, remote.rkey()), 0, 8));
            reconnect(QpAttributes.usual().withAccess(access));
            refusal((access & RA) == 0, from(world.wr.fetchAdd(1, far, remote.rkey(), 1), 0, 8));
        }
        reconnect(QpAttributes.usual().withMaxDestRdAtomic(0));
        refusal(true, from(world.wr.read(1, far, remote.rkey()), 0, 8));
        reconnect(QpAttributes.usual().withMaxDestRdAtomic(0));
        refusal(true, from(world.wr.fetchAdd(1, far, remote.rkey(), 1), 0, 8));
        reconnect(QpAttributes.usual().withAccess(0));
        refusal(true, world.wr.write(1, far, remote.rkey()).signaled());
    }

    private void refusal(boolean refused, SendWr wr) {
        post(wr);
        assertThat(world.completions().get(0).equals("1 REM_INV_REQ_ERR")).isEqualTo(refused);
        assertStates(refused ? QpState.ERR : QpState.RTS, refused ? QpState.ERR : QpState.RTS);
    }

    @Test
    @DisplayName("DP-20: nothing is checked of a transfer of nothing")
    void aTransferOfNothingChecksNothing() {
        post(world.wr.write(1, 0, 0).signaled());
        post(world.wr.read(2, -1, 0xdead).signaled());
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 0", "2 RDMA_READ 0");
    }

    @Test
    @DisplayName("DP-22: a write that ends outside changes no byte; DP-29: posted receives are flushed")
    void anOversizeWriteChangesNothing() {
        fillNear(1);
        byte[] before = world.bytes(far, LENGTH);
        postRecv(50, 0, 8);
        post(from(world.wr.write(1, far + 1, remote.rkey()), 0, LENGTH));
        assertThat(world.completions()).containsExactly("1 REM_ACCESS_ERR", "50 WR_FLUSH_ERR");
        assertThat(world.bytes(far, LENGTH)).isEqualTo(before);
        assertStates(QpState.ERR, QpState.ERR);
    }

    @Test
    @DisplayName("DP-26, DP-29: a message that does not fit leaves what came before, and both sides say so")
    void aMessageThatDoesNotFit() {
        fillNear(0x22);
        byte[] before = world.bytes(far + 1024, 976);
        postRecv(1, 0, 2000);
        postRecv(2, 0, 8);
        post(from(world.wr.send(9), 0, 2001));
        assertThat(world.completions()).containsExactly("9 REM_OP_ERR", "1 LOC_QP_OP_ERR", "2 WR_FLUSH_ERR");
        assertThat(world.bytes(far, 1024)).containsOnly(0x22);
        assertThat(world.bytes(far + 1024, 976)).isEqualTo(before);
    }

    @Test
    @DisplayName("DP-18, DP-29: a write with immediate of many packets takes its receive with the last one")
    void theReceiveOfAnImmediateIsTakenLast() {
        postRecv(1, 0, 8);
        post(from(world.wr.writeWithImm(9, far + 1, remote.rkey(), 1), 0, LENGTH));
        assertThat(world.completions()).as("not taken yet").containsExactly("9 REM_ACCESS_ERR", "1 WR_FLUSH_ERR");
        reconnect(QpAttributes.usual());
        postRecv(1, 0, 8);
        post(from(world.wr.writeWithImm(9, far + LENGTH - 4, remote.rkey(), 1), 0, 8));
        assertThat(world.completions()).as("taken").containsExactly("9 REM_ACCESS_ERR", "1 REM_ACCESS_ERR");
    }

    @Test
    @DisplayName("DP-28, DP-34: a key that cannot be invalidated is the receiver's trouble alone")
    void anInvalidationThatFails() {
        fillNear(0x33);
        postRecv(1, 0, 64);
        post(from(world.wr.sendWithInv(9, remote.rkey()), 0, 32));
        assertThat(world.completions()).containsExactly("9 SEND 32", "1 REM_INV_REQ_ERR");
        assertStates(QpState.RTS, QpState.ERR);
        assertThat(world.bytes(far, 32)).as("placed").containsOnly(0x33);
    }

    // ---- between packets

    @Test
    @DisplayName("DP-22: each packet of a write looks its key up")
    void aKeyThatGoesStopsAWriteMidway() {
        fillNear(0x44);
        byte[] before = world.bytes(far, LENGTH);
        pair.link().setStepped(true);
        post(from(world.wr.write(1, far, remote.rkey()), 0, 3000));
        assertThat(pair.link().step()).isTrue();
        assertThat(world.device.deregMr(remote, 0)).isZero();
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 REM_ACCESS_ERR");
        Arrays.fill(before, 0, 1024, (byte) 0x44);
        assertThat(world.bytes(far, LENGTH)).isEqualTo(before);
    }

    @Test
    @DisplayName("DP-25: later packets of a read look at key and state alone")
    void aReadGoesOnThoughRightsWereTaken() {
        RxeMr fast = world.fast(PAGES);
        var sg = new io.pagewalk.dma.scatterlist.SgTable(PAGES);
        for (int i = 0; i < PAGES; i++) {
            sg.add(world.process.pfnOf(far + (long) i * PAGE) << 12, PAGE);
        }
        assertThat(world.device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        assertThat(io.pagewalk.rdma.verbs.FastReg.mapMrSg(fast, sg, PAGES, 0, PAGE))
                .isEqualTo(PAGES);
        register(fast);
        world.completions();
        pair.link().setStepped(true);
        post(from(world.wr.read(1, fast.iova(), fast.rkey()), 0, 3000));
        assertThat(pair.link().step()).isTrue();
        RcQp other = world.qp();
        Link.establish(other, world.qp(), QpAttributes.usual());
        other.postSend(new SendWr().localInv(5, fast.rkey()));
        other.postSend(new SendWr().regMr(6, fast, fast.rkey(), 0));
        assertThat(pair.link().step()).as("rights are gone, the key is not").isTrue();
        other.postSend(new SendWr().localInv(7, fast.rkey()));
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 REM_ACCESS_ERR");
        assertThat(world.bytes(near, 2048)).isEqualTo(world.bytes(far, 2048));
    }

    // ---- waiting

    @Test
    @DisplayName("DP-14, DP-18: a send without a receive waits as often as it may, then fails here alone")
    void aSendWithoutAReceiveWaits() {
        reconnect(QpAttributes.usual().withRetries(3, 2));
        post(from(world.wr.send(1), 0, 8));
        assertThat(world.completions()).isEmpty();
        world.machine.clock().advance(MILLISECOND);
        assertThat(world.completions()).as("once").isEmpty();
        assertThat(pair.link().step()).as("waits").isFalse();
        world.machine.clock().advance(MILLISECOND);
        assertThat(world.completions()).containsExactly("1 RNR_RETRY_EXC_ERR");
        assertStates(QpState.ERR, QpState.RTS);
    }

    @Test
    void aReceiveThatComesInTimeIsFound() {
        reconnect(QpAttributes.usual().withRetries(0, QpAttributes.RNR_FOR_EVER));
        fillNear(0x66);
        SendWr behind = from(new SendWr().write(2, far + 100, remote.rkey()), 0, 8);
        post(from(world.wr.send(1), 0, 8).then(behind));
        world.machine.clock().advance(1000 * MILLISECOND);
        assertThat(world.completions()).isEmpty();
        postRecv(5, 0, 8);
        assertThat(world.completions()).as("only time finds it").isEmpty();
        world.machine.clock().advance(MILLISECOND);
        assertThat(world.completions()).containsExactly("1 SEND 8", "2 RDMA_WRITE 8", "5 RECV 8 flags 1");
        assertThat(world.bytes(far, 8)).containsOnly(0x66);
    }

    @Test
    @DisplayName("DP-14: nobody answers for a queue pair in error, or one that is gone")
    void nobodyAnswers() {
        pair.right().modify(QpState.ERR, QpAttributes.usual());
        post(from(world.wr.write(1, far, remote.rkey()), 0, 3000));
        for (int i = 0; i < 3; i++) {
            assertThat(world.completions()).isEmpty();
            world.machine.clock().advance(MILLISECOND);
        }
        assertThat(world.completions()).containsExactly("1 RETRY_EXC_ERR");
        reconnect(QpAttributes.usual().withRetries(0, 0));
        assertThat(world.device.destroyQp(pair.right())).isZero();
        post(from(world.wr.send(2), 0, 8));
        assertThat(world.completions()).containsExactly("2 RETRY_EXC_ERR");
        reconnect(QpAttributes.usual());
        pair.right().modify(QpState.ERR, QpAttributes.usual());
        post(from(world.wr.fetchAdd(3, far, remote.rkey(), 1), 0, 8));
        assertThat(world.machine.clock().armedTimers()).isOne();
        assertThat(world.device.destroyQp(pair.left())).isZero();
        assertThat(world.machine.clock().armedTimers()).isZero();
        assertThat(world.completions()).isEmpty();
        assertThat(pair.left().postSend(world.wr.send(1))).isEqualTo(-Errno.EINVAL);
        assertThat(pair.left().postRecv(world.recv.reset(1))).isEqualTo(-Errno.EINVAL);
        assertThat(pair.left().modify(QpState.INIT, QpAttributes.usual())).isEqualTo(-Errno.EINVAL);
    }

    // ---- states

    @Test
    void onlySomeStatesFollowEachOther() {
        for (QpState from : QpState.values()) {
            for (QpState to : QpState.values()) {
                boolean allowed = switch (to) {
                    case RESET, ERR -> true;
                    case INIT -> from == QpState.RESET || from == QpState.INIT;
                    case RTR -> from == QpState.INIT;
                    case RTS -> from == QpState.RTR || from == QpState.RTS;
                };
                assertThat(from.mayBecome(to)).as("%s to %s", from, to).isEqualTo(allowed);
            }
        }
        assertThat(pair.left().modify(QpState.RTR, QpAttributes.usual())).isEqualTo(-Errno.EINVAL);
        assertThat(pair.left()).hasToString("queue pair " + pair.left().qpNum() + " (RTS)");
    }

    @Test
    void aResetForgetsWhatWasPosted() {
        pair.link().setStepped(true);
        post(world.wr.send(1));
        postRecv(2, 0, 8);
        assertThat(pair.left().modify(QpState.RESET, QpAttributes.usual())).isZero();
        assertThat(pair.right().modify(QpState.RESET, QpAttributes.usual())).isZero();
        assertThat(world.completions()).isEmpty();
        assertThat(pair.left().postedSends()).isZero();
        assertThat(pair.right().postedReceives()).isZero();
        Link.establish(pair.left(), pair.right(), QpAttributes.usual());
        post(from(world.wr.write(3, far, remote.rkey()), 0, 8));
        assertThat(world.completions()).containsExactly("3 RDMA_WRITE 8");
    }

    @Test
    void connectedQueuePairsAreNotConnectedAgain() {
        assertThatThrownBy(() -> Link.connect(pair.left(), world.qp()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cannot be connected");
        try (RxeWorld other = RxeWorld.start()) {
            assertThatThrownBy(() -> Link.connect(world.qp(), other.qp()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("two machines");
        }
        RcQp gone = world.qp();
        world.device.destroyQp(gone);
        assertThatThrownBy(() -> Link.connect(gone, world.qp())).hasMessageContaining("destroyed");
    }

    @Test
    void aCompletionThatFindsNoRoomIsLostAndCounted() {
        var small = world.device
                .createCq(io.pagewalk.rdma.verbs.Owner.kernel("small"), 1)
                .value();
        RcQp qp =
                (RcQp) world.device.createQp(world.pd, QpInit.of(small, small)).value();
        Link.establish(qp, world.qp(), QpAttributes.usual());
        qp.postSend(world.wr.write(1, 0, 0).signaled());
        qp.postSend(world.wr.write(2, 0, 0).signaled());
        assertThat(small.lost()).isOne();
        assertThat(small.size()).isOne();
        assertThat(small.capacity()).isOne();
    }
}
