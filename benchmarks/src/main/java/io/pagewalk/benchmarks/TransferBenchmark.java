package io.pagewalk.benchmarks;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a transfer of 256 KiB costs a storage target on an iWARP adapter, over each backend, beside the bare copies of
 * the same bytes; and what its regions cost: one made and ended, one taken from its pool and put back.
 *
 * <p>Hypothesis: packets of 4 KiB are copied twice, into a packet and out of it, so that the transfer is a small
 * multiple of the copies over dma-direct; bouncing adds two more copies, translation a walk for each packet. Taking a
 * region from the pool is a lock and a list, and two orders cheaper than making one. A transfer allocates nothing.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class TransferBenchmark {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final long DISK = 0x1_4000_0000L;
    private static final long MEMORY = 0x1_5000_0000L;

    /** The backend under the adapter. */
    @Param({"direct", "swiotlb", "iommu-strict", "iommu-lazy"})
    public String backend = "direct";

    private final SgTable disk = new SgTable(PAGES);
    private final SgTable memory = new SgTable(PAGES);
    private final WorkCompletion completion = new WorkCompletion();
    private final byte[] packet = new byte[PAGE];
    private Machine machine = BenchmarkMachine.of("direct");
    private Ends ends = new Ends(machine);

    /** A target and its peer, whose buffer stays registered. */
    private static final class Ends {
        final VerbsDevice device;
        final Pd pd;
        final Cq cq;
        final RcQp qp;
        final RcQp peer;
        final Mr buffer;
        final RwContext context;

        Ends(Machine machine) {
            Device dmaDevice = BenchmarkMachine.device(machine);
            device = I40iwDevice.add("i40iw0", dmaDevice, I40iwConfig.x722(Generation.IRDMA))
                    .value();
            pd = device.allocPd(0, "target").value();
            cq = device.createCq(Owner.kernel("target"), 64).value();
            qp = (RcQp)
                    device.createQp(pd, QpInit.of(cq, cq).withSizes(16, 1, 3).with(RwInit.of(2)))
                            .value();
            peer = (RcQp)
                    device.createQp(pd, QpInit.of(cq, cq).withSizes(16, 1, 3)).value();
            Link.establish(qp, peer, QpAttributes.usual().withPathMtu(PAGE));
            buffer = FastReg.allocMr(pd, MrType.MEM_REG, PAGES).value();
            context = new RwContext(device);
        }
    }

    /** Registers the peer's buffer. */
    @Setup(Level.Trial)
    public void open() {
        machine.close();
        machine = BenchmarkMachine.of(backend);
        ends = new Ends(machine);
        disk.clear();
        memory.clear();
        for (int i = 0; i < PAGES; i++) {
            disk.add(DISK + 2L * i * PAGE, PAGE);
            memory.add(MEMORY + 2L * i * PAGE, PAGE);
        }
        require(ends.device.ibDevice().dma().mapSgTable(memory, DmaDirection.TO_DEVICE, 0) == 0);
        int covered = FastReg.mapMrSg(ends.buffer, memory, memory.nents(), 0, PAGE);
        require(covered == memory.nents());
        SendWr wr = new SendWr().regMr(1, ends.buffer, ends.buffer.rkey(), AccessFlags.REMOTE_READ);
        require(ends.peer.postSend(wr.signaled()) == 0);
        require(ends.cq.poll(completion) == 1);
        require(completion.status().value() == 0);
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    private static void require(boolean done) {
        if (!done) {
            throw new IllegalStateException("a step of the transfer failed");
        }
    }

    /** The bare copies: each page into a packet and out of it. */
    @Benchmark
    public void baselineCopies() {
        for (int i = 0; i < PAGES; i++) {
            machine.memory().read(MEMORY + 2L * i * PAGE, packet, 0, PAGE);
            machine.memory().write(DISK + 2L * i * PAGE, packet, 0, PAGE);
        }
    }

    /**
     * A block read from the peer: mapped, prepared, posted, completed, unmapped.
     *
     * @return the bytes of the completion
     */
    @Benchmark
    public long transfer() {
        RcQp qp = ends.qp;
        int places =
                ends.context.init(qp, 0, 1, disk, 0, ends.buffer.iova(), ends.buffer.rkey(), DmaDirection.FROM_DEVICE);
        require(places > 0);
        require(ends.context.post(qp, 2, null) == 0);
        require(ends.cq.poll(completion) == 1);
        require(completion.status().value() == 0);
        ends.context.destroy(qp, 0, disk, DmaDirection.FROM_DEVICE);
        return completion.byteLen();
    }

    /** A region taken from its pool and put back. */
    @Benchmark
    public void poolGetAndPut() {
        Mr mr = ends.qp.rdmaMrs().get();
        if (mr != null) {
            ends.qp.rdmaMrs().put(mr);
        }
    }

    /**
     * A region made and ended.
     *
     * @return what its end answered
     */
    @Benchmark
    public int allocAndDereg() {
        return ends.device.deregMr(
                FastReg.allocMr(ends.pd, MrType.MEM_REG, PAGES).value(), 0);
    }
}
