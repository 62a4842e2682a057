package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static io.pagewalk.rdma.mm.World.W;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("mmap, munmap, mprotect and madvise (rdma:MM-4 to MM-6, MM-12, MM-13)")
class MapperTest {
    private static final int PRIVATE = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
    private static final int FIXED = PRIVATE | Mmap.MAP_FIXED;

    private static long flagsOf(Process process, long address) {
        return Objects.requireNonNull(process.addressSpace().vmas().find(address)).flags;
    }

    @Test
    void placesAreTakenDownwardsFromTheBase() {
        try (World world = new World()) {
            assertThat(world.process.mmap(1)).isEqualTo(0x7fff_f7ff_e000L);
            assertThat(world.process.mmap(2 * PAGE)).isEqualTo(0x7fff_f7ff_c000L);
            assertThat(world.process.munmap(0x7fff_f7ff_e000L, 1)).isZero();
            assertThat(world.process.mmap(PAGE + 1)).isEqualTo(0x7fff_f7ff_a000L);
            assertThat(world.process.mmap(PAGE)).isEqualTo(0x7fff_f7ff_e000L);
        }
    }

    @Test
    void hintIsTakenWhereItIsFree() {
        try (World world = new World()) {
            assertThat(world.process.mmap(0x20_0123, PAGE, RW, PRIVATE, null, 0))
                    .isEqualTo(0x20_0000);
            assertThat(world.process.mmap(0x20_0000, PAGE, RW, PRIVATE, null, 0))
                    .isEqualTo(0x7fff_f7ff_e000L);
            assertThat(world.process.mmap(0x1000, PAGE, RW, PRIVATE, null, 0)).isEqualTo(0x7fff_f7ff_d000L);
        }
    }

    @Test
    void nonsenseIsRefusedInTheKernelsWords() {
        try (World world = new World()) {
            Process process = world.process;
            assertThat(process.mmap(0)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmap(1L << 47)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mmap(0x7fff_f800_0000L)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mmap(0, PAGE, RW, Mmap.MAP_ANONYMOUS, null, 0)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmap(0, PAGE, RW, PRIVATE, null, 1)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmap(0x20_0001, PAGE, RW, FIXED, null, 0)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmap(Mapper.TASK_SIZE, PAGE, RW, FIXED, null, 0)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mmap(0xf000, PAGE, RW, FIXED, null, 0)).isEqualTo(-Errno.EPERM);
            assertThat(process.mmap(0x1_0000, PAGE, RW, FIXED, null, 0)).isEqualTo(0x1_0000);
            assertThat(process.mmap(Mapper.TASK_SIZE - PAGE, PAGE, RW, FIXED, null, 0))
                    .isEqualTo(Mapper.TASK_SIZE - PAGE);
            assertThat(process.munmap(0x1_0001, PAGE)).isEqualTo(-Errno.EINVAL);
            assertThat(process.munmap(0x1_0000, 0)).isEqualTo(-Errno.EINVAL);
            assertThat(process.munmap(Mapper.TASK_SIZE, PAGE)).isEqualTo(-Errno.EINVAL);
            assertThat(process.munmap(0x40_0000, PAGE)).isZero();
        }
    }

    @Test
    void fixedMappingReplacesWhatWasThere() {
        try (World world = new World()) {
            long address = world.touched(3);
            assertThat(world.process.mmap(address + PAGE, PAGE, RW, FIXED, null, 0))
                    .isEqualTo(address + PAGE);
            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.getLong(address + PAGE)).isZero();
            assertThat(world.process.getLong(address + 2 * PAGE)).isEqualTo(3);
        }
    }

    @Test
    void flagsSayWhatMayBeGrantedLater() {
        // MM-4, MM-5, MM-6
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long may = VmFlags.MAYREAD | VmFlags.MAYWRITE | VmFlags.MAYEXEC;
            long privateReadable = world.map(file.forReading(), 1, R, Mmap.MAP_PRIVATE);
            assertThat(flagsOf(world.process, privateReadable)).isEqualTo(may | VmFlags.READ);
            assertThat(VmFlags.isCowMapping(may | VmFlags.READ)).isTrue();
            long shared = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(flagsOf(world.process, shared))
                    .isEqualTo(may | VmFlags.READ | VmFlags.WRITE | VmFlags.SHARED | VmFlags.MAYSHARE);
            assertThat(VmFlags.isCowMapping(flagsOf(world.process, shared))).isFalse();
            long readOnly = world.map(file.forReading(), 1, R, Mmap.MAP_SHARED);
            assertThat(flagsOf(world.process, readOnly))
                    .isEqualTo(VmFlags.MAYREAD | VmFlags.MAYEXEC | VmFlags.READ | VmFlags.MAYSHARE);
            assertThat(VmFlags.isCowMapping(flagsOf(world.process, readOnly))).isFalse();
            assertThat(world.process.mmap(0, PAGE, RW, Mmap.MAP_SHARED, file.forReading(), 0))
                    .isEqualTo(-Errno.EACCES);
            assertThat(world.process.mprotect(readOnly, PAGE, W)).isEqualTo(-Errno.EACCES);
        }
    }

    @Test
    void munmapSplitsARangeAndKeepsBothEnds() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 5)) {
            long address = world.map(file.forWriting(), 5, RW, Mmap.MAP_SHARED);
            world.process.putLong(address + 4 * PAGE, 44);
            assertThat(world.process.munmap(address + PAGE, 2 * PAGE)).isZero();
            assertThat(world.process.getLong(address + 4 * PAGE)).isEqualTo(44);
            long again = world.map(file.forWriting(), 5, RW, Mmap.MAP_SHARED);
            assertThat(world.process.getLong(again + 4 * PAGE)).isEqualTo(44);
            assertThat(world.process.pfnOf(again + 4 * PAGE)).isEqualTo(world.process.pfnOf(address + 4 * PAGE));
            assertThatThrownBy(() -> world.process.getLong(address + PAGE))
                    .isInstanceOf(MemoryFaultException.class)
                    .hasMessage("SIGSEGV at 0x%x", address + PAGE);
        }
    }

    @Test
    void mprotectTakesAndGivesBackWhatThePagesHad() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.touched(3);
            long pfn = process.pfnOf(address + PAGE);
            assertThat(process.mprotect(address + PAGE, PAGE, Mmap.PROT_NONE)).isZero();
            byte[] bytes = new byte[8];
            assertThat(process.read(address + PAGE, bytes, 0, 8)).isEqualTo(Fault.SEGV);
            assertThat(process.faultAddress()).isEqualTo(address + PAGE);
            assertThat(process.pfnOf(address + PAGE)).isEqualTo(pfn);
            assertThat(process.mprotect(address, 3 * PAGE, R)).isZero();
            assertThat(process.getLong(address + PAGE)).isEqualTo(2);
            assertThat(process.write(address + PAGE, bytes, 0, 8)).isEqualTo(Fault.SEGV);
            assertThat(process.mprotect(address, 3 * PAGE, RW)).isZero();
            process.putLong(address + PAGE, 22);
            assertThat(process.pfnOf(address + PAGE)).isEqualTo(pfn);
            assertThat(process.mprotect(address + 1, PAGE, R)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mprotect(address, 4 * PAGE, R)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mprotect(Mapper.TASK_SIZE, PAGE, R)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mprotect(address, 0, R)).isZero();
        }
    }

    @Test
    void mprotectNeverMakesTheZeroPageOrASharedPageWritable() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.untouched(1);
            assertThat(process.getLong(address)).isZero();
            assertThat(process.mprotect(address, PAGE, R)).isZero();
            assertThat(process.mprotect(address, PAGE, RW)).isZero();
            process.putLong(address, 5);
            assertThat(world.deviceReads(world.memory.zeroPfn())).isZero();
            Process child = World.child(process);
            assertThat(process.mprotect(address, PAGE, R)).isZero();
            assertThat(process.mprotect(address, PAGE, RW)).isZero();
            process.putLong(address, 6);
            assertThat(child.getLong(address)).isEqualTo(5);
        }
    }

    @Test
    void protectionKeysDenyAccessesAndWrites() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.touched(1);
            assertThat(process.pkeyMprotect(address, PAGE, RW, 3)).isZero();
            assertThat(process.getLong(address)).isEqualTo(1);
            process.setPkru(2 << 6);
            assertThat(process.getLong(address)).isEqualTo(1);
            assertThat(process.write(address, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            process.setPkru(1 << 6);
            assertThat(process.read(address, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            process.setPkru(~(3 << 6));
            process.putLong(address, 2);
            long untouched = world.untouched(1);
            process.setPkru(1);
            assertThat(process.read(untouched, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            assertThat(process.pfnOf(untouched)).isEqualTo(-1);
            assertThatThrownBy(() -> process.pkeyMprotect(address, PAGE, RW, 16))
                    .hasMessage("protection keys are 0 to 15, not 16");
        }
    }

    @Test
    void hugePagesAreNotCut() {
        try (World world = new World()) {
            Process process = world.process;
            long huge = 2 << 20;
            long address = process.mmap(0, 1, RW, PRIVATE | Mmap.MAP_HUGETLB, null, 0);
            assertThat(address & (huge - 1)).isZero();
            process.putLong(address + huge - 8, 7);
            assertThat(process.pfnOf(address + huge - PAGE)).isEqualTo(process.pfnOf(address) + 511);
            assertThat(process.munmap(address, PAGE)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mprotect(address + PAGE, PAGE, R)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address, PAGE, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address, huge, Mmap.MADV_DONTNEED)).isZero();
            assertThat(process.getLong(address + huge - 8)).isZero();
            assertThat(process.munmap(address, huge)).isZero();
            world.assertAllFree();
        }
    }

    @Test
    void secretMemoryIsSharedOnly() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SECRETMEM, 1)) {
            assertThat(world.process.mmap(0, PAGE, RW, Mmap.MAP_PRIVATE, file.forWriting(), 0))
                    .isEqualTo(-Errno.EINVAL);
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.putLong(address, 9);
            assertThat(world.process.getLong(address)).isEqualTo(9);
            assertThat(world.process.madvise(address, PAGE, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            assertThat(world.process.munmap(address, PAGE)).isZero();
            assertThat(world.process.addressSpace().lockedVm()).isZero();
        }
    }

    @Test
    void adviceThatIsUnknownOrMisplacedIsRefused() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            Process process = world.process;
            long address = world.touched(3);
            assertThat(process.madvise(address, PAGE, 77)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address + 1, PAGE, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address, 1L << 60, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            long mapped = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(process.madvise(mapped, PAGE, Mmap.MADV_WIPEONFORK)).isEqualTo(-Errno.EINVAL);
            long device = process.mmapDevice(0, 0xa0, PAGE, RW);
            assertThat(process.madvise(device, PAGE, Mmap.MADV_DOFORK)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(device, PAGE, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mlock(address, PAGE)).isZero();
            assertThat(process.madvise(address, PAGE, Mmap.MADV_DONTNEED)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address, 0, Mmap.MADV_DONTNEED)).isZero();
        }
    }

    @Test
    void adviceOverAHoleReachesBothSidesAndFails() {
        // Case G9: DOFORK over a hole
        try (World world = new World()) {
            Process process = world.process;
            long address = world.touched(3);
            assertThat(process.munmap(address + PAGE, PAGE)).isZero();
            assertThat(process.madvise(address, 3 * PAGE, Mmap.MADV_DONTFORK)).isEqualTo(-Errno.ENOMEM);
            assertThat(flagsOf(process, address) & VmFlags.DONTCOPY).isEqualTo(VmFlags.DONTCOPY);
            assertThat(flagsOf(process, address + 2 * PAGE) & VmFlags.DONTCOPY).isEqualTo(VmFlags.DONTCOPY);
            assertThat(process.madvise(address, 3 * PAGE, Mmap.MADV_DOFORK)).isEqualTo(-Errno.ENOMEM);
            assertThat(flagsOf(process, address) & VmFlags.DONTCOPY).isZero();
            assertThat(flagsOf(process, address + 2 * PAGE) & VmFlags.DONTCOPY).isZero();
        }
    }

    @Test
    void deviceMemoryOutsideRamReadsOnesAndSwallowsWrites() {
        try (World world = new World()) {
            long address = world.process.mmapDevice(0, 0xf_0000, 2 * PAGE, RW);
            world.process.putLong(address + PAGE, 1);
            assertThat(world.process.getLong(address + PAGE)).isEqualTo(-1);
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(0xf_0001);
            long ram = world.process.mmapDevice(0, 0x100, PAGE, R);
            assertThat(world.process.getLong(ram)).isZero();
            assertThat(world.process.write(ram, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            world.assertAllFree();
        }
    }
}
