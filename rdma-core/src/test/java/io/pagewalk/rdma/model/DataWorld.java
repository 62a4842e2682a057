package io.pagewalk.rdma.model;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.model.Program.Area;
import io.pagewalk.rdma.model.Program.Setup;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A device with two connected queue pairs, regions and windows, and the model of all of it. */
final class DataWorld implements AutoCloseable {
    static final int PAGE = 4096;
    static final int RUN = 2 * PAGE;
    private static final int RUNS = 3;
    private static final int FAST_PAGES = 64;
    private static final int QUEUE = 6;
    private static final int SEGMENTS = 4;
    private static final int INLINE = 400;

    private static final int FAST_REGIONS = 2;
    private static final int[] WINDOWS = {Mw.TYPE_1, Mw.TYPE_2, Mw.TYPE_2};

    final Machine machine;
    final VerbsDevice device;
    final DataModel model;
    final RcQp[] qps = new RcQp[2];
    final List<SgTable> lists = new ArrayList<>();
    private final boolean coherent;
    private final Process process;
    private final Pd[] pds = new Pd[2];
    private final Cq[] sendCqs = new Cq[2];
    private final Cq[] recvCqs = new Cq[2];
    private final QpAttributes attributes;
    private final List<Memory> memories = new ArrayList<>();
    private final Random random = new Random(7);
    private final WorkCompletion wc = new WorkCompletion();

    /** Bytes, and where they really are. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Memory(byte[] expected, long userAddr, List<Long> physAddrs) {}

    /**
     * Makes a world.
     *
     * @param device on which it is
     * @param rules of the device
     * @param windows whether it has windows
     * @param coherent whether what a device writes is seen before it is unmapped
     * @param setup what there is
     */
    DataWorld(VerbsDevice device, ModelRules rules, boolean windows, boolean coherent, Setup setup) {
        this.device = device;
        this.coherent = coherent;
        machine = device.machine();
        process = Process.create(machine);
        attributes = QpAttributes.usual()
                .withAccess(setup.access())
                .withPathMtu(setup.pathMtu())
                .withMaxDestRdAtomic(setup.maxDestRdAtomic())
                .withRetries(1, setup.rnrRetry());
        ModelKeys keys = new ModelKeys(rules);
        ModelQp[] ends = new ModelQp[2];
        for (int side = 0; side < 2; side++) {
            pds[side] = device.allocPd(0, "pd" + side).value();
            sendCqs[side] = device.createCq(Owner.kernel("test"), 64).value();
            recvCqs[side] = device.createCq(Owner.kernel("test"), 64).value();
        }
        for (int side = 0; side < 2; side++) {
            int pd = side == 1 && setup.rightForeign() ? 1 : 0;
            QpInit init = QpInit.of(sendCqs[side], recvCqs[side])
                    .withSizes(
                            QUEUE, QUEUE, Math.min(SEGMENTS, device.attributes().maxSge()))
                    .withInline(Math.min(INLINE, device.attributes().maxInlineData()))
                    .with(setup.checks());
            qps[side] = (RcQp) device.createQp(pds[pd], init).value();
            ends[side] = new ModelQp(pd, init, attributes);
        }
        Link.establish(qps[0], qps[1], attributes);
        model = new DataModel(keys, ends[0], ends[1]);
        setup.areas().forEach(this::register);
        for (int i = 0; i < FAST_REGIONS; i++) {
            addFast();
        }
        if (windows) {
            for (int type : WINDOWS) {
                keys.windows.add(new ModelWindow(device.allocMw(pds[0], type).value(), 0));
            }
        }
    }

    private byte[] noise(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private void register(Area area) {
        byte[] bytes = noise(area.pages() * PAGE);
        long base = process.mmap(bytes.length);
        process.writeBytes(base, bytes);
        long addr = base + area.headBytes();
        long length = (long) bytes.length - area.headBytes() - area.tailBytes();
        long iova = addr + area.shiftPages() * (long) PAGE;
        int pd = area.foreign() ? 1 : 0;
        Mr mr = device.regUserMr(pds[pd], 0, process, addr, length, iova, area.access())
                .value();
        ModelRegion region = new ModelRegion(model.keys.rules, mr, pd, bytes);
        region.place(iova, length, area.headBytes());
        region.access = area.access();
        region.valid = true;
        model.keys.regions.add(region);
        memories.add(new Memory(bytes, base, List.of()));
    }

    /** A fast region over pages of the kernel, which is mapped but not yet in use. */
    private void addFast() {
        byte[] bytes = noise(RUNS * RUN);
        SgTable sg = new SgTable(RUNS);
        List<Long> runs = new ArrayList<>();
        for (int i = 0; i < RUNS; i++) {
            long physAddr = machine.pages().allocPages(Zone.NORMAL, 1);
            machine.cpuMemory().write(physAddr, bytes, i * RUN, RUN);
            sg.add(physAddr, RUN);
            runs.add(physAddr);
        }
        if (device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0) != 0) {
            throw new IllegalStateException("the list could not be mapped");
        }
        lists.add(sg);
        Mr mr = FastReg.allocMr(pds[0], MrType.MEM_REG, FAST_PAGES).value();
        ModelRegion region = new ModelRegion(model.keys.rules, mr, 0, bytes);
        if (model.keys.rules.isFirst()) {
            region.rkey = 0;
        }
        model.keys.regions.add(region);
        memories.add(new Memory(bytes, 0, runs));
        map(region, 0, PAGE);
    }

    /** Maps a fast region's list from an offset on; how many segments it covered. */
    int map(ModelRegion region, int offset, int pageBytes) {
        SgTable sg = listOf(region);
        int covered = FastReg.mapMrSg(region.mr, sg, sg.nents(), offset, pageBytes);
        region.place(sg.dmaAddr(0) + offset, (long) RUNS * RUN - offset, offset);
        return covered;
    }

    SgTable listOf(ModelRegion region) {
        int fast = (int) model.keys.regions.stream()
                .takeWhile(r -> r != region)
                .filter(r -> r.type == MrType.MEM_REG)
                .count();
        return lists.get(fast);
    }

    /** Breaks both ends and connects them anew. */
    void reconnect() {
        for (RcQp qp : qps) {
            qp.modify(QpState.ERR, attributes);
        }
        for (RcQp qp : qps) {
            qp.modify(QpState.RESET, attributes);
        }
        Link.establish(qps[0], qps[1], attributes);
        model.reconnect();
    }

    // ---- what is seen

    List<Done> sent(int side) {
        return drain(sendCqs[side], side, false);
    }

    List<Done> received(int side) {
        return drain(recvCqs[side], side, true);
    }

    private List<Done> drain(Cq cq, int side, boolean received) {
        List<Done> all = new ArrayList<>();
        while (cq.poll(wc) == 1) {
            if (wc.qpNum() != qps[side].qpNum()) {
                throw new AssertionError("completion of queue pair " + wc.qpNum() + " on " + qps[side]);
            }
            all.add(Done.of(wc, received));
        }
        return all;
    }

    /** The first byte that differs, as text; empty when none does. */
    String difference() {
        return coherent ? differenceNow() : "";
    }

    private String differenceNow() {
        for (int i = 0; i < memories.size(); i++) {
            byte[] expected = memories.get(i).expected();
            byte[] there = bytes(memories.get(i));
            int at = java.util.Arrays.mismatch(expected, there);
            if (at >= 0) {
                return "memory " + i + " at 0x" + Integer.toHexString(at) + ": " + there[at] + ", not " + expected[at];
            }
        }
        return "";
    }

    private byte[] bytes(Memory memory) {
        byte[] there = new byte[memory.expected().length];
        if (memory.physAddrs().isEmpty()) {
            return process.readBytes(memory.userAddr(), there.length);
        }
        for (int i = 0; i < RUNS; i++) {
            machine.cpuMemory().read(memory.physAddrs().get(i), there, i * RUN, RUN);
        }
        return there;
    }

    /** Gives everything back; then all bytes are where they belong, whatever lies between device and memory. */
    String finish() {
        for (ModelWindow window : model.keys.windows) {
            require(device.deallocMw(window.mw), window.mw);
        }
        for (ModelRegion region : model.keys.regions) {
            require(device.deregMr(region.mr, 0), region.mr);
        }
        for (SgTable sg : lists) {
            device.ibDevice().dma().unmapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);
        }
        for (RcQp qp : qps) {
            require(device.destroyQp(qp), qp);
        }
        String difference = differenceNow();
        for (Pd pd : pds) {
            if (pd.useCount() != 0) {
                return pd + " is still used by " + pd.useCount();
            }
            require(device.deallocPd(pd, 0), pd);
        }
        return difference;
    }

    private static void require(int error, Object what) {
        if (error != 0) {
            throw new AssertionError(what + " cannot be given back: " + error);
        }
    }

    @Override
    public void close() {
        machine.close();
    }
}
