package io.pagewalk.rdma.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.VerbsWorld;
import io.pagewalk.rdma.i40iw.CommandQueue;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.HmcMemory;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.i40iw.I40iwMr;
import io.pagewalk.rdma.i40iw.PbleAllocation;
import io.pagewalk.rdma.i40iw.PbleManager;
import io.pagewalk.rdma.i40iw.StagTable;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.rxe.RxePool;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrPool;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.Restrack;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SgeList;
import io.pagewalk.rdma.verbs.SigAttrs;
import io.pagewalk.rdma.verbs.SigDomains;
import io.pagewalk.rdma.verbs.SigType;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.lang.reflect.Executable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The verbs of the kernel and of processes under fire, with objects of a second device and of a second machine among
 * the arguments, destroyed ones, and keys and addresses that some of them have.
 *
 * <p>Documented exceptions: those of {@link HostileMemory}, and KernelBugException for what takes the kernel down. What
 * the kernel trusts its users with is left out: what a provider is asked by the core alone; references; to destroy what
 * belongs to a process's context or to a pool; to give a transfer a list that is mapped already, or to end it with
 * another one than it began with.
 */
final class HostileVerbs extends HostileCalls {
    /** The machine's clock, as far as verbs wait for it. */
    static final class Time {
        private final Machine machine;

        Time(Machine machine) {
            this.machine = machine;
        }

        public void advance(int millis) {
            machine.clock().advance(Math.abs(millis % 1000) * 1_000_000L);
        }
    }

    /** With what a transfer began. */
    private record Begun(Qp qp, int cpu, SgTable list, DmaDirection direction) {}

    private final List<VerbsWorld> worlds = new ArrayList<>();
    private final Map<SgTable, VerbsDevice> mapped = new LinkedHashMap<>();
    private final List<SgTable> free = new ArrayList<>();
    private final Map<RwContext, Begun> begun = new LinkedHashMap<>();
    private final Set<UverbsFile> files = new LinkedHashSet<>();
    private final Set<Object> objects = new LinkedHashSet<>();
    private final Set<Object> ofFiles = new LinkedHashSet<>();
    private final Set<Mr> inPools = new LinkedHashSet<>();
    private final List<HmcMemory> memories = new ArrayList<>();

    HostileVerbs(VerbsWorld.Kind kind) {
        super(VerbsMembers.ALL);
        for (int i = 0; i < 2; i++) {
            VerbsWorld world = new VerbsWorld(kind, 2 - i);
            worlds.add(world);
            offer(world.process);
            offer(world.machine);
            offer(new Time(world.machine));
            world.devices.forEach(device -> furnish(world, device));
            HmcMemory memory = new HmcMemory(world.machine
                    .addDevice(io.pagewalk.dma.DeviceConfig.named("hmc" + i))
                    .dma());
            memories.add(memory);
            offer(memory);
            offer(new PbleManager(memory, 8, 2000, Generation.IRDMA, world.machine.failures()));
        }
        offer(new SendWr());
        offer(new RecvWr());
        offer(new SgeList());
        offer(new WorkCompletion());
        offer(QpAttributes.usual());
        offer(RwInit.of(2));
        offer(Owner.kernel("test"));
        offer(new SigAttrs(1, 1));
        offer(new SigDomains(SigType.NONE, SigType.NONE));
        offer(new AtomicWord());
        offer(new RemoteRef());
        offer(RxeConfig.kernel());
        offer(I40iwConfig.e810());
        offer(new RxePool(1, 5, 4));
        offer(new StagTable(9, () -> 0x1234_5678));
        offer(new PbleAllocation());
    }

    private void furnish(VerbsWorld world, VerbsDevice device) {
        offer(device);
        offer(device.ibDevice());
        offer(device.provider());
        offer(device.restrack());
        offer(device.rwRules());
        offer(device.caps());
        offer(device.attributes());
        if (device.ibDevice().dmaDevice() != null) {
            offer(device.ibDevice().dmaDevice());
        }
        if (device.provider() instanceof I40iwDevice adapter) {
            offer(adapter.commands());
        }
        long addr = world.memory(6);
        offerAll(long.class, addr, addr + 5, addr + 5 * VerbsWorld.PAGE);
        furnishKernel(world, device, addr);
        furnishProcess(world, device, addr);
    }

    private void furnishKernel(VerbsWorld world, VerbsDevice device, long addr) {
        Pd pd = made(device.allocPd(0, "test"));
        Cq cq = made(device.createCq(Owner.kernel("test"), 16));
        Mr user = made(device.regUserMr(pd, 0, world.process, addr, 5 * VerbsWorld.PAGE, addr, VerbsWorld.ALL));
        Mr fast = made(FastReg.allocMr(pd, MrType.MEM_REG, 4));
        if (device.provider().ops().contains(ProviderOp.ALLOC_MW)) {
            made(device.allocMw(pd, Mw.TYPE_1));
            made(device.allocMw(pd, Mw.TYPE_2));
        }
        QpInit init = QpInit.of(cq, cq).withSizes(6, 6, 3).withInline(16);
        offer(init);
        offer(init.with(RwInit.of(2)));
        offer(init.with(PostChecks.RAW));
        RcQp left = (RcQp) made(device.createQp(pd, init.with(RwInit.of(2))));
        RcQp right = (RcQp) made(device.createQp(pd, init));
        offer(Link.establish(left, right, QpAttributes.usual()));
        SgTable list = world.mappedList(device, 3);
        mapped.put(list, device);
        offer(list);
        offerAll(long.class, list.dmaAddr(0));
        FastReg.mapMrSg(fast, list, 3, 0, VerbsWorld.PAGE);
        free.add(world.list(2));
        offer(new RwContext(device));
        offer(new SendWr().regMr(1, fast, fast.lkey(), VerbsWorld.ALL));
        offer(new SendWr().write(2, addr, user.rkey()).sge(addr, 5000, user.lkey()));
        offer(new SendWr().read(3, addr, user.rkey()).sge(addr, 5000, user.lkey()));
        offer(new SendWr().fetchAdd(4, addr, user.rkey(), 1).sge(addr + 8, 8, user.lkey()));
        offer(new RecvWr().reset(5).sge(addr, 3000, user.lkey()));
    }

    private void furnishProcess(VerbsWorld world, VerbsDevice device, long addr) {
        UverbsFile file = UverbsFile.open(device, world.process);
        offer(file);
        files.add(file);
        int pd = file.allocPd();
        int mr = file.regMr(0, world.process, pd, addr, 4096, addr, VerbsWorld.ALL);
        int cq = file.createCq(4);
        int qp = file.createQp(pd, cq, cq, 4, 2);
        file.allocMw(pd, Mw.TYPE_2);
        for (int handle : new int[] {pd, mr, cq, qp}) {
            offerAll(int.class, handle);
        }
        keepObjectsOf(file);
    }

    private <T> T made(ErrPtr<T> made) {
        T object = made.value();
        keep(object);
        return object;
    }

    // ---- what is trusted

    @Override
    boolean prepare(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        return switch (member.getDeclaringClass().getSimpleName() + "." + member.getName()) {
            case "VerbsDevice.deallocPd",
                    "VerbsDevice.deregMr",
                    "VerbsDevice.deallocMw",
                    "VerbsDevice.destroyCq",
                    "VerbsDevice.destroyQp" -> !ofFiles.contains(arguments[0]) && !inPools.contains(arguments[0]);
            case "VerbsDevice.regUserMr" -> takeSameOffset(arguments);
            case "MrPool.put" -> !ofFiles.contains(arguments[0]) && !inPools.contains(arguments[0]);
            case "RwContext.init" -> takeFree(arguments, 3);
            case "RwContext.initSignature" -> takeFree(arguments, 3) && takeNone(arguments, 4);
            case "RwContext.destroy" -> takeBegun(subject, arguments);
            default -> true;
        };
    }

    /** rdma:UMEM-23: with another offset in the page, as many pages are charged as are never given back. */
    private static boolean takeSameOffset(@Nullable Object[] arguments) {
        long userAddr = (long) arguments[3];
        long virtAddr = (long) arguments[5];
        arguments[5] = (virtAddr & ~(VerbsWorld.PAGE - 1L)) | (userAddr & (VerbsWorld.PAGE - 1));
        return true;
    }

    private boolean takeFree(@Nullable Object[] arguments, int at) {
        if (free.isEmpty()) {
            return false;
        }
        arguments[at] = arguments[at] == null ? null : free.get(0);
        return true;
    }

    private static boolean takeNone(@Nullable Object[] arguments, int at) {
        arguments[at] = null;
        return true;
    }

    private boolean takeBegun(@Nullable Object context, @Nullable Object[] arguments) {
        Begun with = begun.get(context);
        if (with != null) {
            arguments[0] = with.qp;
            arguments[1] = with.cpu;
            arguments[2] = with.list;
            arguments[3] = with.direction;
        }
        return true;
    }

    // ---- what is kept

    @Override
    void take(Executable member, @Nullable Object subject, @Nullable Object[] arguments, @Nullable Object result) {
        String name = member.getName();
        if (subject instanceof RwContext context && name.startsWith("init") && (int) result > 0) {
            begun.put(context, new Begun((Qp) arguments[0], (int) arguments[1], (SgTable) arguments[3], (DmaDirection)
                    arguments[arguments.length - 1]));
            free.remove(arguments[3]);
        } else if (subject instanceof RwContext context && name.equals("destroy")) {
            free.add(begun.remove(context).list);
        } else if (subject instanceof MrPool && name.equals("put")) {
            inPools.add((Mr) arguments[0]);
        } else if (subject instanceof MrPool && name.equals("get") && result != null) {
            inPools.remove(result);
            keep(result);
        } else if (subject instanceof UverbsFile file) {
            keepObjectsOf(file);
        } else if (result instanceof UverbsFile file) {
            files.add(file);
            offer(file);
        } else if (result instanceof ErrPtr<?> pointer) {
            offer(pointer);
            if (!pointer.isErr() && member.getDeclaringClass() != ErrPtr.class) {
                keepMade(pointer.value());
            }
        } else if (result instanceof VerbsDevice device) {
            keepMade(device);
        } else if (result instanceof HmcMemory memory) {
            memories.add(memory);
            offer(memory);
        } else if (isPlain(result)) {
            offer(result);
        }
    }

    private void keepMade(Object object) {
        if (object instanceof VerbsDevice device) {
            worlds.stream()
                    .filter(w -> w.machine == device.machine() && !w.devices.contains(device))
                    .forEach(w -> w.devices.add(device));
            offer(device);
        } else {
            keep(object);
        }
    }

    private static boolean isPlain(@Nullable Object result) {
        return result instanceof Record
                || result instanceof SendWr
                || result instanceof RecvWr
                || result instanceof SgeList
                || result instanceof RxeConfig
                || result instanceof I40iwConfig
                || result instanceof RwContext
                || result instanceof Link;
    }

    private void keepObjectsOf(UverbsFile file) {
        for (int handle = 0; handle < 70; handle++) {
            Object[] found = {file.pd(handle), file.mr(handle), file.mw(handle), file.cq(handle), file.qp(handle)};
            for (Object object : found) {
                if (object != null) {
                    ofFiles.add(object);
                    keep(object);
                }
            }
        }
    }

    private void keep(Object object) {
        if (!objects.add(object)) {
            return;
        }
        offer(object);
        if (object instanceof Mr mr) {
            offerKey(mr.lkey());
            offerKey(mr.rkey());
        } else if (object instanceof Mw mw) {
            offerKey(mw.rkey());
        } else if (object instanceof Pd pd && pd.internalMr() != null) {
            offer(pd.internalMr());
            offerKey(pd.localDmaLkey());
        } else if (object instanceof Qp qp) {
            offer(qp.rdmaMrs());
            offer(qp.sigMrs());
        }
    }

    private void offerKey(int key) {
        offerAs(int.class, key);
    }

    @Override
    Class<?> standIn(Class<?> type, int choice) {
        boolean rxe = worlds.get(0).devices.get(0).provider() instanceof RxeDevice;
        if (type == Mr.class) {
            return rxe ? RxeMr.class : I40iwMr.class;
        }
        if (type == Mw.class || type == Pd.class) {
            return objects.stream()
                    .filter(type::isInstance)
                    .<Class<?>>map(Object::getClass)
                    .findFirst()
                    .orElse(type);
        }
        return type == Qp.class ? RcQp.class : type;
    }

    // ---- what must be right

    @Override
    boolean isDocumented(Throwable thrown) {
        return thrown instanceof KernelBugException;
    }

    @Override
    List<Long> fingerprint() {
        List<Long> all = new ArrayList<>();
        for (VerbsWorld world : worlds) {
            all.add(world.pins.acquired());
            all.add(world.pins.released());
            all.add(world.process.addressSpace().pinnedVm());
            all.add(world.machine.pages().allocatedPages());
            world.devices.forEach(device -> all.addAll(VerbsWorld.held(device)));
        }
        for (Object object : objects) {
            if (object instanceof Pd pd) {
                all.add((long) pd.useCount());
            } else if (object instanceof Cq cq) {
                all.add((long) cq.useCount());
                all.add((long) cq.size());
            } else if (object instanceof RcQp qp) {
                all.add((long) qp.state().name().hashCode());
                all.add((long) qp.postedSends() + qp.postedReceives());
            } else if (object instanceof Mr mr) {
                all.add(mr.pinnedPages());
            }
        }
        return all;
    }

    @Override
    void check() {
        long pinned = of(Mr.class).stream().mapToLong(Mr::pinnedPages).sum();
        assertThat(worlds.stream().mapToLong(VerbsWorld::pinsHeld).sum())
                .as("pins, as regions hold them,%s", text())
                .isEqualTo(pinned);
        int pairs = worlds.stream()
                .flatMap(w -> w.devices.stream())
                .mapToInt(d -> d.restrack().count(Restrack.Kind.QP))
                .sum();
        assertThat(of(Cq.class).stream().mapToInt(Cq::useCount).sum())
                .as("uses of completion queues,%s", text())
                .isEqualTo(2 * pairs);
    }

    private <T> List<T> of(Class<T> type) {
        return objects.stream().filter(type::isInstance).map(type::cast).toList();
    }

    private static boolean isDestroyed(Object object) {
        return (object instanceof Pd pd && pd.isDestroyed())
                || (object instanceof Mr mr && mr.isDestroyed())
                || (object instanceof Mw mw && mw.isDestroyed())
                || (object instanceof Cq cq && cq.isDestroyed())
                || (object instanceof Qp qp && qp.isDestroyed());
    }

    private <T> List<T> kernels(Class<T> type) {
        return of(type).stream()
                .filter(o -> !ofFiles.contains(o) && !isDestroyed(o))
                .toList();
    }

    /** From now on the n-th time that something could run out on a machine, it does. */
    void failNth(int n) {
        worlds.forEach(w -> w.machine.failures().failNth(n));
    }

    /** Whether something ran out; nothing does any more. */
    boolean disarm() {
        boolean failed = worlds.stream().anyMatch(w -> w.machine.failures().failedAt() != null);
        worlds.forEach(w -> w.machine.failures().disarm());
        return failed;
    }

    /** Everything is given back, from whichever state: what is counted is as it was before anything was made. */
    void end() {
        for (Object queue : offered(CommandQueue.class)) {
            while (queue != null && ((CommandQueue) queue).taken() > 0) {
                ((CommandQueue) queue).give();
            }
        }
        for (Qp qp : of(Qp.class)) {
            while (qp.useCount() > 0) {
                qp.unuse();
            }
        }
        begun.forEach((context, with) -> context.destroy(with.qp, with.cpu, with.list, with.direction));
        kernels(Mw.class).forEach(mw -> mw.pd().device().deallocMw(mw));
        files.forEach(HostileVerbs::deallocWindows);
        kernels(Qp.class).forEach(HostileVerbs::destroy);
        of(Qp.class).forEach(qp -> qp.rdmaMrs().destroy());
        of(Qp.class).forEach(qp -> qp.sigMrs().destroy());
        kernels(Mr.class).forEach(mr -> mr.pd().device().deregMr(mr, 0));
        for (Object process : offered(Process.class)) {
            files.forEach(file -> file.close((Process) process));
        }
        destroyRest();
        mapped.forEach((list, device) -> device.ibDevice().dma().unmapSgTable(list, DmaDirection.BIDIRECTIONAL, 0));
        memories.forEach(HmcMemory::close);
        for (VerbsWorld world : worlds) {
            boolean lost = lostByPools(world) > 0;
            assertThat(world.leftOver()).as(text()).allMatch(left -> lost && left.contains(" holds "));
            world.close();
        }
    }

    /** What contexts could not destroy when they were closed, as others used it; and what only they used. */
    private void destroyRest() {
        ofFiles.clear();
        kernels(Mw.class).forEach(mw -> mw.pd().device().deallocMw(mw));
        kernels(Qp.class).forEach(HostileVerbs::destroy);
        kernels(Mr.class).forEach(mr -> mr.pd().device().deregMr(mr, 0));
        kernels(Cq.class).forEach(cq -> cq.device().destroyCq(cq));
        assertThat(of(Pd.class).stream().mapToLong(Pd::useCount).sum())
                .as("uses of domains, each by a region that a pool lost,%s", text())
                .isEqualTo(worlds.stream().mapToLong(HostileVerbs::lostByPools).sum());
        kernels(Pd.class).forEach(pd -> pd.device().deallocPd(pd, 0));
    }

    /** rdma:POOL-5: regions that the provider did not take back. */
    private static long lostByPools(VerbsWorld world) {
        return world.machine.log().count("ib_mr_pool");
    }

    private static void destroy(Qp qp) {
        assertThat(qp.pd().device().destroyQp(qp)).isZero();
    }

    private static void deallocWindows(UverbsFile file) {
        for (int handle = 0; handle < 70; handle++) {
            if (file.mw(handle) != null) {
                file.deallocMw(handle);
            }
        }
    }
}
