package io.pagewalk.rdma.qp;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that are exactly as large as may be, and by one larger; and ranges of messages of many packets. */
class MessageLimitsTest {
    private static final int PAGES = 4;
    private static final int LENGTH = PAGES * PAGE;
    private static final int MAX_SGE = 4;
    private static final int MAX_INLINE = 128;
    private static final long MAX_MESSAGE = 1L << 31;

    private final RxeWorld world = RxeWorld.start();
    private final long near = world.buffer(PAGES);
    private final long far = world.buffer(PAGES);
    private final RxeMr local = world.reg(near, LENGTH, LW);
    private final RxeMr remote = world.reg(far, LENGTH, ALL);

    @AfterEach
    void close() {
        world.close();
    }

    private RxeWorld.Pair connect(PostChecks checks) {
        return world.connect(QpAttributes.usual(), checks);
    }

    private SendWr segments(SendWr wr, int count) {
        for (int i = 0; i < count; i++) {
            wr.sge(near + 8L * i, 8, local.lkey());
        }
        return wr.signaled();
    }

    /** As many bytes as are asked for, of which the first packets are there. */
    private SendWr bytes(SendWr wr, long length) {
        wr.sge(near, Math.min(length, MAX_MESSAGE), local.lkey());
        return length > MAX_MESSAGE ? wr.sge(near, length - MAX_MESSAGE, local.lkey()) : wr;
    }

    @ParameterizedTest
    @EnumSource(names = {"KERNEL", "USER_LIBRARY"})
    @DisplayName("DP-4, DP-7, DP-33: a queue pair takes as many segments as it was made for, and not one more")
    void asManySegmentsAsItWasMadeFor(PostChecks checks) {
        RxeWorld.Pair pair = connect(checks);
        assertThat(pair.left().postSend(segments(world.wr.write(1, far, remote.rkey()), MAX_SGE)))
                .isZero();
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 32");
        assertThat(pair.left().postSend(segments(world.wr.write(2, far, remote.rkey()), MAX_SGE + 1)))
                .isEqualTo(-Errno.EINVAL);
        RecvWr recv = new RecvWr().reset(3);
        for (int i = 0; i < MAX_SGE; i++) {
            recv.sge(far, 8, remote.lkey());
        }
        assertThat(pair.right().postRecv(recv)).isZero();
        assertThat(pair.right().postRecv(recv.sge(far, 8, remote.lkey()))).isEqualTo(-Errno.EINVAL);
        assertThat(pair.right().postedReceives()).isOne();
        assertThat(world.completions()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("DP-4, DP-33: a request carries as many bytes as the queue pair was made for, and not one more")
    void asManyInlineBytesAsItWasMadeFor(PostChecks checks) {
        RxeWorld.Pair pair = connect(checks);
        byte[] bytes = new byte[MAX_INLINE + 1];
        bytes[MAX_INLINE - 1] = 0x77;
        assertThat(pair.left()
                        .postSend(world.wr
                                .write(1, far, remote.rkey())
                                .inline(bytes, 0, MAX_INLINE)
                                .signaled()))
                .isZero();
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 128");
        assertThat(world.bytes(far + MAX_INLINE - 1, 1)).containsExactly(0x77);
        assertThat(pair.left().postSend(world.wr.write(2, far, remote.rkey()).inline(bytes, 0, MAX_INLINE + 1)))
                .isEqualTo(-Errno.EINVAL);
        assertThat(pair.left()
                        .postSend(world.wr
                                .write(3, far, remote.rkey())
                                .sge(near, MAX_INLINE + 1, local.lkey())
                                .signaled()))
                .as("not inline")
                .isZero();
        assertThat(world.completions()).containsExactly("3 RDMA_WRITE 129");
    }

    @Test
    @DisplayName("DP-4, DP-19, DP-22: a message of 2 GiB is posted and asked for; it is its range that is refused")
    void aMessageOfTwoGigabytesIsAsked() {
        for (boolean write : new boolean[] {true, false}) {
            RxeWorld.Pair pair = connect(PostChecks.KERNEL);
            SendWr wr = new SendWr();
            SendWr most = write ? wr.write(1, far, remote.rkey()) : wr.read(1, far, remote.rkey());
            assertThat(pair.left().postSend(bytes(most, MAX_MESSAGE))).isZero();
            assertThat(world.completions()).containsExactly("1 REM_ACCESS_ERR");
            pair = connect(PostChecks.KERNEL);
            assertThat(pair.left().postSend(bytes(wr.send(2), MAX_MESSAGE + 1))).isEqualTo(-Errno.EINVAL);
        }
    }

    @Test
    @DisplayName("DP-19: what a raw queue holds beyond 2 GiB is an invalid request at the peer")
    void aMessageBeyondTwoGigabytesIsInvalid() {
        for (boolean write : new boolean[] {true, false}) {
            RxeWorld.Pair pair = connect(PostChecks.RAW);
            SendWr wr = new SendWr();
            SendWr more = write ? wr.write(1, far, remote.rkey()) : wr.read(1, far, remote.rkey());
            assertThat(pair.left().postSend(bytes(more, MAX_MESSAGE + 1))).isZero();
            assertThat(world.completions()).containsExactly("1 REM_INV_REQ_ERR");
            assertThat(pair.right().state()).isEqualTo(QpState.ERR);
        }
    }

    @Test
    @DisplayName("DP-22: a read that ends outside brings not a byte, one that ends with the region brings all")
    void aReadThatEndsOutsideBringsNothing() {
        RxeWorld.Pair pair = connect(PostChecks.KERNEL);
        byte[] source = world.bytes(far + 1, LENGTH - 1);
        assertThat(pair.left()
                        .postSend(world.wr
                                .read(1, far + 1, remote.rkey())
                                .sge(near, LENGTH - 1, local.lkey())
                                .signaled()))
                .isZero();
        assertThat(world.completions()).containsExactly("1 RDMA_READ " + (LENGTH - 1));
        assertThat(world.bytes(near, LENGTH - 1)).isEqualTo(source);
        world.process.writeBytes(near, new byte[LENGTH]);
        assertThat(pair.left().postSend(world.wr.read(2, far + 1, remote.rkey()).sge(near, LENGTH, local.lkey())))
                .isZero();
        assertThat(world.completions()).containsExactly("2 REM_ACCESS_ERR");
        assertThat(world.bytes(near, LENGTH)).containsOnly(0);
    }

    @Test
    @DisplayName("DP-22: a write up to the region's end passes at each of its packets")
    void aWriteUpToTheEndPasses() {
        RxeWorld.Pair pair = connect(PostChecks.KERNEL);
        byte[] source = world.bytes(near, LENGTH - 1);
        assertThat(pair.left()
                        .postSend(world.wr
                                .write(1, far + 1, remote.rkey())
                                .sge(near, LENGTH - 1, local.lkey())
                                .signaled()))
                .isZero();
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE " + (LENGTH - 1));
        assertThat(world.bytes(far + 1, LENGTH - 1)).isEqualTo(source);
    }

    @Test
    @DisplayName("DP-16, DP-22: a read of a whole region that is asked for anew asks for what is left of it")
    void aReadThatIsAskedForAnewAsksForWhatIsLeft() {
        RxeWorld.Pair pair = connect(PostChecks.KERNEL);
        pair.link().setStepped(true);
        byte[] source = world.bytes(far, LENGTH);
        pair.left()
                .postSend(world.wr
                        .read(1, far, remote.rkey())
                        .sge(near, LENGTH, local.lkey())
                        .signaled());
        assertThat(pair.link().step()).isTrue();
        for (QpState next : new QpState[] {QpState.RESET, QpState.INIT, QpState.RTR, QpState.RTS}) {
            assertThat(pair.right().modify(next, QpAttributes.usual())).isZero();
        }
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 RDMA_READ " + LENGTH);
        assertThat(world.bytes(near, LENGTH)).isEqualTo(source);
    }

    @Test
    @DisplayName("DP-17, DP-25: each read asks for its rights, however the one before ended")
    void eachReadAsksForItsRights() {
        RxeWorld.Pair pair = connect(PostChecks.KERNEL);
        RxeMr unreadable = world.reg(far, LENGTH, LW);
        assertThat(pair.left()
                        .postSend(world.wr
                                .read(1, far, remote.rkey())
                                .sge(near, 3000, local.lkey())
                                .signaled()))
                .isZero();
        assertThat(pair.left().postSend(world.wr.read(2, far, unreadable.rkey()).sge(near, 3000, local.lkey())))
                .isZero();
        assertThat(world.completions()).containsExactly("1 RDMA_READ 3000", "2 REM_ACCESS_ERR");
        assertThat(unreadable.access() & RR).isZero();
    }

    @Test
    @DisplayName("DP-33: what a library put into its queue early runs when the queue pair is ready")
    void whatWasPostedEarlyRunsWhenReady() {
        RcQp left = world.qp(world.pd, PostChecks.USER_LIBRARY);
        RcQp right = world.qp();
        byte[] source = world.bytes(near, 8);
        assertThat(left.postSend(segments(world.wr.write(1, far, remote.rkey()), 1)))
                .isZero();
        assertThat(left.postedSends()).isOne();
        Link.establish(left, right, QpAttributes.usual());
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 8");
        assertThat(world.bytes(far, 8)).isEqualTo(source);
        assertThat(left.postedSends()).isZero();
    }

    @Test
    @DisplayName("DP-14, DP-34: a queue pair that comes into error while it waits does not wait any more")
    void inErrorNobodyWaits() {
        RxeWorld.Pair pair =
                world.connect(QpAttributes.usual().withRetries(0, QpAttributes.RNR_FOR_EVER), PostChecks.KERNEL);
        assertThat(pair.left().postSend(world.wr.send(1))).isZero();
        assertThat(world.machine.clock().armedTimers()).isOne();
        assertThat(pair.left().modify(QpState.ERR, QpAttributes.usual())).isZero();
        assertThat(world.machine.clock().armedTimers()).isZero();
        assertThat(world.completions()).containsExactly("1 WR_FLUSH_ERR");
    }
}
