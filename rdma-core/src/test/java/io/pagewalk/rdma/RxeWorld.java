package io.pagewalk.rdma;

import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.rxe.RxeMw;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;

/** A small machine with one process and one rxe device, and what tests of verbs say often. */
public final class RxeWorld implements AutoCloseable {
    public static final int PAGE = 4096;
    public static final int LW = AccessFlags.LOCAL_WRITE;
    public static final int RW = AccessFlags.REMOTE_WRITE;
    public static final int RR = AccessFlags.REMOTE_READ;
    public static final int RA = AccessFlags.REMOTE_ATOMIC;
    public static final int BIND = AccessFlags.MW_BIND;
    public static final int ALL = LW | RW | RR | RA;

    public final Machine machine;
    public final VerbsDevice device;
    public final RxeDevice rxe;
    public final Process process;
    public final Pins pins;
    public final Pd pd;
    public final Cq sendCq;
    public final Cq recvCq;
    public final SendWr wr = new SendWr();
    public final RecvWr recv = new RecvWr();
    private final WorkCompletion wc = new WorkCompletion();

    private RxeWorld(MachineBuilder builder, RxeConfig config) {
        machine = builder.ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend("direct")
                .build();
        device = RxeDevice.add("rxe0", machine, config);
        rxe = (RxeDevice) device.provider();
        process = Process.create(machine);
        pins = UserMemory.of(machine).pins();
        pd = device.allocPd(0, "test").value();
        sendCq = device.createCq(Owner.kernel("test"), 64).value();
        recvCq = device.createCq(Owner.kernel("test"), 64).value();
    }

    public static RxeWorld start() {
        return start(RxeConfig.kernel());
    }

    public static RxeWorld start(RxeConfig config) {
        return new RxeWorld(Machine.builder(), config);
    }

    public static RxeWorld start(KernelModel model) {
        return new RxeWorld(Machine.builder().kernelModel(model), RxeConfig.kernel());
    }

    // ---- memory

    /** Fresh memory of so many pages, its bytes a pattern. */
    public long buffer(int pages) {
        long addr = process.mmap((long) pages * PAGE);
        byte[] bytes = new byte[pages * PAGE];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 7 + i / PAGE);
        }
        process.writeBytes(addr, bytes);
        return addr;
    }

    public byte[] bytes(long addr, int length) {
        return process.readBytes(addr, length);
    }

    public RxeMr reg(Pd domain, long addr, long length, int access) {
        return (RxeMr)
                device.regUserMr(domain, 0, process, addr, length, addr, access).value();
    }

    public RxeMr reg(long addr, long length, int access) {
        return reg(pd, addr, length, access);
    }

    public RxeMr fast(int pages) {
        return (RxeMr) FastReg.allocMr(pd, MrType.MEM_REG, pages).value();
    }

    public RxeMw window(int type) {
        return (RxeMw) device.allocMw(pd, type).value();
    }

    public Pd otherPd() {
        return device.allocPd(0, "other").value();
    }

    public long pinsHeld() {
        return pins.acquired() - pins.released();
    }

    // ---- queue pairs

    public RcQp qp() {
        return qp(pd, PostChecks.KERNEL);
    }

    public RcQp qp(Pd domain, PostChecks checks) {
        ErrPtr<? extends Object> made = device.createQp(
                domain, QpInit.of(sendCq, recvCq).withInline(128).with(checks));
        return (RcQp) made.value();
    }

    /** Two queue pairs of the usual domain, ready to send. */
    public Pair connect() {
        return connect(QpAttributes.usual(), PostChecks.KERNEL);
    }

    public Pair connect(QpAttributes attributes, PostChecks checks) {
        RcQp left = qp(pd, checks);
        RcQp right = qp(pd, checks);
        return new Pair(left, right, Link.establish(left, right, attributes));
    }

    /** Two connected queue pairs. */
    public record Pair(RcQp left, RcQp right, Link link) {}

    /** Everything that has completed, sends first, as text: id, status, opcode, bytes, flags. */
    public List<String> completions() {
        List<String> all = new ArrayList<>();
        for (Cq cq : List.of(sendCq, recvCq)) {
            while (cq.poll(wc) == 1) {
                all.add(text(wc));
            }
        }
        return all;
    }

    private static String text(WorkCompletion wc) {
        if (wc.status().value() != 0) {
            return wc.wrId() + " " + wc.status();
        }
        return wc.wrId() + " " + wc.opcode() + " " + wc.byteLen() + (wc.flags() == 0 ? "" : " flags " + wc.flags());
    }

    @Override
    public void close() {
        machine.close();
    }
}
