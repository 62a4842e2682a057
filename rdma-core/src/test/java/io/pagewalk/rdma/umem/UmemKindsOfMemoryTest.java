package io.pagewalk.rdma.umem;

import static io.pagewalk.dma.KernelModel.LINUX_5;
import static io.pagewalk.dma.KernelModel.LINUX_6_12;
import static io.pagewalk.rdma.mm.Mmap.MAP_ANONYMOUS;
import static io.pagewalk.rdma.mm.Mmap.MAP_PRIVATE;
import static io.pagewalk.rdma.mm.Mmap.MAP_SHARED;
import static io.pagewalk.rdma.mm.Mmap.PROT_EXEC;
import static io.pagewalk.rdma.mm.Mmap.PROT_NONE;
import static io.pagewalk.rdma.mm.Mmap.PROT_READ;
import static io.pagewalk.rdma.mm.Mmap.PROT_WRITE;
import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.UserFile;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which memory can be registered, by both kernels (rdma:UMEM-11 to UMEM-14, UMEM-19, QRK-1, QRK-2, QRK-4). */
class UmemKindsOfMemoryTest {
    private static final int READ = AccessFlags.REMOTE_READ;
    private static final int WRITE = AccessFlags.LOCAL_WRITE;
    private static final int RW = PROT_READ | PROT_WRITE;
    private static final int PAGES = 2;

    private static UserFile file(UmemWorld world, FileKind kind) {
        return UserFile.create(world.machine, kind, "file", kind == FileKind.HUGETLB ? 2L << 20 : PAGES * PAGE);
    }

    /** Registers what is mapped, releases it again, and says what came of it. */
    private static int registered(UmemWorld world, long addr, int access) {
        assertThat(addr).isPositive();
        int error = world.get(addr, PAGES * PAGE, access);
        if (error == 0) {
            world.result.umem().close();
        }
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.pinnedVm()).isZero();
        return error;
    }

    private static int ofFile(KernelModel model, FileKind kind, int prot, int flags, int access) {
        UmemWorld world = UmemWorld.software(model);
        return registered(world, world.map(PAGES, prot, flags, file(world, kind).forWriting()), access);
    }

    private static int ofAnon(KernelModel model, int prot, int access) {
        UmemWorld world = UmemWorld.software(model);
        return registered(world, world.mapAnon(PAGES, prot), access);
    }

    // ---- read-only registrations (UMEM-13)

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-13: private anonymous memory can be registered for reading, writable or not")
    void privateAnonymousMemoryCanBeRead(KernelModel model) {
        assertThat(ofAnon(model, RW, READ)).isZero();
        assertThat(ofAnon(model, PROT_READ, READ)).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-11, UMEM-12, UMEM-13, QRK-1: a shared read-only file can be, but not by a 5.x kernel")
    void aSharedReadOnlyFileCanBeReadByTheNewKernel() {
        assertThat(ofFile(LINUX_6_12, FileKind.REGULAR, PROT_READ, MAP_SHARED, READ))
                .isZero();
        assertThat(ofFile(LINUX_5, FileKind.REGULAR, PROT_READ, MAP_SHARED, READ))
                .isEqualTo(-Errno.EFAULT);
        UmemWorld world = UmemWorld.software();
        long addr = world.map(
                PAGES, PROT_READ, MAP_SHARED, file(world, FileKind.REGULAR).forReading());
        world.process.readBytes(addr, 1);
        long pfn = world.process.pfnOf(addr);
        assertThat(world.get(addr, PAGE, READ)).isZero();
        assertThat(UmemWorld.pfn(world.result.umem().physAddr(addr)))
                .as("the page-cache page")
                .isEqualTo(pfn);
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-13: a private read-only file can be, on a page of the process's own")
    void aPrivateFileIsRegisteredOnAPageOfItsOwn(KernelModel model) {
        UmemWorld world = UmemWorld.software(model);
        long addr = world.map(
                PAGES, PROT_READ, MAP_PRIVATE, file(world, FileKind.REGULAR).forReading());
        world.process.readBytes(addr, 1);
        long cachePfn = world.process.pfnOf(addr);

        assertThat(world.get(addr, PAGES * PAGE, READ)).isZero();
        long pfn = UmemWorld.pfn(world.result.umem().physAddr(addr));
        assertThat(pfn).isNotEqualTo(cachePfn).isEqualTo(world.process.pfnOf(addr));
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-13, QRK-4: untouched private memory ends on a fresh page of zeros, not on the zero page")
    void untouchedMemoryEndsOnAFreshPage(KernelModel model) {
        UmemWorld world = UmemWorld.software(model);
        long addr = world.mapAnon(PAGES, PROT_READ);
        world.process.readBytes(addr, 1);
        long zeroPfn = world.process.pfnOf(addr);

        assertThat(world.get(addr, PAGES * PAGE, READ)).isZero();
        long pfn = UmemWorld.pfn(world.result.umem().physAddr(addr));
        assertThat(pfn).isNotEqualTo(zeroPfn);
        assertThat(world.machine.cpuMemory().getLong(pfn << 12)).isZero();
        assertThat(world.pinsHeld()).isEqualTo(PAGES);
    }

    @Test
    @DisplayName("rdma:UMEM-13, GUP-4: memory that may only be written can be as far as its pages are present")
    void memoryThatMayOnlyBeWrittenCanBeWhereItIsPresent() {
        UmemWorld world = UmemWorld.software();
        long addr = world.mapAnon(PAGES, PROT_WRITE);
        world.process.writeBytes(addr, new byte[] {1});

        assertThat(world.get(addr, PAGES * PAGE, READ)).isEqualTo(-Errno.EFAULT);
        assertThat(world.result.failure().numbers()).containsExactly(addr + PAGE, 1L, 2L);
        world.process.writeBytes(addr + PAGE, new byte[] {1});
        assertThat(registered(world, addr, READ)).isZero();
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-13: memory without access cannot be registered")
    void memoryWithoutAccessCannotBeRegistered(KernelModel model) {
        UmemWorld world = UmemWorld.software();
        assertThat(registered(world, world.mapAnon(PAGES, PROT_NONE), READ)).isEqualTo(-Errno.EFAULT);
        assertThat(registered(world, world.mapAnon(PAGES, PROT_EXEC), READ)).isEqualTo(-Errno.EFAULT);
        assertThat(ofAnon(model, PROT_NONE, WRITE)).isEqualTo(-Errno.EFAULT);
    }

    // ---- writable registrations (UMEM-14)

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-14: memory that may not be written cannot be registered for writing")
    void memoryThatMayNotBeWrittenCannotBeWritten(KernelModel model) {
        assertThat(ofAnon(model, PROT_READ, WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(ofFile(model, FileKind.SHMEM, PROT_READ, MAP_SHARED, WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(ofAnon(model, RW, WRITE)).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-14, QRK-2: a shared file with dirty tracking can be by a 5.x kernel alone")
    void aSharedFileCanBeWrittenByTheOldKernel() {
        assertThat(ofFile(LINUX_6_12, FileKind.REGULAR, RW, MAP_SHARED, WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(ofFile(LINUX_5, FileKind.REGULAR, RW, MAP_SHARED, WRITE)).isZero();
        assertThat(ofFile(LINUX_6_12, FileKind.REGULAR, RW, MAP_PRIVATE, WRITE)).isZero();
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-14: files of persistent memory are -EOPNOTSUPP; shared memory and huge pages can be")
    void filesOfOtherKinds(KernelModel model) {
        assertThat(ofFile(model, FileKind.FSDAX, RW, MAP_SHARED, WRITE)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(ofFile(model, FileKind.SHMEM, RW, MAP_SHARED, WRITE)).isZero();
        UmemWorld world = UmemWorld.software(model);
        long huge = world.process.mmap(
                0, 2L << 20, RW, MAP_SHARED, file(world, FileKind.HUGETLB).forWriting(), 0);
        assertThat(registered(world, huge, WRITE)).isZero();
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:UMEM-14: memory of devices is -EFAULT")
    void memoryOfDevicesCannotBeRegistered(KernelModel model) {
        UmemWorld world = UmemWorld.software(model);
        assertThat(registered(world, world.process.mmapDevice(0, 0xfee00, PAGES * PAGE, RW), WRITE))
                .isEqualTo(-Errno.EFAULT);
        assertThat(registered(world, world.process.mmapDevice(0, 0xfee00, PAGES * PAGE, RW), READ))
                .isEqualTo(-Errno.EFAULT);
    }

    @Test
    @DisplayName("rdma:UMEM-19: the right HUGETLB changes nothing of pinning")
    void theRightHugetlbChangesNothing() {
        assertThat(ofAnon(LINUX_6_12, RW, READ | AccessFlags.HUGETLB)).isZero();
        UmemWorld world = UmemWorld.software();
        assertThat(world.get(
                        world.map(PAGES, RW, MAP_SHARED | MAP_ANONYMOUS, null),
                        PAGES * PAGE,
                        WRITE | AccessFlags.HUGETLB))
                .isZero();
        assertThat(world.pinsHeld()).isEqualTo(PAGES);
    }
}
