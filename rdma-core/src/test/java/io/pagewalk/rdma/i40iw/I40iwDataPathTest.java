package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
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
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** From a stag to bytes: what an adapter reaches, and what it refuses. */
class I40iwDataPathTest {
    private static final int PAGE = 4096;
    private static final int LW = AccessFlags.LOCAL_WRITE;
    private static final int RR = AccessFlags.REMOTE_READ;
    private static final int RW = AccessFlags.REMOTE_WRITE;

    private Machine machine = machine("direct");
    private VerbsDevice device = add(machine, I40iwConfig.e810());
    private I40iwDevice driver = (I40iwDevice) device.provider();
    private Process process = Process.create(machine);
    private Pd pd = device.allocPd(0, "test").value();
    private Cq cq = device.createCq(Owner.kernel("test"), 16).value();
    private RcQp left = qp(pd);
    private RcQp right = qp(pd);
    private final SendWr wr = new SendWr();
    private final WorkCompletion completion = new WorkCompletion();

    private void open(String backend, I40iwConfig config) {
        machine = machine(backend);
        device = add(machine, config);
        driver = (I40iwDevice) device.provider();
        process = Process.create(machine);
        pd = device.allocPd(0, "test").value();
        cq = device.createCq(Owner.kernel("test"), 16).value();
        connect(pd);
    }

    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(64L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .build();
    }

    private static VerbsDevice add(Machine machine, I40iwConfig config) {
        return I40iwDevice.add(
                        "rdma0", machine.addDevice(DeviceConfig.named("nic").withMask(-1L)), config)
                .value();
    }

    private RcQp qp(Pd domain) {
        return (RcQp)
                device.createQp(domain, QpInit.of(cq, cq).withSizes(8, 1, 3)).value();
    }

    private void connect(Pd domain) {
        left = qp(domain);
        right = qp(pd);
        Link.establish(left, right, QpAttributes.usual());
    }

    private Mr reg(long addr, int pages, long iova, int access) {
        return device.regUserMr(pd, 0, process, addr, (long) pages * PAGE, iova, access)
                .value();
    }

    private String post(SendWr request) {
        assertThat(left.postSend(request.signaled())).isZero();
        assertThat(cq.poll(completion)).isEqualTo(1);
        return completion.status().name();
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "iommu-strict", "iommu-lazy", "swiotlb"})
    @DisplayName("rdma:IRD-6, IRD-7: bytes go from one process region to another, over all their pages")
    void bytesCrossEveryPage(String backend) {
        for (I40iwConfig config : new I40iwConfig[] {I40iwConfig.x722(Generation.I40IW), I40iwConfig.e810()}) {
            open(backend, config);
            long from = Scattered.memory(process, 7);
            long to = Scattered.memory(process, 7);
            byte[] bytes = new byte[6 * PAGE];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) (i * 31 + (i >> 8));
            }
            process.writeBytes(from + 100, bytes);
            Mr src = reg(from, 7, 0x7000_0000L, 0);
            Mr dst = reg(to, 7, to, LW | RW);
            wr.write(1, to + 200, dst.rkey()).sge(0x7000_0000L + 100, bytes.length, src.lkey());
            assertThat(post(wr)).isEqualTo("SUCCESS");
            device.deregMr(dst, 0);
            device.deregMr(src, 0);
            assertThat(process.readBytes(to + 200, bytes.length)).isEqualTo(bytes);
            assertThat(Arrays.equals(process.readBytes(to + 8, 192), new byte[192]))
                    .isTrue();
        }
    }

    @Test
    @DisplayName("rdma:DP-21, STAG-3: what the adapter refuses: rights, key byte, index, range, domain, atomics")
    void whatTheAdapterRefuses() {
        open("direct", I40iwConfig.x722(Generation.IRDMA));
        long addr = Scattered.memory(process, 2);
        Mr src = reg(addr, 2, addr, LW);
        Mr readable = reg(addr, 2, addr, RR);
        Mr own = reg(addr, 2, addr, LW | RW | RR);
        Pd other = device.allocPd(0, "other").value();
        Mr foreign =
                device.regUserMr(other, 0, process, addr, PAGE, addr, LW | RW).value();
        assertThat(write(src, addr, readable.rkey(), 8)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr, own.rkey() ^ 1, 8)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr, own.rkey() ^ 0x8000_0000, 8)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr + PAGE, own.rkey(), PAGE + 1)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr - 1, own.rkey(), 8)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr, foreign.rkey(), 8)).isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr, 0, 8)).as("all memory is no peer's").isEqualTo("REM_ACCESS_ERR");
        assertThat(write(src, addr, own.rkey(), 8)).isEqualTo("SUCCESS");
        wr.fetchAdd(1, addr, own.rkey(), 1).sge(addr, 8, src.lkey());
        assertThat(post(wr)).isEqualTo("REM_ACCESS_ERR");
        device.deregMr(own, 0);
        connect(pd);
        assertThat(write(src, addr, own.rkey(), 8)).as("after its end").isEqualTo("REM_ACCESS_ERR");
    }

    /** On fresh queue pairs, as a refusal ends them. */
    private String write(Mr src, long remoteAddr, int rkey, int length) {
        connect(pd);
        String status = post(wr.write(1, remoteAddr, rkey).sge(src.iova(), length == 8 ? 8 : PAGE + 1, src.lkey()));
        if (status.equals("SUCCESS")) {
            connect(pd);
        }
        return status;
    }

    @Test
    @DisplayName("rdma:PD-2, STAG-1: stag 0 is all memory, for domains of the kernel alone")
    void stagZeroIsTheKernelsAlone() {
        open("direct", I40iwConfig.x722(Generation.IRDMA).withIdealStatuses());
        long page = machine.pages().allocPages(Zone.NORMAL, 0);
        machine.cpuMemory().putLong(page, 0x1234);
        long addr = Scattered.memory(process, 1);
        Mr dst = reg(addr, 1, addr, LW | RW);
        assertThat(post(wr.write(1, addr, dst.rkey()).sge(page, 8, pd.localDmaLkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(addr)).isEqualTo(0x1234);
        Pd ofAProcess = driver.allocPd(device, Owner.of(process)).value();
        connect(ofAProcess);
        assertThat(post(wr.write(1, addr, dst.rkey()).sge(page, 8, 0))).isEqualTo("LOC_QP_OP_ERR");
    }

    @Test
    @DisplayName(
            "rdma:IRD-5: REG_MR wants a free fast region of its domain and index; then the key changes its low byte")
    void fastRegistration() {
        open("iommu-strict", I40iwConfig.x722(Generation.IRDMA).withIdealStatuses());
        SgTable sg = new SgTable(3);
        for (int i = 0; i < 3; i++) {
            sg.add(machine.pages().allocPages(Zone.NORMAL, 1), PAGE);
        }
        device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 3).value();
        assertThat(FastReg.mapMrSg(fast, sg, sg.nents(), 0, PAGE)).isEqualTo(sg.nents());
        FastReg.updateFastRegKey(fast, 0x42);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RR))).isEqualTo("SUCCESS");
        long addr = Scattered.memory(process, 3);
        Mr sink = reg(addr, 3, addr, LW);
        machine.cpuMemory().putLong(sg.physAddr(2), 77);
        assertThat(post(wr.read(1, fast.iova() + 2 * PAGE, fast.rkey()).sge(addr, 8, sink.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(addr)).isEqualTo(77);
        assertThat(post(wr.localInv(1, fast.rkey()))).isEqualTo("SUCCESS");
        assertThat(post(wr.localInv(1, fast.rkey()))).as("again").isEqualTo("SUCCESS");
        assertThat(post(wr.regMr(1, fast, fast.lkey() ^ 0x100, LW))).isEqualTo("LOC_QP_OP_ERR");
        connect(pd);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW))).isEqualTo("SUCCESS");
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW))).as("not free").isEqualTo("LOC_QP_OP_ERR");
        connect(pd);
        assertThat(post(wr.localInv(1, sink.lkey()))).as("no fast region").isEqualTo("LOC_QP_OP_ERR");
        connect(pd);
        assertThat(post(wr.bindMw(1, 1, 2, 3, 0, 0, 0))).isEqualTo("MW_BIND_ERR");
    }

    @Test
    @DisplayName("rdma:RW-17, RW-18: a read with invalidation takes its sink out of use, on iWARP alone")
    void aReadWithInvalidation() {
        open("direct", I40iwConfig.x722(Generation.IRDMA).withIdealStatuses());
        SgTable sg = new SgTable(1).add(machine.pages().allocPages(Zone.NORMAL, 0), PAGE);
        device.ibDevice().dma().mapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        long addr = Scattered.memory(process, 1);
        process.putLong(addr, 99);
        Mr src = reg(addr, 1, addr, RR);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        FastReg.mapMrSg(fast, sg, 1, 0, PAGE);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RW))).isEqualTo("SUCCESS");
        assertThat(post(wr.readWithInv(1, addr, src.rkey(), 0x777).sge(fast.iova(), 8, fast.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(machine.cpuMemory().getLong(sg.physAddr(0))).isEqualTo(99);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RW)))
                .as("free again")
                .isEqualTo("SUCCESS");
        assertThat(post(wr.readWithInv(1, addr, src.rkey())))
                .as("no sink, nothing to invalidate")
                .isEqualTo("SUCCESS");
        assertThat(post(wr.readWithInv(1, addr, src.rkey())
                        .sge(addr, 8, reg(addr, 1, addr, LW).lkey())))
                .as("a region that cannot be invalidated")
                .isEqualTo("LOC_QP_OP_ERR");
        open("direct", I40iwConfig.e810().withIdealStatuses());
        assertThat(post(wr.readWithInv(1, 0, 0))).isEqualTo("LOC_QP_OP_ERR");
    }

    @Test
    @DisplayName("rdma:IRD-7 a zero-based region counts from 0")
    void zeroBasedRegionsCountFromZero() {
        open("direct", I40iwConfig.x722(Generation.IRDMA));
        long addr = Scattered.memory(process, 3);
        Mr zero = reg(addr, 3, addr, LW | RW | AccessFlags.ZERO_BASED);
        Mr src = reg(addr, 1, addr, 0);
        process.putLong(addr, 0x55);
        assertThat(post(wr.write(1, 2 * PAGE, zero.rkey()).sge(addr, 8, src.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(addr + 2 * PAGE)).isEqualTo(0x55);
    }

    @Test
    @DisplayName(
            "rdma:IRD-5 a fast registration at level 2 carries the root as a list: the adapter reads leaf indexes as pages")
    void level2FastRegistrationGoesWrongAsInTheKernel() {
        open("iommu-strict", I40iwConfig.x722(Generation.IRDMA).withPbles(0x1000, 4 * 512));
        Mr first = FastReg.allocMr(pd, MrType.MEM_REG, 512).value();
        FastReg.allocMr(pd, MrType.MEM_REG, 8);
        Mr second = FastReg.allocMr(pd, MrType.MEM_REG, 512).value();
        FastReg.allocMr(pd, MrType.MEM_REG, 8);
        device.deregMr(first, 0);
        device.deregMr(second, 0);
        I40iwMr fast = (I40iwMr) FastReg.allocMr(pd, MrType.MEM_REG, 1040).value();
        assertThat(fast.list().level()).isEqualTo(2);
        SgTable sg = new SgTable(2);
        sg.add(machine.pages().allocPages(Zone.NORMAL, 1), 2 * PAGE);
        device.ibDevice().dma().mapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        FastReg.mapMrSg(fast, sg, 1, 0, PAGE);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RW))).isEqualTo("SUCCESS");
        long addr = Scattered.memory(process, 1);
        Mr src = reg(addr, 1, addr, 0);
        assertThat(post(wr.write(1, fast.iova(), fast.rkey()).sge(addr, 8, src.lkey())))
                .isEqualTo("REM_ACCESS_ERR");
        assertThat(machine.faults().recent().get(0).dmaAddr())
                .isEqualTo(fast.list().leafIndex(0) & -PAGE);
    }

    /** A fast region of the peer's whose list is unmapped already, and a write to it. */
    private Mr writeToWhatIsUnmapped() {
        open("iommu-strict", I40iwConfig.x722(Generation.IRDMA));
        SgTable sg = new SgTable(1).add(machine.pages().allocPages(Zone.NORMAL, 1), 2 * PAGE);
        device.ibDevice().dma().mapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 2).value();
        FastReg.mapMrSg(fast, sg, 1, 0, PAGE);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RW))).isEqualTo("SUCCESS");
        device.ibDevice().dma().unmapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        long addr = Scattered.memory(process, 1);
        wr.write(7, fast.iova(), fast.rkey()).sge(addr, 8, reg(addr, 1, addr, 0).lkey());
        return fast;
    }

    @ParameterizedTest
    @EnumSource(
            value = QpState.class,
            names = {"ERR", "RESET"})
    @DisplayName("rdma:DP-5: who is told of a fault may move the queue pair whose request it was")
    void aFaultHandlerMayMoveTheQueuePair(QpState next) {
        writeToWhatIsUnmapped();
        machine.faults().onFault(fault -> left.modify(next, QpAttributes.usual()));
        assertThat(left.postSend(wr.signaled())).isZero();
        assertThat(cq.size()).as("flushed once, or forgotten").isEqualTo(next == QpState.ERR ? 1 : 0);
        if (cq.poll(completion) == 1) {
            assertThat(completion).hasToString("request 7 of queue pair " + left.qpNum() + ": WR_FLUSH_ERR");
        }
        assertThat(left.state()).isEqualTo(next);
        assertThat(left.postedSends()).isZero();
        assertThat(right.state()).isEqualTo(QpState.ERR);
    }

    @Test
    void aFaultHandlerThatThrowsLeavesNothingHeld() {
        Mr fast = writeToWhatIsUnmapped();
        machine.faults().onFault(fault -> {
            throw new IllegalStateException("seen");
        });
        assertThatThrownBy(() -> left.postSend(wr.signaled())).hasMessage("seen");
        assertThat(cq.poll(completion)).isOne();
        assertThat(completion.status()).isEqualTo(WcStatus.WR_FLUSH_ERR);
        assertThat(device.deregMr(fast, 0)).isZero();
        assertThat(machine.log().warnCount()).as("nobody held it").isZero();
    }

    @Test
    @DisplayName("rdma:IRD-7, UMEM-31: what is unmapped under a fast region faults, and the peer is told")
    void anUnmappedListFaultsOnTheBus() {
        open("iommu-strict", I40iwConfig.x722(Generation.IRDMA));
        SgTable sg = new SgTable(1).add(machine.pages().allocPages(Zone.NORMAL, 1), 2 * PAGE);
        device.ibDevice().dma().mapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 2).value();
        FastReg.mapMrSg(fast, sg, 1, 0, PAGE);
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RW))).isEqualTo("SUCCESS");
        device.ibDevice().dma().unmapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        long addr = Scattered.memory(process, 1);
        Mr src = reg(addr, 1, addr, 0);
        assertThat(post(wr.write(1, fast.iova() + PAGE, fast.rkey()).sge(addr, 8, src.lkey())))
                .isEqualTo("REM_ACCESS_ERR");
        assertThat(machine.faults().recent()).hasSize(1);
        assertThat(machine.faults().recent().get(0).dmaAddr()).isEqualTo(fast.iova() + PAGE);
    }
}
