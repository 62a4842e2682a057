package io.pagewalk.rdma.qp;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.VerbsWorld;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nobody waits for a link while holding another, so that handlers and those who connect never wait for each other. */
class LinkLocksTest {
    private static final int SECONDS = 30;

    private final VerbsWorld world = new VerbsWorld(VerbsWorld.Kind.IRDMA_STRICT, 1);
    private final VerbsDevice device = world.devices.get(0);
    private final Pd pd = device.allocPd(0, "test").value();
    private final Cq cq = device.createCq(Owner.kernel("test"), 64).value();
    private final RcQp left = qp();
    private final RcQp right = qp();
    private final RcQp loose = qp();
    private final RcQp another = qp();
    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();

    @AfterEach
    void close() {
        world.close();
    }

    private RcQp qp() {
        return (RcQp) device.createQp(pd, QpInit.of(cq, cq).withSizes(8, 8, 1)).value();
    }

    /** What a handler does while it runs on the link of left and right. */
    enum Deed {
        DESTROYS_THE_SENDER,
        DESTROYS_THE_PEER,
        DESTROYS_WHAT_THE_OTHER_THREAD_CONNECTS,
        CONNECTS_TWO_OTHERS,
        CONNECTS_WHAT_THE_OTHER_THREAD_CONNECTS,
        CHANGES_WHAT_THE_OTHER_THREAD_CONNECTS
    }

    private void act(Deed deed) {
        switch (deed) {
            case DESTROYS_THE_SENDER -> assertThat(device.destroyQp(left)).isZero();
            case DESTROYS_THE_PEER -> assertThat(device.destroyQp(right)).isZero();
            case DESTROYS_WHAT_THE_OTHER_THREAD_CONNECTS ->
                assertThat(device.destroyQp(loose)).isZero();
            case CONNECTS_TWO_OTHERS -> Link.connect(another, another);
            case CONNECTS_WHAT_THE_OTHER_THREAD_CONNECTS -> Link.connect(loose, another);
            default ->
                assertThat(loose.modify(QpState.INIT, QpAttributes.usual())).isZero();
        }
        seen.add("acted");
    }

    /** A write to a region whose pages are unmapped faults on the bus, while the link runs. */
    private SendWr faultingWrite() {
        SgTable list = world.list(2);
        device.ibDevice().dma().mapSgTable(list, DmaDirection.BIDIRECTIONAL, 0);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 2).value();
        assertThat(FastReg.mapMrSg(fast, list, list.nents(), 0, VerbsWorld.PAGE))
                .isEqualTo(list.nents());
        int access = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE;
        assertThat(left.postSend(new SendWr().regMr(1, fast, fast.lkey(), access)))
                .isZero();
        device.ibDevice().dma().unmapSgTable(list, DmaDirection.BIDIRECTIONAL, 0);
        long addr = world.memory(2);
        Mr source = device.regUserMr(pd, 0, world.process, addr, VerbsWorld.PAGE, addr, 0)
                .value();
        return new SendWr().write(7, fast.iova(), fast.rkey()).sge(addr, 8, source.lkey());
    }

    private static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true); // a deadlock shall fail the test, not hang it
        thread.start();
        return thread;
    }

    private static void join(Thread thread) throws InterruptedException {
        thread.join(TimeUnit.SECONDS.toMillis(SECONDS));
        assertThat(thread.isAlive()).as("%s waits for ever", thread.getName()).isFalse();
    }

    private static boolean isStuck(Thread thread) {
        Thread.State state = thread.getState();
        return state == Thread.State.WAITING || state == Thread.State.BLOCKED;
    }

    private void connect(RcQp one, RcQp other) {
        try {
            Link.connect(one, other);
            seen.add("connected");
        } catch (IllegalStateException e) {
            seen.add("refused");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aHandlerEndsWhileAThreadConnectsItsQueuePairToAnother(Deed deed) throws InterruptedException {
        play(deed, left, loose);
    }

    @ParameterizedTest
    @EnumSource
    void aHandlerEndsWhileAThreadConnectsAnotherToItsQueuePair(Deed deed) throws InterruptedException {
        play(deed, loose, left);
    }

    /** The handler acts when the other thread waits for the link that the handler runs on. */
    private void play(Deed deed, RcQp first, RcQp second) throws InterruptedException {
        Link.establish(left, right, QpAttributes.usual());
        SendWr write = faultingWrite();
        CountDownLatch inHandler = new CountDownLatch(1);
        CountDownLatch atConnect = new CountDownLatch(1);
        Thread connecting = start("connecting", () -> {
            await(inHandler);
            atConnect.countDown();
            connect(first, second);
        });
        world.machine.faults().onFault(fault -> {
            world.machine.faults().onFault(null);
            inHandler.countDown();
            while (atConnect.getCount() != 0 || !isStuck(connecting)) {
                Thread.onSpinWait();
            }
            act(deed);
        });
        Thread posting = start("posting", () -> left.postSend(write));
        join(posting);
        join(connecting);
        boolean destroyed = deed == Deed.DESTROYS_THE_SENDER || deed == Deed.DESTROYS_WHAT_THE_OTHER_THREAD_CONNECTS;
        assertThat(seen).containsExactly("acted", destroyed ? "refused" : "connected");
        assertThat(left.canBeAnswered() || loose.canBeAnswered())
                .as("a peer in ERR or INIT")
                .isFalse();
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(SECONDS, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void connectsOfTheSameQueuePairsInAnyOrderAllEnd() throws InterruptedException {
        RcQp[] all = {left, right, loose, another};
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            int from = t;
            threads.add(start("connecting " + t, () -> {
                for (int i = 0; i < 2000; i++) {
                    Link.connect(all[(i + from) & 3], all[(i * (from + 1) + 3 - from) & 3]);
                }
                seen.add("done");
            }));
        }
        for (Thread thread : threads) {
            join(thread);
        }
        assertThat(seen).containsExactly("done", "done", "done");
        Link.establish(left, right, QpAttributes.usual());
        Link.establish(loose, another, QpAttributes.usual());
        assertThat(all).allMatch(RcQp::canBeAnswered);
        for (RcQp qp : all) {
            assertThat(device.destroyQp(qp)).isZero();
        }
        assertThat(pd.useCount()).isZero();
    }
}
