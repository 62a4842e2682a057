package io.pagewalk.rdma.verbs;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.BIND;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.rxe.KeyListener;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.rxe.RxeMw;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules of verbs and rxe that stand for themselves: numbers, fields, and what is not looked at. */
class VerbsRulesTest {
    private RxeWorld world = RxeWorld.start();

    @AfterEach
    void close() {
        world.close();
    }

    // ---- numbers

    @Test
    @DisplayName("DP-1: numbers of completion statuses")
    void statusesHaveTheNumbersOfTheVerbs() {
        assertThat(Stream.of(WcStatus.values()).map(s -> s + " " + s.value()))
                .containsExactly(
                        "SUCCESS 0",
                        "LOC_LEN_ERR 1",
                        "LOC_QP_OP_ERR 2",
                        "LOC_PROT_ERR 4",
                        "WR_FLUSH_ERR 5",
                        "MW_BIND_ERR 6",
                        "BAD_RESP_ERR 7",
                        "LOC_ACCESS_ERR 8",
                        "REM_INV_REQ_ERR 9",
                        "REM_ACCESS_ERR 10",
                        "REM_OP_ERR 11",
                        "RETRY_EXC_ERR 12",
                        "RNR_RETRY_EXC_ERR 13",
                        "FATAL_ERR 19",
                        "GENERAL_ERR 21");
    }

    @Test
    @DisplayName("DP-2, DP-32: numbers of requests, and of what their completions call them")
    void operationsHaveTheNumbersOfTheVerbs() {
        assertThat(Stream.of(WrOpcode.values())
                        .map(o -> o + " " + o.value() + " " + o.completion().value()))
                .containsExactly(
                        "RDMA_WRITE 0 1",
                        "RDMA_WRITE_WITH_IMM 1 1",
                        "SEND 2 0",
                        "SEND_WITH_IMM 3 0",
                        "RDMA_READ 4 2",
                        "ATOMIC_CMP_AND_SWP 5 3",
                        "ATOMIC_FETCH_AND_ADD 6 4",
                        "LOCAL_INV 7 6",
                        "BIND_MW 8 5",
                        "SEND_WITH_INV 9 0",
                        "RDMA_READ_WITH_INV 11 2",
                        "REG_MR 32 32",
                        "REG_MR_INTEGRITY 33 32");
        assertThat(WcOpcode.RECV.value()).isEqualTo(0x80);
        assertThat(WcOpcode.RECV_RDMA_WITH_IMM.value()).isEqualTo(0x81);
        assertThat(List.of(WcFlags.GRH, WcFlags.WITH_IMM, WcFlags.WITH_INVALIDATE))
                .containsExactly(1, 2, 8);
    }

    // ---- regions

    @Test
    @DisplayName("MR-1, MR-2, RXE-10: the fields of a region of a process; kinds have the numbers of the kernel")
    void fieldsOfARegion() {
        assertThat(Stream.of(MrType.values()).map(Enum::name))
                .containsExactly("MEM_REG", "SG_GAPS", "DM", "USER", "DMA", "INTEGRITY");
        long addr = world.buffer(2);
        RxeMr mr = (RxeMr) world.device
                .regUserMr(world.pd, 0, world.process, addr + 8, PAGE, 0x4444_0008L, LW)
                .value();
        assertThat(mr.pd()).isSameAs(world.pd);
        assertThat(mr.type()).isEqualTo(MrType.USER);
        assertThat(mr.iova()).isEqualTo(0x4444_0008L);
        assertThat(mr.lengthBytes()).isEqualTo(PAGE);
        assertThat(mr.needsInvalidation()).isFalse();
        assertThat(mr.sigAttrs()).isNull();
        assertThat(mr.isValid()).isTrue();
        assertThat(mr.pinnedPages()).isEqualTo(2);
        assertThat(mr.lkey()).isEqualTo(mr.rkey());
        assertThat(mr.lkey() >>> 8).isEqualTo(mr.index());
    }

    @Test
    @DisplayName("MR-5: a region goes though it is to be invalidated and a posted receive names it")
    void destructionLooksAtNoWork() {
        long addr = world.buffer(1);
        RxeMr mr = world.reg(addr, PAGE, ALL);
        mr.setNeedsInvalidation(true);
        RxeWorld.Pair pair = world.connect();
        pair.right().postRecv(world.recv.reset(1).sge(addr, 8, mr.lkey()));
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(mr.isDestroyed()).isTrue();
        pair.left().postSend(world.wr.send(2));
        assertThat(world.completions()).as("nothing was to be placed").containsExactly("1 RECV 0 flags 1");
    }

    @Test
    @DisplayName("UV-5, MR-4: a region that its driver keeps has its handle still, and goes when it may")
    void aHandleStaysWhileTheDriverRefuses() {
        UverbsFile file = UverbsFile.open(world.device, world.process);
        int pd = file.allocPd();
        long addr = world.buffer(1);
        int handle = file.regMr(0, world.process, pd, addr, PAGE, addr, ALL | BIND);
        int window = file.allocMw(pd, Mw.TYPE_1);
        Mw mw = java.util.Objects.requireNonNull(file.mw(window));
        Mr mr = java.util.Objects.requireNonNull(file.mr(handle));
        RcQp qp = world.qp(java.util.Objects.requireNonNull(file.pd(pd)), PostChecks.KERNEL);
        assertThat(world.rxe.regions().bindWindow(qp, mw.rkey(), 5, mr.lkey(), addr, 8, RR))
                .isZero();
        assertThat(file.deregMr(0, handle)).isEqualTo(-Errno.EINVAL);
        assertThat(file.mr(handle)).isSameAs(mr);
        assertThat(mr.isDestroyed()).isFalse();
        assertThat(file.deallocMw(window)).isZero();
        assertThat(file.deregMr(0, handle)).isZero();
        assertThat(file.deregMr(0, handle)).isEqualTo(-Errno.ENOENT);
    }

    @Test
    @DisplayName("RXE-3: a key leads nowhere until its region is complete")
    void aKeyLeadsNowhereBeforeItsRegionIsComplete() {
        List<Region> seen = new ArrayList<>();
        RxeDevice[] rxe = new RxeDevice[1];
        KeyListener curious = new KeyListener() {
            @Override
            public void keyMade(int index, int key, boolean indexSeenBefore) {
                seen.add(rxe[0] == null ? null : rxe[0].regions().lookupLocal(world.pd, key, 0));
            }
        };
        VerbsDevice device =
                RxeDevice.add("rxe1", world.machine, RxeConfig.kernel().withKeyListener(curious));
        rxe[0] = (RxeDevice) device.provider();
        Pd pd = device.allocPd(0, "curious").value();
        Mr mr = device.regUserMr(pd, 0, world.process, world.buffer(1), PAGE, 0, LW)
                .value();
        FastReg.allocMr(pd, MrType.MEM_REG, 1);
        assertThat(seen).hasSize(3).containsOnlyNulls();
        Region found = rxe[0].regions().lookupLocal(pd, mr.lkey(), 0);
        assertThat(found).isSameAs(mr);
        java.util.Objects.requireNonNull(found).put();
    }

    // ---- windows

    @Test
    @DisplayName("MWC-1, RXE-6: a window is a domain, a type and a key, whose number is above those of regions")
    void fieldsOfAWindow() {
        RxeMw mw = world.window(Mw.TYPE_2);
        assertThat(mw.pd()).isSameAs(world.pd);
        assertThat(mw.type()).isEqualTo(2);
        assertThat(mw.rkey() >>> 8).isEqualTo(mw.index()).isEqualTo(0x80001);
        RcQp qp = world.qp();
        assertThat(world.rxe.regions().invalidate(qp, 0x80000 << 8))
                .as("the last number of regions")
                .isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().invalidate(qp, 0x100000 << 8 | 1))
                .as("the last number of windows")
                .isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName("MWC-2, FR-7, RXE-48: a bind names the present key, the next one, the region and the range")
    void fieldsOfABind() {
        long addr = world.buffer(1);
        RxeMr mr = world.reg(addr, PAGE, ALL | BIND);
        RxeMw mw = world.window(Mw.TYPE_2);
        int next = FastReg.incRkey(mw.rkey());
        SendWr wr = new SendWr().bindMw(7, mw.rkey(), next, mr.lkey(), addr + 16, 64, RR);
        assertThat(wr.mwRkey()).isEqualTo(mw.rkey());
        assertThat(wr.rkey()).isEqualTo(next);
        assertThat(wr.mrLkey()).isEqualTo(mr.lkey());
        assertThat(wr.mwAddr()).isEqualTo(addr + 16);
        assertThat(wr.mwLengthBytes()).isEqualTo(64);
        assertThat(wr.access()).isEqualTo(RR);
        RxeWorld.Pair pair = world.connect();
        assertThat(pair.left().postSend(wr.signaled())).isZero();
        assertThat(world.completions()).containsExactly("7 BIND_MW 0");
        assertThat(mw.rkey()).isEqualTo(next);
        assertThat(mw.mr()).isSameAs(mr);
        assertThat(mw.qp()).isSameAs(pair.left());
        assertThat(mw.lengthBytes()).isEqualTo(64);
        assertThat(mr.boundWindows()).isOne();
    }

    // ---- the order of requests

    @ParameterizedTest
    @ValueSource(ints = {0, SendFlags.FENCE})
    @DisplayName("DP-8: an invalidation behind a transfer waits for it, fenced or not")
    void anInvalidationWaitsForWhatIsBeforeIt(int flags) {
        long addr = world.buffer(2);
        RxeMr source = world.reg(addr, PAGE, LW);
        RxeMr sink = world.reg(addr + PAGE, PAGE, ALL);
        RxeWorld.Pair pair = world.connect();
        RxeMw mw = world.window(Mw.TYPE_2);
        RxeMr bound = world.reg(addr, 2 * PAGE, ALL | BIND);
        int key = FastReg.incRkey(mw.rkey());
        pair.left().postSend(new SendWr().bindMw(1, mw.rkey(), key, bound.lkey(), addr, 8, RR));
        pair.link().setStepped(true);
        SendWr inv = new SendWr().localInv(3, key).signaled().flags(flags);
        pair.left()
                .postSend(new SendWr()
                        .write(2, addr + PAGE, sink.rkey())
                        .sge(addr, PAGE, source.lkey())
                        .signaled()
                        .then(inv));
        for (int packet = 0; packet < 4; packet++) {
            assertThat(mw.isValid()).as("packet %d", packet).isTrue();
            assertThat(pair.link().step()).isTrue();
        }
        assertThat(world.completions()).containsExactly("2 RDMA_WRITE 4096");
        assertThat(pair.link().step()).isTrue();
        assertThat(world.completions()).containsExactly("3 LOCAL_INV 0");
        assertThat(mw.isValid()).isFalse();
    }

    @Test
    @DisplayName("DP-24, RXE-36: a raw atomic at an odd address is an invalid request, one outside is no access")
    void rawAtomicsAtOddAddresses() {
        long addr = world.buffer(1);
        RxeMr mr = world.reg(addr, PAGE, ALL);
        byte[] before = world.bytes(addr, PAGE);
        for (long offset : new long[] {4, PAGE, PAGE - 4}) {
            RxeWorld.Pair pair = world.connect(QpAttributes.usual(), PostChecks.RAW);
            pair.left()
                    .postSend(world.wr.fetchAdd(1, addr + offset, mr.rkey(), 1).sge(addr, 8, mr.lkey()));
            assertThat(world.completions())
                    .as("at %d", offset)
                    .containsExactly(offset == 4 ? "1 REM_INV_REQ_ERR" : "1 REM_ACCESS_ERR");
        }
        assertThat(world.bytes(addr, PAGE)).isEqualTo(before);
    }

    @Test
    @DisplayName("RXE-35, DP-13: segments before the one that fails have their bytes")
    void segmentsBeforeTheOneThatFailsAreFilled() {
        long addr = world.buffer(2);
        RxeMr source = world.reg(addr, PAGE, ALL);
        RxeMr sink = world.reg(addr + PAGE, PAGE, LW);
        byte[] bytes = world.bytes(addr, 100);
        byte[] after = world.bytes(addr + PAGE + 100, 100);
        RxeWorld.Pair pair = world.connect();
        pair.left()
                .postSend(world.wr
                        .read(1, addr, source.rkey())
                        .sge(addr + PAGE, 100, sink.lkey())
                        .sge(addr + PAGE + 100, 100, sink.lkey() ^ 1));
        assertThat(world.completions()).containsExactly("1 LOC_PROT_ERR");
        assertThat(world.bytes(addr + PAGE, 100)).isEqualTo(bytes);
        assertThat(world.bytes(addr + PAGE + 100, 100)).isEqualTo(after);
    }

    // ---- queue pairs of the kernel's on rxe

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("RW-2, RW-10, POOL-1: pools of rxe stay empty, unless regions are forced; the path is that of 5.x too")
    void poolsOfRxeStayEmptyUnlessRegionsAreForced(KernelModel model) {
        for (String commandLine : List.of("", "ib_core.force_mr=1")) {
            Machine machine = Machine.builder()
                    .kernelModel(model)
                    .commandLine(commandLine)
                    .ramBytes(16L << 20)
                    .chunkBytes(1 << 16)
                    .backend("direct")
                    .build();
            VerbsDevice device = RxeDevice.add("rxe0", machine);
            Pd pd = device.allocPd(0, "target").value();
            Cq cq = device.createCq(Owner.kernel("target"), 8).value();
            Qp qp = device.createQp(pd, QpInit.of(cq, cq).withSizes(4, 1, 2).with(RwInit.of(3)))
                    .value();
            boolean forced = !commandLine.isEmpty();
            assertThat(qp.rdmaMrs().size()).isEqualTo(forced ? 3 : 0);
            assertThat(qp.sigMrs().size()).isZero();
            assertThat(qp.init().maxSendWr()).as("room").isEqualTo(4 + (forced ? 9 : 3));
            if (forced) {
                Mr mr = java.util.Objects.requireNonNull(qp.rdmaMrs().get());
                assertThat(qp.mrsUsed()).isOne();
                assertThat(mr.type()).isEqualTo(MrType.MEM_REG);
                qp.rdmaMrs().put(mr);
            }
            assertThat(device.destroyQp(qp)).isZero();
            assertThat(pd.useCount()).isZero();
            machine.close();
        }
    }

    @Test
    void aLinkConnectsQueuePairsOfTwoDevicesOfAMachine() {
        VerbsDevice other = RxeDevice.add("rxe1", world.machine);
        Pd pd = other.allocPd(0, "other").value();
        Cq cq = other.createCq(Owner.kernel("other"), 8).value();
        RcQp there = (RcQp) other.createQp(pd, QpInit.of(cq, cq)).value();
        RcQp here = world.qp();
        Link.establish(here, there, QpAttributes.usual());
        long addr = world.buffer(2);
        RxeMr source = world.reg(addr, PAGE, LW);
        Mr sink = other.regUserMr(pd, 0, world.process, addr + PAGE, PAGE, addr + PAGE, ALL)
                .value();
        here.postSend(world.wr
                .write(1, addr + PAGE, sink.rkey())
                .sge(addr, 64, source.lkey())
                .signaled());
        assertThat(world.completions()).containsExactly("1 RDMA_WRITE 64");
        assertThat(world.bytes(addr + PAGE, 64)).isEqualTo(world.bytes(addr, 64));
        there.postSend(world.wr.localInv(2, source.lkey()).signaled());
        WorkCompletion completion = new WorkCompletion();
        assertThat(cq.poll(completion)).isOne();
        assertThat(completion.status()).as("a key of the other device").isEqualTo(WcStatus.WR_FLUSH_ERR);
        assertThat(source.isValid()).isTrue();
    }
}
