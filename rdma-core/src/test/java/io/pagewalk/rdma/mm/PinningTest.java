package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static io.pagewalk.rdma.mm.World.W;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@DisplayName("pin_user_pages_fast (rdma:GUP-1 to GUP-20)")
class PinningTest {
    private static final int PRIVATE = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
    private static final int FORCE_WRITE = LONG_WRITE | GupFlags.FORCE;

    // ---- the call

    @Test
    void flagsHaveTheKernelsValues() {
        // GUP-1
        assertThat(new int[] {
                    GupFlags.WRITE,
                    GupFlags.GET,
                    GupFlags.FORCE,
                    GupFlags.NOFAULT,
                    GupFlags.ANON,
                    GupFlags.LONGTERM,
                    GupFlags.PCI_P2PDMA
                })
                .containsExactly(1, 2, 8, 0x20, 0x80, 0x100, 0x400);
    }

    @Test
    void contradictoryFlagsAreRefusedAndTheMarkStays() {
        // GUP-1, GUP-2
        try (World world = new World()) {
            long address = world.touched(1);
            assertThat(world.pin(address, 1, LONGTERM | GupFlags.PCI_P2PDMA)).isEqualTo(-Errno.EINVAL);
            assertThat(world.process.addressSpace().hasPinned()).isTrue();
            assertThat(world.pin(address, 1, GupFlags.GET)).isEqualTo(-Errno.EINVAL);
            assertThat(world.machine.log().count("mm.gup")).isEqualTo(2);
            world.assertCounted(0, 0);
        }
    }

    @Test
    void rangesOutsideTheTasksSpaceFailAsAWhole() {
        // GUP-3
        try (World world = new World()) {
            world.process.mmap(Mapper.TASK_SIZE - PAGE, PAGE, RW, PRIVATE | Mmap.MAP_FIXED, null, 0);
            assertThat(world.pin(-PAGE, 2, LONGTERM)).isEqualTo(-Errno.EOVERFLOW);
            assertThat(world.pin(-2 * PAGE, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(Mapper.TASK_SIZE - PAGE, 2, LONGTERM)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(Mapper.TASK_SIZE - 1, 1, LONGTERM)).isEqualTo(1);
            assertThat(world.process.addressSpace().hasPinned()).isTrue();
            assertThat(world.pin(Mapper.TASK_SIZE, 0, LONGTERM)).isZero();
            assertThat(world.pin(0, 0, LONGTERM)).isZero();
        }
    }

    @Test
    void argumentsThatAreNoneThrow() {
        try (World world = new World()) {
            assertThatThrownBy(() -> world.process.pinUserPagesFast(0, -1, 0, new long[1]))
                    .hasMessage("cannot pin -1 pages into an array of 1 frames");
            assertThatThrownBy(() -> world.process.pinUserPagesFast(0, 2, 0, new long[1]))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(world.process.addressSpace().hasPinned()).isFalse();
        }
    }

    @Test
    @DisplayName("GUP-EX1: the error comes with the next call")
    void errorAfterSomePagesIsLostToTheNextCall() {
        try (World world = new World()) {
            long address = world.touched(4);
            world.process.munmap(address + 2 * PAGE, 2 * PAGE);
            long[] pfns = new long[4];
            assertThat(world.process.pinUserPagesFast(address, 4, LONG_WRITE, pfns))
                    .isEqualTo(2);
            assertThat(pfns).containsExactly(world.process.pfnOf(address), world.process.pfnOf(address + PAGE), 0, 0);
            assertThat(world.process.pinUserPagesFast(address + 2 * PAGE, 2, LONG_WRITE, pfns))
                    .isEqualTo(-Errno.EFAULT);
            world.assertCounted(2, 0);
        }
    }

    @Test
    void errorInTheSlowPhaseAfterSomePagesIsLostToo() {
        // GUP-7
        try (World world = new World()) {
            long address = world.untouched(4);
            world.process.munmap(address + 3 * PAGE, PAGE);
            assertThat(world.pin(address, 4, LONG_WRITE)).isEqualTo(3);
            world.process.madvise(address + PAGE, PAGE, Mmap.MADV_DONTNEED);
            assertThat(world.pin(address, 4, LONG_WRITE)).as("both phases").isEqualTo(3);
            world.assertCounted(6, 0);
        }
    }

    @Test
    void pendingKillInterruptsTheSlowPhaseAlone() {
        // GUP-16
        try (World world = new World()) {
            long address = world.touched(1);
            long untouched = world.untouched(1);
            world.process.kill();
            assertThat(world.process.isKilled()).isTrue();
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            assertThat(world.pin(untouched, 1, LONG_WRITE)).isEqualTo(-Errno.EINTR);
            assertThat(untouched + PAGE).isEqualTo(address);
            assertThat(world.pin(0x4000, 1, LONG_WRITE))
                    .as("no range comes first")
                    .isEqualTo(-Errno.EFAULT);
        }
    }

    // ---- the fast phase

    @Test
    void fastPhaseTakesWhatTheProcessMayWriteButNotRead() {
        // GUP-4, UMEM-13
        try (World world = new World()) {
            long address = world.process.mmap(0, 2 * PAGE, W, PRIVATE, null, 0);
            world.process.putLong(address, 1);
            assertThat(world.pin(address, 2, LONGTERM)).isEqualTo(1);
            assertThat(world.pin(address + PAGE, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
        }
    }

    @Test
    @DisplayName("GUP-EX2: shared file with dirty tracking, 4/0 and then 5/1")
    void readOnlyPinOfTrackedFilePagesCountsOneRefusal() {
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 4)) {
            long address = world.map(file.forWriting(), 4, RW, Mmap.MAP_SHARED);
            world.countFromHere();
            long[] pfns = world.pinned(address, 4, LONGTERM);
            world.assertCounted(4, 0);
            assertThat(world.memory.folios().has(pfns[0], Folios.FILE))
                    .as("not unshared")
                    .isTrue();
            assertThat(world.pinned(address, 4, LONGTERM)).isEqualTo(pfns);
            world.assertCounted(9, 1);
            assertThat(world.frames.refCount(pfns[0]))
                    .as("cache, mapping, two pins")
                    .isEqualTo(2050);
        }
    }

    @Test
    @DisplayName("GUP-EX2: tmpfs, 4/0 both times")
    void readOnlyPinOfTmpfsIsTakenAtOnce() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 4)) {
            long address = world.map(file.forWriting(), 4, RW, Mmap.MAP_SHARED);
            world.pinned(address, 4, LONGTERM);
            world.pinned(address, 4, LONGTERM);
            world.assertCounted(8, 0);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = FileKind.class,
            names = {"REGULAR", "KERNEL_PAGES"})
    @DisplayName("GUP-EX2: touched page of a private read-only file mapping or of [vdso], 2/1 and then 1/0")
    void readOnlyPinOfAPrivateFilePageLeavesACopyBehind(FileKind kind) {
        // MM-20, GUP-10
        try (World world = new World();
                UserFile file = world.file(kind, 1)) {
            long address = world.map(file.forReading(), 1, R | Mmap.PROT_EXEC, Mmap.MAP_PRIVATE);
            assertThat(world.process.getLong(address)).isZero();
            long cached = world.process.pfnOf(address);
            world.countFromHere();
            long[] pfns = world.pinned(address, 1, LONGTERM);
            world.assertCounted(2, 1);
            assertThat(pfns[0]).isNotEqualTo(cached);
            assertThat(world.memory.folios().has(pfns[0], Folios.ANON)).isTrue();
            assertThat(world.memory.folios().isExclusive(pfns[0])).isTrue();
            assertThat(world.pinned(address, 1, LONGTERM)).isEqualTo(pfns);
            world.assertCounted(3, 1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(3, 1);
        }
    }

    @Test
    @DisplayName("GUP-EX2: touched secret memory, 1/1 and -EFAULT")
    void secretMemoryIsDroppedAgain() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SECRETMEM, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            assertThat(world.pin(address, 2, LONGTERM)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(0, 0);
            world.process.putLong(address, 1);
            assertThat(world.pin(address, 2, LONGTERM)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(1, 1);
            assertThat(world.pin(address, 2, GupFlags.WRITE)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(2, 2);
            assertThat(world.frames.refCount(world.process.pfnOf(address))).isEqualTo(2);
        }
    }

    @Test
    void fastPhaseDropsAWritableFilePageThatTheSlowPhaseTakes() {
        // GUP-5, GUP-20: the file-backed rule cannot see that the file needs no tracking
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR_UNTRACKED, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.putLong(address, 1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            world.assertCounted(2, 1);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(1);
            assertThat(world.pin(address, 1, GupFlags.WRITE)).isEqualTo(1);
            world.assertCounted(4, 1);
        }
    }

    @Test
    void pageSharedWithAChildIsDroppedAndUnshared() {
        // GUP-10, GUP-20
        try (World world = new World()) {
            long address = world.touched(2);
            Process child = World.child(world.process);
            long shared = world.process.pfnOf(address);
            world.countFromHere();
            long[] pfns = world.pinned(address, 2, LONGTERM);
            world.assertCounted(3, 1);
            assertThat(pfns[0]).isNotEqualTo(shared);
            assertThat(child.pfnOf(address)).isEqualTo(shared);
            assertThat(World.pinned(child, address, 1, 0)[0])
                    .as("short pins unshare too")
                    .isEqualTo(shared);
            world.assertCounted(5, 2);
        }
    }

    @Test
    void protectionKeyStopsBothPhases() {
        // GUP-5, GUP-8.7
        try (World world = new World()) {
            long address = world.touched(1);
            world.process.pkeyMprotect(address, PAGE, RW, 5);
            world.process.setPkru(2 << 10);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(1);
            world.process.setPkru(1 << 10);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(1, 0);
        }
    }

    @Test
    void untouchedPagesAreCountedOnce() {
        try (World world = new World()) {
            long address = world.untouched(3);
            long[] read = world.pinned(address, 3, LONGTERM);
            world.assertCounted(3, 0);
            assertThat(read[0]).isNotEqualTo(world.memory.zeroPfn());
            assertThat(world.pinned(address, 3, LONGTERM)).isEqualTo(read);
            assertThat(world.pinned(address, 3, LONG_WRITE))
                    .as("made writable where they are")
                    .isEqualTo(read);
            world.assertCounted(9, 0);
        }
    }

    // ---- the checks of a range, in their order

    @Test
    void deviceMemoryIsRefusedFirst() {
        // GUP-8.1; case H13
        try (World world = new World()) {
            long address = world.process.mmapDevice(0, 0x100, PAGE, RW);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EFAULT);
            world.assertCounted(0, 0);
        }
    }

    @Test
    void anonIsForAnonymousRangesOnly() {
        // GUP-8.2 before GUP-8.3
        try (World world = new World();
                UserFile file = world.file(FileKind.FSDAX, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(world.pin(address, 1, LONGTERM | GupFlags.ANON)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(world.untouched(1), 1, LONGTERM | GupFlags.ANON))
                    .isEqualTo(1);
        }
    }

    @Test
    void persistentMemoryOfAFileIsNotPinnedForLong() {
        // GUP-8.3 before GUP-8.5; case H15
        try (World world = new World();
                UserFile file = world.file(FileKind.FSDAX, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(-Errno.EOPNOTSUPP);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EOPNOTSUPP);
            world.process.putLong(address, 1);
            assertThat(world.pin(address, 1, LONG_WRITE)).as("a devmap entry").isEqualTo(-Errno.EOPNOTSUPP);
            world.assertCounted(0, 0);
            assertThat(world.pin(address, 1, GupFlags.WRITE)).isEqualTo(1);
            assertThat(world.pin(address + PAGE, 1, GupFlags.WRITE)).isEqualTo(1);
            long own = world.map(file.forWriting(), 1, RW, Mmap.MAP_PRIVATE);
            assertThat(world.pin(own, 1, LONGTERM)).isEqualTo(-Errno.EOPNOTSUPP);
        }
    }

    @Test
    void deviceDaxIsPinnedForLongByTheSlowPhase() {
        try (World world = new World();
                UserFile file = world.file(FileKind.DEVICE_DAX, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            world.assertCounted(2, 0);
        }
    }

    @Test
    void writablePinOfATrackedFileIsRefusedSinceSixFive() {
        // GUP-8.5a, QRK-2
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(address, 1, GupFlags.WRITE)).as("not for long").isEqualTo(1);
            world.assertCounted(1, 0);
            assertThat(world.pin(address, 1, LONG_WRITE)).as("a writable entry").isEqualTo(-Errno.EFAULT);
            world.assertCounted(2, 1);
            assertThat(world.pin(world.map(file.forWriting(), 1, RW, Mmap.MAP_PRIVATE), 1, LONG_WRITE))
                    .isEqualTo(1);
        }
        try (World old = new World(KernelModel.LINUX_5);
                UserFile file = old.file(FileKind.REGULAR, 1)) {
            long address = old.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(old.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            assertThat(old.pin(address, 1, LONG_WRITE)).isEqualTo(1);
            old.assertCounted(2, 0);
        }
    }

    @Test
    void writeNeedsTheRightUnlessForced() {
        // GUP-8.5b, GUP-11
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.touched(1);
            world.process.mprotect(address, PAGE, R);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EFAULT);
            long pfn = world.process.pfnOf(address);
            assertThat(world.pinned(address, 1, FORCE_WRITE)).containsExactly(pfn);
            assertThat(world.process.write(address, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            long shared = world.map(file.forReading(), 1, R, Mmap.MAP_SHARED);
            assertThat(world.pin(shared, 1, FORCE_WRITE)).isEqualTo(-Errno.EFAULT);
            int huge = PRIVATE | Mmap.MAP_HUGETLB;
            long large = world.process.mmap(0, 1, R, huge, null, 0);
            assertThat(world.pin(large, 1, FORCE_WRITE)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(large, 1, LONGTERM)).isEqualTo(1);
        }
    }

    @Test
    void forcedWriteBreaksCopyOnWriteWithoutGivingTheRight() {
        // GUP-11
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 1)) {
            long address = world.map(file.forReading(), 1, R, Mmap.MAP_PRIVATE);
            assertThat(world.process.getLong(address)).isZero();
            long cached = world.process.pfnOf(address);
            long[] pfns = world.pinned(address, 1, FORCE_WRITE);
            assertThat(pfns[0]).isNotEqualTo(cached);
            assertThat(world.memory.folios().isExclusive(pfns[0])).isTrue();
            assertThat(world.process.write(address, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            long anon = world.process.mmap(0, PAGE, R, PRIVATE, null, 0);
            assertThat(world.process.getLong(anon)).isZero();
            assertThat(world.pinned(anon, 1, FORCE_WRITE)[0]).isNotEqualTo(world.memory.zeroPfn());
            long touched = world.touched(1);
            world.process.mprotect(touched, PAGE, R);
            Process child = World.child(world.process);
            assertThat(world.pinned(touched, 1, FORCE_WRITE)[0]).isNotEqualTo(child.pfnOf(touched));
        }
    }

    @Test
    void readNeedsTheRightUnlessForced() {
        // GUP-8.6
        try (World world = new World()) {
            long address = world.process.mmap(0, PAGE, Mmap.PROT_EXEC, PRIVATE, null, 0);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pin(address, 1, LONGTERM | GupFlags.FORCE)).isEqualTo(1);
            long none = world.touched(1);
            long pfn = world.process.pfnOf(none);
            world.process.mprotect(none, PAGE, Mmap.PROT_NONE);
            assertThat(world.pin(none, 1, LONGTERM)).isEqualTo(-Errno.EFAULT);
            assertThat(world.pinned(none, 1, LONGTERM | GupFlags.FORCE)).containsExactly(pfn);
        }
    }

    @Test
    void oldReadOnlyRegistrationsForceAWritePin() {
        // UMEM-12, UMEM-13: the pinning half
        try (World world = new World(KernelModel.LINUX_5);
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.process.mmap(0, PAGE, R, PRIVATE, null, 0);
            long pfn = world.pinned(address, 1, FORCE_WRITE)[0];
            assertThat(pfn).isNotEqualTo(world.memory.zeroPfn());
            assertThat(world.pin(world.map(file.forReading(), 1, R, Mmap.MAP_SHARED), 1, FORCE_WRITE))
                    .isEqualTo(-Errno.EFAULT);
            long own = world.map(file.forReading(), 1, R, Mmap.MAP_PRIVATE);
            long copy = world.pinned(own, 1, FORCE_WRITE)[0];
            assertThat(world.memory.folios().has(copy, Folios.ANON)).isTrue();
        }
    }

    // ---- the slow phase

    @Test
    void nofaultTakesOnlyWhatIsThere() {
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.madvise(address + PAGE, PAGE, Mmap.MADV_DONTNEED);
            assertThat(world.pin(address, 2, LONG_WRITE | GupFlags.NOFAULT)).isEqualTo(1);
            assertThat(world.pin(address + PAGE, 1, LONG_WRITE | GupFlags.NOFAULT))
                    .isEqualTo(-Errno.EFAULT);
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(-1);
        }
    }

    @Test
    void slowPhaseMarksPagesDirtyAndLookedAt() {
        // GUP-12
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            long read = world.pinned(address, 1, LONGTERM)[0];
            assertThat(world.frames.isDirty(read)).isFalse();
            assertThat(world.memory.folios().has(read, Folios.REFERENCED)).isTrue();
            long written = world.pinned(address + PAGE, 1, LONG_WRITE)[0];
            assertThat(world.frames.isDirty(written)).isTrue();
            long fast = world.pinned(address, 1, LONG_WRITE)[0];
            assertThat(fast).isEqualTo(read);
            assertThat(world.frames.isDirty(fast))
                    .as("the fast phase marks nothing")
                    .isFalse();
        }
    }

    @Test
    void outOfMemoryIsEnomem() {
        // MM-11
        try (World world = new World()) {
            long address = world.untouched(2);
            world.machine.failures().failNth("mm.page", 1);
            assertThat(world.pin(address, 2, LONG_WRITE)).isEqualTo(-Errno.ENOMEM);
            world.machine.failures().failNth("mm.page", 2);
            assertThat(world.pin(address, 2, LONG_WRITE)).isEqualTo(1);
            world.assertCounted(1, 0);
        }
    }

    @Test
    void memoryOfAPeerIsRemote() {
        // GUP-15
        try (World world = new World()) {
            world.machine
                    .devicePages()
                    .add(PhysRange.ofSize(0xf000_0000L, 2 * PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
            long address = world.process.mmapDevicePages(0, 0xf_0000, PAGE, RW);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EREMOTEIO);
            world.assertCounted(0, 0);
            long[] pfns = world.pinned(address, 1, GupFlags.WRITE | GupFlags.PCI_P2PDMA);
            assertThat(pfns).containsExactly(0xf_0000);
            world.unpin(pfns);
            world.assertAllFree();
            assertThat(world.frames.refCount(0xf_0000)).isZero();
        }
    }

    @Test
    void pinsCrossRangesOfDifferentKinds() {
        // case H12: a hole between them is found
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 2)) {
            long address = world.untouched(4);
            world.process.mmap(address + PAGE, PAGE, RW, Mmap.MAP_SHARED | Mmap.MAP_FIXED, file.forWriting(), 0);
            long[] pfns = world.pinned(address, 4, LONG_WRITE);
            assertThat(world.memory.folios().has(pfns[1], Folios.SHMEM)).isTrue();
            assertThat(world.memory.folios().has(pfns[2], Folios.ANON)).isTrue();
            world.unpin(pfns);
            world.process.munmap(address + 2 * PAGE, PAGE);
            Registration merged = Registration.of(world.process, address, 4 * PAGE, 1);
            assertThat(merged.result).isEqualTo(-Errno.EFAULT);
            Registration minimal = Registration.of(world.process, address, 2 * PAGE, 1);
            assertThat(minimal.result).isZero();
            minimal.release();
            world.assertAllFree(file);
        }
    }

    @Test
    void hugePagesFillOneEntryForEachSmallPage() {
        // GUP-17
        try (World world = new World()) {
            long address = world.process.mmap(0, 2 << 20, RW, PRIVATE | Mmap.MAP_HUGETLB, null, 0);
            long[] slow = world.pinned(address, 512, LONG_WRITE);
            long[] fast = world.pinned(address, 512, LONGTERM);
            assertThat(fast).isEqualTo(slow);
            for (int i = 0; i < 512; i++) {
                assertThat(slow[i]).isEqualTo(slow[0] + i);
            }
            world.assertCounted(1024, 0);
            assertThat(world.frames.pinCount(slow[0])).isEqualTo(1024);
            assertThat(world.frames.refCount(slow[0])).isEqualTo(1025);
        }
    }
}
