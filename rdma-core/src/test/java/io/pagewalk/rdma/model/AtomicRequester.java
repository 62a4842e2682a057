package io.pagewalk.rdma.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDma;
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
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.Arrays;

/** A queue pair for one thread, and a page of the kernel's where answers arrive. */
final class AtomicRequester {
    private static final int PAGE = 4096;

    private final Machine machine;
    private final IbDma dma;
    private final RcQp qp;
    private final Cq cq;
    private final Mr sink;
    private final SgTable page = new SgTable(1);
    private final SendWr wr = new SendWr();
    private final WorkCompletion wc = new WorkCompletion();
    private final long word;
    private final int rkey;

    /**
     * Makes one.
     *
     * @param pd its domain
     * @param word address of the eight bytes
     * @param rkey their key
     */
    AtomicRequester(Pd pd, long word, int rkey) {
        this.word = word;
        this.rkey = rkey;
        VerbsDevice device = pd.device();
        machine = device.machine();
        dma = device.ibDevice().dma();
        cq = device.createCq(Owner.kernel("test"), 4).value();
        qp = (RcQp) device.createQp(pd, QpInit.of(cq, cq)).value();
        RcQp peer = (RcQp) device.createQp(pd, QpInit.of(cq, cq)).value();
        Link.establish(qp, peer, QpAttributes.usual());
        page.add(machine.pages().allocPages(Zone.NORMAL, 0), PAGE);
        dma.mapSgTable(page, DmaDirection.BIDIRECTIONAL, 0);
        sink = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        FastReg.mapMrSg(sink, page, 1, 0, PAGE);
        FastReg.updateFastRegKey(sink, 0x77);
        run(wr.regMr(1, sink, sink.lkey(), AccessFlags.LOCAL_WRITE));
    }

    private void run(SendWr request) {
        assertThat(qp.postSend(request.signaled())).isZero();
        assertThat(cq.poll(wc)).isEqualTo(1);
        assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
    }

    /** What came back, as a driver gets at it. */
    private long answer(SendWr request) {
        run(request.sge(sink.iova(), Long.BYTES, sink.lkey()));
        dma.syncSingleForCpu(page.dmaAddr(0), PAGE, DmaDirection.BIDIRECTIONAL);
        return machine.cpuMemory().getLong(page.physAddr(0));
    }

    long read() {
        return answer(wr.read(2, word, rkey));
    }

    /** Reads so many times; what was there each time. */
    long[] read(int times) {
        long[] found = new long[times];
        Arrays.setAll(found, i -> read());
        return found;
    }

    /** Adds so many times; what was there each time. */
    long[] add(int times, long addend) {
        long[] found = new long[times];
        Arrays.setAll(found, i -> answer(wr.fetchAdd(3, word, rkey, addend)));
        return found;
    }

    /** Tries to add by swapping, so many times; what the swaps found that succeeded. */
    long[] swap(int times, long addend) {
        long[] found = new long[times];
        int swaps = 0;
        long expected = 0;
        for (int i = 0; i < times; i++) {
            long there = answer(wr.compareAndSwap(4, word, rkey, expected, expected + addend));
            if (there == expected) {
                found[swaps++] = there;
                expected += addend;
            } else {
                expected = there;
            }
        }
        return Arrays.copyOf(found, swaps);
    }
}
