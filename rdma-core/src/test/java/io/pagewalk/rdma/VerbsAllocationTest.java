package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Posting, moving bytes, completing and polling allocate nothing, on either kind of provider. */
class VerbsAllocationTest {
    private static final int ROUNDS = 5_000;
    private static final int GOES = 6;
    private static final int PAGE = 4096;
    private static final int ALL =
            AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_READ | AccessFlags.REMOTE_ATOMIC;

    private final SendWr wr = new SendWr();
    private final RecvWr recv = new RecvWr();
    private final WorkCompletion wc = new WorkCompletion();

    /** Two connected queue pairs of one device, and a region of a process for both. */
    private static final class World {
        final Machine machine;
        final VerbsDevice device;
        final Pd pd;
        final Cq cq;
        final RcQp left;
        final RcQp right;
        final Mr mr;

        World(String provider, String backend) {
            machine = Machine.builder()
                    .ramBytes(64L << 20)
                    .chunkBytes(1 << 16)
                    .backend(backend)
                    .commandLine("ib_core.force_mr=1")
                    .build();
            device = provider.equals("rxe") ? RxeDevice.add("rxe0", machine) : adapter();
            pd = device.allocPd(0, "test").value();
            cq = device.createCq(Owner.kernel("test"), 64).value();
            left = qp();
            right = qp();
            Link.establish(left, right, QpAttributes.usual());
            Process process = Process.create(machine);
            long addr = process.mmap(8 * PAGE);
            process.writeBytes(addr, new byte[8 * PAGE]);
            boolean software = provider.equals("rxe");
            int access = software ? ALL : ALL & ~AccessFlags.REMOTE_ATOMIC;
            mr = device.regUserMr(pd, 0, process, addr, 8 * PAGE, addr, access).value();
        }

        private VerbsDevice adapter() {
            I40iwConfig config = I40iwConfig.x722(Generation.IRDMA);
            return I40iwDevice.add(
                            "rdma0", machine.addDevice(DeviceConfig.named("nic").withMask(-1L)), config)
                    .value();
        }

        private RcQp qp() {
            QpInit init = QpInit.of(cq, cq).withSizes(32, 4, 1).with(RwInit.of(2));
            return (RcQp) device.createQp(pd, init).value();
        }
    }

    private static long leastBytes(Runnable round) throws ReflectiveOperationException {
        AllocatedBytes allocated = new AllocatedBytes();
        long least = Long.MAX_VALUE;
        for (int go = 0; go < GOES && least >= ROUNDS / 20; go++) {
            least = Math.min(least, allocated.during(ROUNDS, round));
        }
        return least;
    }

    private void run(World world, SendWr request) {
        requireDone(world.left.postSend(request));
        requireCompletion(world);
    }

    private void requireCompletion(World world) {
        if (world.cq.poll(wc) != 1 || wc.status() != WcStatus.SUCCESS) {
            throw new AssertionError("not completed: " + wc);
        }
    }

    private static void requireDone(int result) {
        if (result < 0) {
            throw new AssertionError("failed with " + result);
        }
    }

    @ParameterizedTest
    @CsvSource({"rxe, direct", "i40iw, direct", "i40iw, iommu-strict"})
    void workRequestsAllocateNothing(String provider, String backend) throws ReflectiveOperationException {
        World world = new World(provider, backend);
        Mr mr = world.mr;
        long near = mr.iova();
        long far = near + 4 * PAGE;
        boolean atomics = provider.equals("rxe");

        long bytes = leastBytes(() -> {
            run(
                    world,
                    wr.write(1, far + 100, mr.rkey())
                            .sge(near + 4000, 200, mr.lkey())
                            .signaled());
            run(world, wr.read(2, far, mr.rkey()).sge(near, 64, mr.lkey()).signaled());
            requireDone(world.right.postRecv(recv.reset(3).sge(far, 64, mr.lkey())));
            run(world, wr.send(4).sge(near, 64, mr.lkey()).signaled());
            requireCompletion(world);
            if (atomics) {
                run(
                        world,
                        wr.fetchAdd(5, far + 8, mr.rkey(), 1)
                                .sge(near, 8, mr.lkey())
                                .signaled());
            }
        });

        assertThat(bytes).as("below 0.05 bytes a round, asking included").isLessThan(ROUNDS / 20);
        world.machine.close();
    }

    @ParameterizedTest
    @CsvSource({"rxe, direct", "i40iw, direct"})
    void contextsAllocateNothingOnceTheyAreAsLargeAsTheyGet(String provider, String backend)
            throws ReflectiveOperationException {
        World world = new World(provider, backend);
        SgTable sg = new SgTable(4);
        for (int i = 0; i < 4; i++) {
            sg.add(world.machine.pages().allocPages(Zone.NORMAL, 1), PAGE);
        }
        RwContext context = new RwContext(world.device);
        long far = world.mr.iova();
        int rkey = world.mr.rkey();

        long bytes = leastBytes(() -> {
            requireDone(context.init(world.left, 0, 1, sg, 0, far, rkey, DmaDirection.TO_DEVICE));
            requireDone(context.post(world.left, 7, null));
            requireCompletion(world);
            context.destroy(world.left, 0, sg, DmaDirection.TO_DEVICE);
        });

        assertThat(world.left.mrsUsed()).isZero();
        assertThat(bytes).as("below 0.05 bytes a round, asking included").isLessThan(ROUNDS / 20);
        world.machine.close();
    }
}
