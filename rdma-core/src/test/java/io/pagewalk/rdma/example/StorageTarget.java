package io.pagewalk.rdma.example;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
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
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;

/**
 * A storage target and its initiator, as NVMe over fabrics or iSER have them. The initiator registers its buffer and
 * tells its key; the target moves the block: out of the initiator's memory to write the disk, into it to read the disk.
 */
public final class StorageTarget implements AutoCloseable {
    public static final int PAGE = 4096;
    private static final int LOCAL_AND_REMOTE =
            AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE;

    /** One side: a device, and a queue pair to the other side. */
    private static final class Side {
        final VerbsDevice device;
        final Pd pd;
        final Cq cq;
        final RcQp qp;

        Side(VerbsDevice device, String name, RwInit rw) {
            this.device = device;
            pd = device.allocPd(0, name).value();
            cq = device.createCq(Owner.kernel(name), 64).value();
            QpInit init = QpInit.of(cq, cq).withSizes(64, 1, 3).with(rw);
            qp = (RcQp) device.createQp(pd, init).value();
        }
    }

    private final Machine machine;
    private final Side target;
    private final Side initiator;
    private final Mr buffers;
    private final RwContext context;
    private final SendWr wr = new SendWr();
    private final WorkCompletion completion = new WorkCompletion();
    private final int blockPages;

    public StorageTarget(VerbsDevice targetDevice, VerbsDevice initiatorDevice, int blockPages, int contexts) {
        this.blockPages = blockPages;
        machine = targetDevice.machine();
        target = new Side(targetDevice, "target", RwInit.of(contexts));
        initiator = new Side(initiatorDevice, "initiator", RwInit.NONE);
        Link.establish(target.qp, initiator.qp, QpAttributes.usual());
        buffers = FastReg.allocMr(initiator.pd, MrType.MEM_REG, blockPages).value();
        context = new RwContext(targetDevice);
    }

    /** Pages of the kernel's for one block, no two of them neighbours. */
    public SgTable block() {
        SgTable sg = new SgTable(blockPages);
        for (int i = 0; i < blockPages; i++) {
            sg.add(machine.pages().allocPages(Zone.NORMAL, 1), PAGE);
        }
        return sg;
    }

    /** The disk's block goes to the initiator's memory: the target writes there. */
    public WcStatus readDisk(SgTable disk, SgTable memory) {
        return run(disk, memory, DmaDirection.TO_DEVICE, 0);
    }

    /** The initiator's memory goes to the disk's block: the target reads there. */
    public WcStatus writeDisk(SgTable disk, SgTable memory) {
        return run(disk, memory, DmaDirection.FROM_DEVICE, 0);
    }

    /** As {@link #writeDisk}, with a key that the initiator never gave. */
    public WcStatus writeDiskWithAWrongKey(SgTable disk, SgTable memory) {
        return run(disk, memory, DmaDirection.FROM_DEVICE, 1);
    }

    private WcStatus run(SgTable disk, SgTable memory, DmaDirection direction, int keyError) {
        DmaDirection other = direction == DmaDirection.TO_DEVICE ? DmaDirection.FROM_DEVICE : DmaDirection.TO_DEVICE;
        register(memory, other);
        requireDone(context.init(target.qp, 0, 1, disk, 0, buffers.iova(), buffers.rkey() + keyError, direction));
        requireDone(context.post(target.qp, 1, null));
        WcStatus status = poll(target.cq);
        context.destroy(target.qp, 0, disk, direction);
        if (status == WcStatus.SUCCESS) {
            unregister();
        }
        initiator.device.ibDevice().dma().unmapSgTable(memory, other, 0);
        return status;
    }

    private void register(SgTable memory, DmaDirection direction) {
        requireDone(initiator.device.ibDevice().dma().mapSgTable(memory, direction, 0));
        if (FastReg.mapMrSg(buffers, memory, memory.nents(), 0, PAGE) != memory.nents()) {
            throw new IllegalStateException("the buffer does not fit its region");
        }
        FastReg.updateFastRegKey(buffers, FastReg.incRkey(buffers.rkey()));
        requireDone(initiator.qp.postSend(
                wr.regMr(2, buffers, buffers.rkey(), LOCAL_AND_REMOTE).signaled()));
        requireSuccess(poll(initiator.cq));
    }

    private void unregister() {
        requireDone(initiator.qp.postSend(wr.localInv(3, buffers.rkey()).signaled()));
        requireSuccess(poll(initiator.cq));
    }

    private WcStatus poll(Cq cq) {
        if (cq.poll(completion) != 1) {
            throw new IllegalStateException("nothing has completed");
        }
        return completion.status();
    }

    private static void requireDone(int result) {
        if (result < 0) {
            throw new IllegalStateException("failed with " + result);
        }
    }

    private static void requireSuccess(WcStatus status) {
        if (status != WcStatus.SUCCESS) {
            throw new IllegalStateException("completed with " + status);
        }
    }

    /** How many regions of the target's queue pair are out. */
    public int regionsOut() {
        return target.qp.mrsUsed();
    }

    @Override
    public void close() {
        target.device.destroyQp(target.qp);
        initiator.device.destroyQp(initiator.qp);
        initiator.device.deregMr(buffers, 0);
        for (Side side : new Side[] {target, initiator}) {
            side.device.destroyCq(side.cq);
            side.device.deallocPd(side.pd, 0);
        }
    }
}
