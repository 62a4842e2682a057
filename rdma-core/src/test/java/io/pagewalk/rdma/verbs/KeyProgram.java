package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.VerbsWorld;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rxe.RxeMr;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A program that makes, changes and ends keys, and beside it what each key ought to lead to. A queue pair that is
 * connected with itself tries every key that was ever seen, as a local one and as a remote one, for eight bytes that
 * each region has of its own.
 */
final class KeyProgram implements AutoCloseable {
    private static final int PAGE = VerbsWorld.PAGE;
    private static final int ALL = VerbsWorld.ALL;
    private static final int MOST = 4;

    /** What a region's keys are, by the specification alone. */
    private static final class Model {
        private final Mr mr;
        private final int handle;
        private final long tag;
        private final @Nullable SgTable list;
        private long addr;
        private int key;
        private boolean valid;
        private boolean elsewhere;

        Model(Mr mr, int handle, long tag, @Nullable SgTable list) {
            this.mr = mr;
            this.handle = handle;
            this.tag = tag;
            this.list = list;
            key = mr.lkey();
        }
    }

    /** What a window's key leads to. */
    private static final class WindowModel {
        private final Mw mw;
        private @Nullable Model to;

        WindowModel(Mw mw) {
            this.mw = mw;
        }
    }

    private final VerbsWorld.Kind kind;
    private final VerbsWorld world;
    private final VerbsDevice device;
    private final boolean five;
    private final UverbsFile file;
    private final int pdHandle;
    private final int otherPdHandle;
    private final Pd pd;
    private final Cq cq;
    private final RcQp qp;
    private final Mr sink;
    private final long sinkAddr;
    private final SendWr wr = new SendWr();
    private final WorkCompletion wc = new WorkCompletion();
    private final List<Model> regions = new ArrayList<>();
    private final List<WindowModel> windows = new ArrayList<>();
    private final Set<Integer> everSeen = new LinkedHashSet<>();
    private final List<String> history = new ArrayList<>();
    private long tags = 0x7a67_0000_0001L;
    private int resolved;
    private int stale;

    KeyProgram(VerbsWorld.Kind kind) {
        this.kind = kind;
        world = new VerbsWorld(kind, 1);
        device = world.devices.get(0);
        five = kind == VerbsWorld.Kind.RXE_5;
        file = UverbsFile.open(device, world.process);
        pdHandle = file.allocPd();
        otherPdHandle = file.allocPd();
        pd = file.pd(pdHandle);
        cq = device.createCq(Owner.kernel("keys"), 16).value();
        qp = (RcQp) device.createQp(pd, QpInit.of(cq, cq).withSizes(4, 4, 1)).value();
        Link.establish(qp, qp, QpAttributes.usual());
        sinkAddr = world.memory(2);
        sink = file.mr(file.regMr(0, world.process, pdHandle, sinkAddr, PAGE, 0, ALL));
    }

    // ---- operations

    /** Does one thing, and tries every key. */
    void play(int op, int which, int number) {
        step(op, which, number);
        verify();
    }

    /** Does one thing. */
    void step(int op, int which, int number) {
        String before = history.size() + ": ";
        switch (op) {
            case 0 -> register();
            case 1 -> allocate();
            case 2 -> onFast(which, m -> update(m, number));
            case 3 -> onFast(which, m -> put(m, m.mr.lkey()));
            case 4 -> onFast(which, m -> put(m, FastReg.incRkey(m.key)));
            case 5 -> onRegion(which, m -> invalidate(m.key));
            case 6 -> invalidate(anySeen(number));
            case 7 -> onRegion(which, this::deregister);
            case 8 -> allocateWindow(number % 2 == 0 ? Mw.TYPE_1 : Mw.TYPE_2);
            case 9 -> onWindow(which, w -> onRegion(number, m -> bind(w, m, number)));
            case 10 -> onWindow(which, w -> invalidateWindow(w));
            case 11 -> onWindow(which, this::deallocate);
            default -> onRegion(which, m -> reregister(m, number % 2 == 0));
        }
        history.add(before + op + " " + which + " " + number);
    }

    private void onRegion(int which, java.util.function.Consumer<Model> use) {
        if (!regions.isEmpty()) {
            use.accept(regions.get(which % regions.size()));
        }
    }

    private void onFast(int which, java.util.function.Consumer<Model> use) {
        List<Model> fast = regions.stream().filter(m -> m.list != null).toList();
        if (!fast.isEmpty()) {
            use.accept(fast.get(which % fast.size()));
        }
    }

    private void onWindow(int which, java.util.function.Consumer<WindowModel> use) {
        if (!windows.isEmpty()) {
            use.accept(windows.get(which % windows.size()));
        }
    }

    private int anySeen(int number) {
        return everSeen.isEmpty() ? 0 : List.copyOf(everSeen).get(number % everSeen.size());
    }

    private void seen(Model model) {
        regions.add(model);
        everSeen.add(model.mr.lkey());
        everSeen.add(model.mr.rkey());
    }

    private void register() {
        if (regions.size() == MOST) {
            return;
        }
        long addr = world.memory(2);
        long tag = tags++;
        world.process.putLong(addr, tag);
        int handle = file.regMr(0, world.process, pdHandle, addr, PAGE, 0, ALL);
        Model model = new Model(file.mr(handle), handle, tag, null);
        model.valid = true;
        seen(model);
    }

    private void allocate() {
        if (regions.size() == MOST) {
            return;
        }
        SgTable list = world.mappedList(device, 1);
        long tag = tags++;
        world.machine.cpuMemory().putLong(list.pageAddr(0), tag);
        device.ibDevice().dma().syncSingleForDevice(list.dmaAddr(0), PAGE, DmaDirection.BIDIRECTIONAL);
        Mr mr = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        assertThat(FastReg.mapMrSgZbva(mr, list, 1, 0, PAGE)).isEqualTo(1);
        Model model = new Model(mr, -1, tag, list);
        model.addr = five ? list.dmaAddr(0) : 0; // a 5.x kernel keeps the address of the mapping (rdma:RXE-26)
        seen(model);
    }

    private void update(Model m, int number) {
        FastReg.updateFastRegKey(m.mr, number);
        everSeen.add(m.mr.lkey());
    }

    /** REG_MR: refused of a region in use, but not by a 5.x kernel (rdma:RXE-40, RXE-41). */
    private void put(Model m, int key) {
        boolean expected = five || !m.valid;
        assertThat(post(wr.regMr(1, m.mr, key, ALL).signaled())).as(text()).isEqualTo(expected);
        everSeen.add(key);
        if (expected) {
            m.key = key;
            m.valid = true;
        }
    }

    /** LOCAL_INV: by the exact key of a fast region; a 5.x kernel looks at the index alone (rdma:RXE-42, RXE-43). */
    private void invalidate(int key) {
        WindowModel window = windowOf(key);
        if (window != null) {
            invalidateWindow(window);
            return;
        }
        Model m = regions.stream()
                .filter(r -> five ? r.key >>> 8 == key >>> 8 : r.key == key && r.list != null)
                .findFirst()
                .orElse(null);
        boolean expected = m != null && boundTo(m) == 0;
        boolean sinkHit = five && sink.lkey() >>> 8 == key >>> 8;
        if (sinkHit) {
            return;
        }
        assertThat(post(wr.localInv(1, key).signaled())).as(text()).isEqualTo(expected);
        if (expected) {
            m.valid = false;
        }
    }

    private long boundTo(Model m) {
        return windows.stream().filter(w -> w.to == m).count();
    }

    private void deregister(Model m) {
        int error = m.handle < 0 ? device.deregMr(m.mr, 0) : file.deregMr(0, m.handle);
        assertThat(error == 0).as(text()).isEqualTo(boundTo(m) == 0);
        if (error == 0) {
            regions.remove(m);
            if (m.list != null) {
                device.ibDevice().dma().unmapSgTable(m.list, DmaDirection.BIDIRECTIONAL, 0);
            }
        }
    }

    /** Another domain, or back: the key stays, and leads nowhere for the queue pair meanwhile. */
    private void reregister(Model m, boolean away) {
        if (m.handle < 0 || !device.provider().ops().contains(ProviderOp.REREG_USER_MR) || boundTo(m) != 0) {
            return;
        }
        int target = away ? otherPdHandle : pdHandle;
        assertThat(file.reregMr(0, world.process, m.handle, ReregFlags.PD | ReregFlags.ACCESS, 0, 0, 0, target, ALL))
                .isZero();
        m.elsewhere = away;
        everSeen.add(m.mr.lkey());
        assertThat(m.mr.lkey()).isEqualTo(m.key);
    }

    // ---- windows

    private @Nullable WindowModel windowOf(int key) {
        return windows.stream().filter(w -> w.mw.rkey() == key).findFirst().orElse(null);
    }

    private void allocateWindow(int type) {
        if (kind.isRxe() && !five && windows.size() < 2) {
            Mw mw = device.allocMw(pd, type).value();
            windows.add(new WindowModel(mw));
            everSeen.add(mw.rkey());
        }
    }

    private void bind(WindowModel w, Model m, int number) {
        if (!m.valid) {
            return; // a window of a region that is not in use yet is another matter (rdma:RXE-46)
        }
        boolean expected = !m.elsewhere && (w.mw.type() == Mw.TYPE_1 || w.to == null);
        int old = w.mw.rkey();
        assertThat(post(wr.bindMw(1, old, number, m.key, 0, 64, ALL & ~1).signaled()))
                .as(text())
                .isEqualTo(expected);
        if (expected) {
            w.to = m;
            assertThat(w.mw.rkey()).isEqualTo(old & ~0xff | number & 0xff);
            everSeen.add(w.mw.rkey());
        }
    }

    private void invalidateWindow(WindowModel w) {
        if (w.to == null) {
            return; // takes the kernel down (rdma:RXE-49)
        }
        boolean expected = w.mw.type() == Mw.TYPE_2;
        assertThat(post(wr.localInv(1, w.mw.rkey()).signaled())).as(text()).isEqualTo(expected);
        w.to = expected ? null : w.to;
    }

    private void deallocate(WindowModel w) {
        assertThat(device.deallocMw(w.mw)).isZero();
        windows.remove(w);
    }

    // ---- what keys lead to

    private @Nullable Model local(int key) {
        return regions.stream()
                .filter(m -> m.valid && !m.elsewhere && m.key == key)
                .findFirst()
                .orElse(null);
    }

    private @Nullable Model remote(int key) {
        WindowModel window = windowOf(key);
        return window != null ? window.to : local(key);
    }

    /** Tries every key that was ever seen. */
    void verify() {
        for (int key : everSeen) {
            Model byLkey = local(key);
            long addr = byLkey == null ? anyAddr(key) : byLkey.addr;
            long found = found(wr.write(1, 0, sink.rkey()).sge(addr, 8, key).signaled());
            assertThat(found).as("lkey 0x%x%s", key, text()).isEqualTo(byLkey == null ? 0 : byLkey.tag);
            Model byRkey = remote(key);
            addr = byRkey == null ? anyAddr(key) : byRkey.addr;
            found = found(wr.read(1, addr, key).sge(0, 8, sink.lkey()).signaled());
            assertThat(found).as("rkey 0x%x%s", key, text()).isEqualTo(byRkey == null ? 0 : byRkey.tag);
            resolved += byLkey == null ? 0 : 1;
            stale += byLkey == null && byRkey == null ? 1 : 0;
        }
        for (Model m : regions) {
            if (m.mr instanceof RxeMr rxe) {
                assertThat(rxe.privateLkey()).as(text()).isEqualTo(m.key);
            }
        }
    }

    /** Where a key would lead if it led anywhere, so that not the address is at fault. */
    private long anyAddr(int key) {
        return regions.stream()
                .filter(m -> m.key >>> 8 == key >>> 8)
                .mapToLong(m -> m.addr)
                .findFirst()
                .orElse(0);
    }

    /** What a transfer into the sink brought; 0 when it failed. */
    private long found(SendWr request) {
        world.process.putLong(sinkAddr, 0);
        device.ibDevice().dma().syncSingleForDevice(sinkDmaAddr(), PAGE, DmaDirection.BIDIRECTIONAL);
        boolean done = post(request);
        device.ibDevice().dma().syncSingleForCpu(sinkDmaAddr(), PAGE, DmaDirection.BIDIRECTIONAL);
        long value = world.process.getLong(sinkAddr);
        assertThat(value != 0).isEqualTo(done);
        return value;
    }

    private long sinkDmaAddr() {
        return sink.umem().table().dmaAddr(0);
    }

    /** Whether a request succeeds; after one that does not, the queue pair is made ready again. */
    private boolean post(SendWr request) {
        assertThat(qp.postSend(request)).isZero();
        assertThat(cq.poll(wc)).isEqualTo(1);
        boolean done = wc.status() == WcStatus.SUCCESS;
        if (!done) {
            assertThat(qp.modify(QpState.RESET, QpAttributes.usual())).isZero();
            Link.establish(qp, qp, QpAttributes.usual());
        }
        return done;
    }

    private String text() {
        return " on " + kind + "\n  " + String.join("\n  ", history);
    }

    /** The key of the first region. */
    int key() {
        return regions.get(0).key;
    }

    int keysSeen() {
        return everSeen.size();
    }

    /** Whether a key leads to its region for a peer that reads. */
    boolean resolves(int key) {
        return found(wr.read(1, regions.get(0).addr, key).sge(0, 8, sink.lkey()).signaled()) == regions.get(0).tag;
    }

    int resolved() {
        return resolved;
    }

    int stale() {
        return stale;
    }

    /** After everything is gone no key leads anywhere, and nothing is held. */
    void end() {
        List.copyOf(windows).forEach(this::deallocate);
        List.copyOf(regions).forEach(this::deregister);
        verify();
        assertThat(device.destroyQp(qp)).isZero();
        assertThat(device.destroyCq(cq)).isZero();
        file.close(world.process);
        assertThat(world.leftOver()).as(text()).isEmpty();
    }

    @Override
    public void close() {
        world.close();
    }
}
