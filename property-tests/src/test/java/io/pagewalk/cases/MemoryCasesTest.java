package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Fault;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.RegMrChecks;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations G and H, as far as memory of processes is concerned: what is pinned, charged and refused. */
@ExtendWith(MachineValidator.class)
class MemoryCasesTest {
    private static final int PAGE = 4096;
    private static final long LIMIT = 65536;
    private static final DeviceCaps RXE_CAPS = new DeviceCaps(false, true, true);

    private final UmemResult result = new UmemResult();

    /** A process that may lock 64 KiB, and a device on the bus. */
    private static final class Host {
        final Machine machine;
        final Process process;
        final Device nic;
        final IbDevice device;

        Host(TestMachines machines, KernelModel model) {
            machine = machines.start(
                    Machine.builder().ramBytes(64L << 20).chunkBytes(1 << 16).kernelModel(model));
            process = Process.create(machine);
            process.setMemlockLimit(LIMIT);
            nic = machine.addDevice(DeviceConfig.named("nic"));
            device = IbDevice.withDmaDevice("ib0", nic);
        }
    }

    private int register(Host host, long addr, long size, int access) {
        return Umems.of(host.machine).get(host.device, 0, host.process, addr, size, access, result);
    }

    private static void release(List<Umem> umems) {
        umems.forEach(Umem::close);
        umems.clear();
    }

    @Test
    @DisplayName("G1")
    void unalignedSmallBuffersCountTwoPagesEach(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long malloc = host.process.mmap(20 * PAGE) + 16;
        List<Umem> live = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            assertThat(register(host, malloc + (long) i * PAGE, PAGE, 0)).isZero();
            live.add(result.umem());
        }
        assertThat(register(host, malloc + 8L * PAGE, PAGE, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(result.failure().numbers()).containsExactly(2L, 16L, 16L, 18L * PAGE);
        release(live);
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
        for (int i = 0; i < 16; i++) {
            assertThat(register(host, malloc - 16 + (long) i * PAGE, PAGE, 0)).isZero();
            live.add(result.umem());
        }
        release(live);
    }

    @Test
    @DisplayName("G2")
    void aRegistrationAtTheLimitFitsAndAnUnalignedOneDoesNot(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long addr = host.process.mmap(20 * PAGE);
        assertThat(register(host, addr, LIMIT, 0)).isZero();
        result.umem().close();
        assertThat(register(host, addr + 1, LIMIT, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
        host.process.setCapIpcLock(true);
        assertThat(register(host, addr + 1, LIMIT, 0)).isZero();
        result.umem().close();
        host.process.setCapIpcLock(false);
        host.process.setMemlockLimit(0);
        assertThat(register(host, addr, PAGE, 0)).isEqualTo(-Errno.EPERM);
    }

    /** What the device reads after a fork and a write of the parent. */
    private static long readAfterForkAndWrite(Host host) {
        long addr = host.process.mmap(PAGE);
        host.process.putLong(addr, 1);
        try (Umem umem = Umems.of(host.machine).pin(host.device, host.process, addr, PAGE, AccessFlags.LOCAL_WRITE)) {
            Process child = Objects.requireNonNull(host.process.fork());
            host.process.putLong(addr, 2);
            assertThat(child.getLong(addr)).as("what the child sees").isEqualTo(1);
            return host.nic.bus().readLong(umem.dmaAddr(addr));
        }
    }

    @Test
    @DisplayName("G7")
    void afterForkTheDeviceSeesWhatTheParentWrites(TestMachines machines) {
        assertThat(readAfterForkAndWrite(new Host(machines, KernelModel.LINUX_6_12)))
                .isEqualTo(2);
        assertThat(readAfterForkAndWrite(new Host(machines, KernelModel.LINUX_5)))
                .as("the page stays with the device, and the parent has a copy")
                .isEqualTo(1);
    }

    @Test
    @DisplayName("G9")
    void keepingABufferFromTheChildTakesItsWholePageAway(TestMachines machines) {
        Process process = new Host(machines, KernelModel.LINUX_6_12).process;
        long addr = process.mmap(2 * PAGE);
        process.putLong(addr + 64, 5);
        process.putLong(addr + PAGE, 6);
        assertThat(process.madvise(addr, 32, Mmap.MADV_DONTFORK)).isZero();
        Process child = Objects.requireNonNull(process.fork());
        byte[] neighbour = new byte[8];
        assertThat(child.read(addr + 64, neighbour, 0, 8)).isEqualTo(Fault.SEGV);
        assertThat(child.getLong(addr + PAGE)).isEqualTo(6);
        process.munmap(addr + PAGE, PAGE);
        assertThat(process.madvise(addr, 2 * PAGE, Mmap.MADV_DOFORK))
                .as("over a hole")
                .isEqualTo(-Errno.ENOMEM);
        assertThat(Objects.requireNonNull(process.fork()).getLong(addr + 64)).isEqualTo(5);
    }

    @Test
    @DisplayName("H4")
    void anAddressForThePeerAtAnotherOffsetInThePageIsRefused() {
        long user = 0x7f00_0000_0123L;
        int access = AccessFlags.LOCAL_WRITE;
        assertThat(RegMrChecks.check(RXE_CAPS, KernelModel.LINUX_6_12, user, 0x10_0123, access))
                .isZero();
        assertThat(RegMrChecks.check(RXE_CAPS, KernelModel.LINUX_6_12, user, 0x10_0124, access))
                .isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.check(RXE_CAPS, KernelModel.LINUX_6_12, user, 0x10_0000, AccessFlags.REMOTE_WRITE))
                .as("the offset is looked at before the rights")
                .isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.checkPageOffset(user, (-1L & ~0xfffL) | 0x123)).isZero();
    }

    @Test
    @DisplayName("H5")
    void anOffsetFromTheAddressForThePeerIsOneFromTheUsersAddress(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long user = 0x1000_0000;
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
        assertThat(host.process.mmap(user, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0))
                .isEqualTo(user);
        host.process.putLong(user + 0x10, 0x5eed);
        assertThat(register(host, user, PAGE, AccessFlags.LOCAL_WRITE)).isZero();
        try (Umem umem = result.umem()) {
            umem.setIova(0x10);
            long userAddr = (0x20 - umem.iova()) + umem.userAddr();
            assertThat(userAddr).isEqualTo(0x1000_0010);
            assertThat(host.nic.bus().readLong(umem.dmaAddr(userAddr))).isEqualTo(0x5eed);
            assertThat(umem.numPages())
                    .as("counted from the address for the peer")
                    .isEqualTo(2);
            umem.setIova(user);
        }
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
    }

    @Test
    @DisplayName("H6")
    void noBytesRegisterNothingOrThePageTheyPointInto(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long addr = host.process.mmap(PAGE);
        assertThat(register(host, addr, 0, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(register(host, addr + 1, 0, 0)).isZero();
        assertThat(host.process.addressSpace().pinnedVm()).isEqualTo(1);
        result.umem().close();
    }

    @Test
    @DisplayName("H12")
    void aRangeMergedOverAHoleFailsAndTheSmallestOneDoesNot(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long addr = host.process.mmap(3 * PAGE);
        host.process.munmap(addr + PAGE, PAGE);
        assertThat(register(host, addr, 3 * PAGE, 0)).isEqualTo(-Errno.EFAULT);
        assertThat(result.failure().numbers()).as("where, and how far it came").containsExactly(addr + PAGE, 1L, 3L);
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
        assertThat(register(host, addr + 2 * PAGE, PAGE, 0)).isZero();
        result.umem().close();
    }

    @Test
    @DisplayName("H13")
    void memoryOfADeviceWithoutPagesCannotBeRegistered(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        long addr = host.process.mmapDevice(0, 0xfe000, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE);
        assertThat(register(host, addr, PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(host.process.addressSpace().pinnedVm()).isZero();
    }

    @Test
    @DisplayName("H15")
    void persistentMemoryCannotBeRegisteredAndAnonymousMemoryCan(TestMachines machines) {
        Host host = new Host(machines, KernelModel.LINUX_6_12);
        UserFile file = UserFile.create(host.machine, FileKind.FSDAX, "pmem", PAGE);
        int prot = Mmap.PROT_READ | Mmap.PROT_WRITE;
        long addr = host.process.mmap(0, PAGE, prot, Mmap.MAP_SHARED, file.forWriting(), 0);
        assertThat(register(host, addr, PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(register(host, host.process.mmap(PAGE), PAGE, AccessFlags.LOCAL_WRITE))
                .isZero();
        result.umem().close();
    }
}
