package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations H, as far as keys, regions and the data path of verbs are concerned. */
@ExtendWith(MachineValidator.class)
class VerbsCasesTest {
    private static final int PAGE = 4096;
    private static final long MIB = 1L << 20;
    private static final int ALL = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_ATOMIC;

    private final SendWr wr = new SendWr();
    private final WorkCompletion wc = new WorkCompletion();

    /** An rxe device, a process, and two queue pairs that are connected. */
    private static final class Host {
        final Machine machine;
        final VerbsDevice device;
        final RxeDevice rxe;
        final Process process;
        final Pd pd;
        final Cq cq;
        final RcQp requester;
        final RcQp responder;

        Host(TestMachines machines, long ramBytes, RxeConfig config) {
            machine = machines.start(Machine.builder().ramBytes(ramBytes).chunkBytes(1 << 16));
            device = RxeDevice.add("rxe0", machine, config);
            rxe = (RxeDevice) device.provider();
            process = Process.create(machine);
            process.setCapIpcLock(true);
            pd = device.allocPd(0, "case").value();
            cq = device.createCq(Owner.kernel("case"), 16).value();
            requester = qp();
            responder = qp();
            Link.establish(requester, responder, QpAttributes.usual());
        }

        private RcQp qp() {
            ErrPtr<? extends Object> made = device.createQp(pd, QpInit.of(cq, cq));
            return (RcQp) made.value();
        }

        ErrPtr<Mr> reg(long addr, long length, long iova) {
            return device.regUserMr(pd, 0, process, addr, length, iova, ALL);
        }

        Mr reg(long addr, long length) {
            return reg(addr, length, addr).value();
        }
    }

    private static Host host(TestMachines machines, RxeConfig config) {
        return new Host(machines, 32 * MIB, config);
    }

    private WcStatus write(Host host, Mr from, long fromAddr, long length, long toAddr, int rkey) {
        assertThat(host.requester.postSend(
                        wr.write(1, toAddr, rkey).sge(fromAddr, length, from.lkey()).signaled()))
                .isZero();
        assertThat(host.cq.poll(wc)).isOne();
        return wc.status();
    }

    @Test
    @DisplayName("H1")
    void aRegionLongerThanTheDeviceAllowsIsRefusedAndNotCut(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel().withLimits(0, 2 * MIB));
        long addr = host.process.mmap(3 * MIB);
        assertThat(host.device.attributes().maxMrSize()).isEqualTo(2 * MIB);
        assertThat(host.reg(addr, 3 * MIB, addr).error()).isEqualTo(-Errno.EINVAL);
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
        Mr mr = host.reg(addr, 2 * MIB);
        assertThat(mr.lengthBytes()).isEqualTo(2 * MIB);
        Mr source = host.reg(addr, 65536);
        assertThat(write(host, source, addr, 65536, addr + 2 * MIB - 65536, mr.rkey()))
                .isEqualTo(WcStatus.SUCCESS);
        assertThat(write(host, source, addr, 65536, addr + 2 * MIB, mr.rkey())).isEqualTo(WcStatus.REM_ACCESS_ERR);
    }

    @Test
    @DisplayName("H2")
    void aRegionOfMoreThanFourGigabytesIsReachedToItsEnd(TestMachines machines) {
        Host host = new Host(machines, 6L << 30, RxeConfig.kernel());
        long length = 4_299_161_600L;
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
        long mapped = 2051 * 2 * MIB;
        long addr = host.process.mmap(0, mapped, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0);
        Mr mr = host.reg(addr, length);
        assertThat(mr.lengthBytes()).isEqualTo(length);
        for (long offset : new long[] {1L << 31, 1L << 32, length - 8}) {
            host.process.putLong(addr, offset);
            assertThat(write(host, mr, addr, 8, addr + offset, mr.rkey()))
                    .as("0x%x", offset)
                    .isEqualTo(WcStatus.SUCCESS);
            assertThat(host.process.getLong(addr + offset)).isEqualTo(offset);
        }
        assertThat(write(host, mr, addr, 8, addr + length - 7, mr.rkey())).isEqualTo(WcStatus.REM_ACCESS_ERR);
        assertThat(host.device.deregMr(mr, 0)).isZero();
    }

    @Test
    @DisplayName("H5")
    void anAddressForThePeerLeadsToTheBytesByKey(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel());
        long user = 0x1000_0000;
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
        assertThat(host.process.mmap(user, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0))
                .isEqualTo(user);
        Mr mr = host.reg(user + 0x10, 0x100, 0x10).value();
        Mr local = host.reg(user, PAGE);
        host.process.putLong(user + 0x800, 0x5eed);
        assertThat(write(host, local, user + 0x800, 8, 0x20, mr.rkey())).isEqualTo(WcStatus.SUCCESS);
        assertThat(host.process.getLong(user + 0x20)).isEqualTo(0x5eed);
        assertThat(write(host, local, user + 0x800, 8, user + 0x20, mr.rkey())).isEqualTo(WcStatus.REM_ACCESS_ERR);
    }

    @Test
    @DisplayName("H6")
    void anOperationOfNoBytesNeedsNoKey(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel());
        assertThat(host.requester.postSend(wr.write(1, 0, 0).signaled())).isZero();
        assertThat(host.requester.postSend(wr.read(2, -1, 0xbad).signaled())).isZero();
        for (int id = 1; id <= 2; id++) {
            assertThat(host.cq.poll(wc)).isOne();
            assertThat(wc.wrId()).isEqualTo(id);
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
        }
    }

    @Test
    @DisplayName("H7")
    void anLkeyUsedAsAnRkeyIsHiddenByRxeAndShownByDistinctKeys(TestMachines machines) {
        for (RxeConfig config : new RxeConfig[] {RxeConfig.kernel(), RxeConfig.kernel().withDistinctKeys()}) {
            Host host = host(machines, config);
            long addr = host.process.mmap(PAGE);
            Mr mr = host.reg(addr, PAGE);
            assertThat(write(host, mr, addr, 8, addr + 64, mr.rkey())).isEqualTo(WcStatus.SUCCESS);
            assertThat(write(host, mr, addr, 8, addr + 64, mr.lkey()))
                    .isEqualTo(config.distinctKeys() ? WcStatus.REM_ACCESS_ERR : WcStatus.SUCCESS);
        }
    }

    @Test
    @DisplayName("H10")
    void keysOfProcessesThatEndAreGivenBack(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel().withLimits(8, 0));
        int base = host.rxe.mrCount();
        for (int life = 0; life < 3; life++) {
            Process crashing = Process.create(host.machine);
            UverbsFile file = UverbsFile.open(host.device, crashing);
            int pd = file.allocPd();
            long addr = crashing.mmap(PAGE);
            int handle = 0;
            while (handle >= 0) {
                handle = file.regMr(0, crashing, pd, addr, PAGE, addr, AccessFlags.LOCAL_WRITE);
            }
            assertThat(handle).as("full").isEqualTo(-Errno.EINVAL);
            assertThat(host.machine.log().entries())
                    .anySatisfy(e -> assertThat(e.text()).isEqualTo("rxe0: 8 of 8 regions are in use (rdma:RXE-2)"));
            assertThat(host.device.restrack().holdings())
                    .anySatisfy(h -> assertThat(h.keys()).isEqualTo(8 - base));
            crashing.exit();
            assertThat(host.rxe.mrCount()).isEqualTo(base);
        }
    }

    @Test
    @DisplayName("H18")
    void aBigRegistrationLeavesNothingWhicheverAllocationFails(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel());
        long addr = host.process.mmap(1500L * PAGE);
        int failed = 0;
        int step = 1;
        host.machine.failures().failNth(step);
        ErrPtr<Mr> made = host.reg(addr, 1500L * PAGE, addr);
        while (host.machine.failures().failedAt() != null) {
            // A page that cannot be had is asked for once more, where the batch before it ended (UMEM-15).
            if (made.isErr()) {
                assertThat(made.error()).as(host.machine.failures().failedAt()).isIn(-Errno.ENOMEM, -Errno.EFAULT);
                failed++;
            } else {
                assertThat(host.device.deregMr(made.value(), 0)).isZero();
            }
            assertThat(host.process.addressSpace().pinnedVm()).isZero();
            assertThat(host.rxe.mrCount()).isOne();
            assertThat(pinsHeld(host)).isZero();
            step = step < 8 ? step + 1 : step + 97;
            host.machine.failures().failNth(step);
            made = host.reg(addr, 1500L * PAGE, addr);
        }
        host.machine.failures().disarm();
        assertThat(failed).as("allocations that failed it").isGreaterThan(4);
        assertThat(made.value().pinnedPages()).isEqualTo(1500);
        assertThat(host.device.deregMr(made.value(), 0)).isZero();
        assertThat(pinsHeld(host)).isZero();
    }

    private static long pinsHeld(Host host) {
        var pins = UserMemory.of(host.machine).pins();
        return pins.acquired() - pins.released();
    }

    @Test
    @DisplayName("H20")
    void aRegionThatIsStillReferencedIsDestroyedOrNot(TestMachines machines) {
        Host host = host(machines, RxeConfig.kernel());
        long addr = host.process.mmap(PAGE);
        Mr bound = host.device
                .regUserMr(host.pd, 0, host.process, addr, PAGE, addr, ALL | AccessFlags.MW_BIND)
                .value();
        Mw mw = host.device.allocMw(host.pd, Mw.TYPE_1).value();
        assertThat(host.requester.postSend(
                        wr.bindMw(1, mw.rkey(), mw.rkey() + 1, bound.lkey(), addr, 8, AccessFlags.REMOTE_READ)))
                .isZero();
        assertThat(host.device.deregMr(bound, 0)).as("a window is bound").isEqualTo(-Errno.EINVAL);

        Mr received = host.reg(addr, PAGE);
        host.responder.postRecv(new RecvWr().reset(9).sge(addr, 64, received.lkey()));
        assertThat(host.device.deregMr(received, 0)).as("a receive is posted").isZero();
        assertThat(host.requester.postSend(wr.send(2).sge(addr, 8, bound.lkey()).signaled()))
                .isZero();
        assertThat(host.cq.poll(wc)).isOne();
        assertThat(wc.status()).isEqualTo(WcStatus.LOC_QP_OP_ERR);

        Host strict = host(machines, RxeConfig.kernel().withDeregFailingOnPostedReceives());
        long buffer = strict.process.mmap(PAGE);
        Mr kept = strict.reg(buffer, PAGE);
        strict.responder.postRecv(new RecvWr().reset(9).sge(buffer, 64, kept.lkey()));
        assertThat(strict.device.deregMr(kept, 0)).as("by option").isEqualTo(-Errno.EBUSY);
        assertThat(strict.requester.postSend(wr.send(3))).isZero();
        assertThat(strict.device.deregMr(kept, 0)).isZero();
    }
}
