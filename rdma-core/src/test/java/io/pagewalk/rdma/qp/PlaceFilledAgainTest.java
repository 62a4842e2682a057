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
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendFlags;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A fault's handler may take the queue pair that faults through RESET and post on it anew: the request that faulted is
 * gone, and how it ends is nothing to the new one, even where that one stands in its place of the queue.
 */
class PlaceFilledAgainTest {
    private static final QpState[] TO_RESET = {QpState.RESET};
    private static final QpState[] BY_ERROR = {QpState.ERR, QpState.RESET};
    private static final int BYTES = 8;

    private final VerbsWorld world = new VerbsWorld(VerbsWorld.Kind.IRDMA_STRICT, 1);
    private final VerbsDevice device = world.devices.get(0);
    private final Pd pd = device.allocPd(0, "test").value();
    private final Cq cq = device.createCq(Owner.kernel("test"), 64).value();
    private final RcQp right = qp(8);
    private final RcQp loose = qp(8);
    private final long addr = world.memory(2);
    private final Mr memory = device.regUserMr(
                    pd, 0, world.process, addr, VerbsWorld.PAGE, addr, AccessFlags.LOCAL_WRITE)
            .value();

    @AfterEach
    void close() {
        world.close();
    }

    private RcQp qp(int sends) {
        return (RcQp)
                device.createQp(pd, QpInit.of(cq, cq).withSizes(sends, 8, 1)).value();
    }

    /** Which side of a write faults. */
    enum Side {
        SOURCE,
        TARGET
    }

    /** A region whose pages are unmapped. */
    private Mr faulting(RcQp qp) {
        SgTable list = world.list(2);
        device.ibDevice().dma().mapSgTable(list, DmaDirection.BIDIRECTIONAL, 0);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 2).value();
        assertThat(FastReg.mapMrSg(fast, list, list.nents(), 0, VerbsWorld.PAGE))
                .isEqualTo(list.nents());
        assertThat(qp.postSend(new SendWr().regMr(1, fast, fast.lkey(), VerbsWorld.ALL)))
                .isZero();
        device.ibDevice().dma().unmapSgTable(list, DmaDirection.BIDIRECTIONAL, 0);
        return fast;
    }

    private SendWr write(RcQp qp, Side side) {
        Mr fast = faulting(qp);
        return side == Side.SOURCE
                ? new SendWr().write(7, addr, 0).sge(fast.iova(), BYTES, fast.lkey())
                : new SendWr().write(7, fast.iova(), fast.rkey()).sge(addr, BYTES, memory.lkey());
    }

    private List<String> completions() {
        List<String> seen = new ArrayList<>();
        WorkCompletion completion = new WorkCompletion();
        while (cq.poll(completion) == 1) {
            seen.add(completion.wrId() + " " + completion.status());
        }
        return seen;
    }

    static Stream<Arguments> ways() {
        return Stream.of(1, 8)
                .flatMap(sends -> Stream.of(Side.values())
                        .flatMap(side -> Stream.of(TO_RESET, BY_ERROR)
                                .flatMap(way -> Stream.of(true, false)
                                        .map(stepped -> Arguments.of(sends, side, way, stepped)))));
    }

    /** The new request waits: for a step, or for a receive. */
    @ParameterizedTest
    @MethodSource("ways")
    void whatAHandlerPostsAnewRunsFromItsBeginning(int sends, Side side, QpState[] way, boolean stepped) {
        RcQp left = qp(sends);
        Link.establish(left, right, QpAttributes.usual());
        SendWr faultingOne = write(left, side);
        completions();
        SendWr anew = new SendWr().send(9).sge(addr, BYTES, memory.lkey()).flags(SendFlags.SIGNALED);
        world.machine.faults().onFault(fault -> {
            world.machine.faults().onFault(null);
            for (QpState state : way) {
                assertThat(left.modify(state, QpAttributes.usual())).isZero();
            }
            Link.establish(left, loose, QpAttributes.usual().withRetries(3, 3)).setStepped(stepped);
            assertThat(left.postSend(anew)).isZero();
        });
        assertThat(left.postSend(faultingOne)).isZero();
        assertThat(left.state()).isEqualTo(QpState.RTS);
        assertThat(left.postedSends()).isEqualTo(1);
        assertThat(completions()).isEqualTo(way == TO_RESET ? List.of() : List.of("7 " + WcStatus.WR_FLUSH_ERR));

        assertThat(loose.postRecv(new RecvWr().reset(5).sge(addr + 0x100, BYTES, memory.lkey())))
                .isZero();
        world.machine.clock().advance(1_000_000_000);
        left.link().run();
        assertThat(completions()).containsExactly("5 " + WcStatus.SUCCESS, "9 " + WcStatus.SUCCESS);
        assertThat(left.postedSends()).isZero();
    }

    /** What the peer executes when it faults; the adapters know no atomics, and rxe uses no bus. */
    enum Request {
        SEND,
        WRITE,
        READ
    }

    private SendWr request(Request request, Mr fast) {
        return switch (request) {
            case SEND -> new SendWr().send(7);
            case WRITE -> new SendWr().write(7, fast.iova(), fast.rkey());
            case READ -> new SendWr().read(7, fast.iova(), fast.rkey());
        };
    }

    @ParameterizedTest
    @EnumSource
    void whatAHandlerMadeOfThePeerIsNotPutInErrorByARequestOfBefore(Request request) {
        RcQp left = qp(8);
        Link.establish(left, right, QpAttributes.usual());
        Mr fast = faulting(left);
        assertThat(right.postRecv(new RecvWr().reset(4).sge(fast.iova(), BYTES, fast.lkey())))
                .isZero();
        completions();
        world.machine.faults().onFault(fault -> {
            world.machine.faults().onFault(null);
            assertThat(right.modify(QpState.RESET, QpAttributes.usual())).isZero();
            Link.establish(right, loose, QpAttributes.usual());
            assertThat(right.postRecv(new RecvWr().reset(5).sge(addr, BYTES, memory.lkey())))
                    .isZero();
        });
        assertThat(left.postSend(request(request, fast).sge(addr, BYTES, memory.lkey())))
                .isZero();
        assertThat(left.state()).isEqualTo(QpState.ERR);
        assertThat(right.state()).isEqualTo(QpState.RTS);
        assertThat(right.postedReceives()).isEqualTo(1);
        assertThat(completions()).singleElement().asString().startsWith("7 REM_");
        SendWr anew = new SendWr().send(9).sge(addr, BYTES, memory.lkey()).flags(SendFlags.SIGNALED);
        assertThat(loose.postSend(anew)).isZero();
        assertThat(completions()).containsExactly("5 " + WcStatus.SUCCESS, "9 " + WcStatus.SUCCESS);
    }
}
