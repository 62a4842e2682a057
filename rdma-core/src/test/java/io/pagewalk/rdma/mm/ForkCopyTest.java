package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.KernelModel;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("fork (rdma:MM-13, MM-14, QRK-3)")
class ForkCopyTest {

    @Test
    void pinnedPageStaysWithTheParentAndTheChildGetsACopyAtOnce() {
        // Case G7, the rule since 5.9
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.pinned(address, 1, LONG_WRITE)[0];
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isNotEqualTo(pfn);
            assertThat(child.getLong(address)).isEqualTo(1);
            world.process.putLong(address, 2);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfn);
            assertThat(world.deviceReads(pfn)).isEqualTo(2);
            assertThat(child.getLong(address)).isEqualTo(1);
            child.putLong(address, 3);
            assertThat(world.process.getLong(address)).isEqualTo(2);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1025);
            assertThat(world.frames.refCount(child.pfnOf(address))).isEqualTo(1);
            child.exit();
            world.unpin(pfn);
            world.assertAllFree();
        }
    }

    @Test
    void pinnedPageIsLostToTheParentUnderTheOldRule() {
        // Case G7, the old rule
        try (World world = new World(KernelModel.LINUX_5)) {
            long address = world.touched(1);
            long pfn = world.pinned(address, 1, LONG_WRITE)[0];
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isEqualTo(pfn);
            world.process.putLong(address, 2);
            assertThat(world.process.pfnOf(address)).isNotEqualTo(pfn);
            assertThat(world.deviceReads(pfn)).isEqualTo(1);
            child.putLong(address, 3);
            assertThat(child.pfnOf(address)).as("its last mapping").isEqualTo(pfn);
            child.exit();
            world.unpin(pfn);
            world.assertAllFree();
        }
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    void pageThatIsNotPinnedIsSharedUntilOneWrites(KernelModel model) {
        try (World world = new World(model)) {
            long address = world.touched(2);
            long[] pinned = world.pinned(address + PAGE, 1, LONG_WRITE);
            world.unpin(pinned);
            long pfn = world.process.pfnOf(address);
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isEqualTo(pfn);
            assertThat(child.pfnOf(address + PAGE)).isEqualTo(pinned[0]);
            assertThat(world.frames.refCount(pfn)).isEqualTo(2);
            assertThat(world.memory.folios().isExclusive(pfn)).isFalse();
            child.putLong(address, 9);
            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfn);
            child.exit();
            world.assertAllFree();
        }
    }

    @Test
    void readOnlyPinIsKeptToo() {
        try (World world = new World()) {
            long address = world.untouched(1);
            long pfn = world.pinned(address, 1, LONGTERM)[0];
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isNotEqualTo(pfn);
            world.process.putLong(address, 7);
            assertThat(world.deviceReads(pfn)).isEqualTo(7);
            assertThat(child.getLong(address)).isZero();
        }
    }

    @Test
    void pageThatOnlyLooksPinnedIsCopiedOnlyOnceSomethingWasPinned() {
        // MM-14, MM-16: 1024 references of other kinds
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            world.frames.get(pfn, 1023);
            Process shares = World.child(world.process);
            assertThat(world.process.addressSpace().hasPinned()).isFalse();
            assertThat(shares.pfnOf(address)).isEqualTo(pfn);
            shares.exit();
            world.frames.put(pfn, 1023);
            world.process.putLong(address, 2);
            world.frames.get(pfn, 1023);
            assertThat(world.pin(0, 1, LONGTERM)).isEqualTo(-14);
            assertThat(world.process.addressSpace().hasPinned()).isTrue();
            Process copied = World.child(world.process);
            assertThat(copied.pfnOf(address)).isNotEqualTo(pfn);
            assertThat(copied.addressSpace().hasPinned()).isFalse();
            copied.exit();
            world.frames.put(pfn, 1);
            assertThat(World.child(world.process).pfnOf(address))
                    .as("1023 references")
                    .isEqualTo(pfn);
        }
    }

    @Test
    void chargesStayWithTheParent() {
        // MM-13
        try (World world = new World()) {
            world.touched(1);
            world.process.addressSpace().addPinnedVm(7);
            Process child = World.child(world.process);
            assertThat(child.addressSpace().pinnedVm()).isZero();
            assertThat(world.process.addressSpace().pinnedVm()).isEqualTo(7);
        }
    }

    @Test
    void lockedMemoryIsNotLockedInTheChild() {
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.mlock(address, 2 * PAGE);
            Process child = World.child(world.process);
            assertThat(child.addressSpace().lockedVm()).isZero();
            assertThat(child.munmap(address, 2 * PAGE)).isZero();
            assertThat(child.addressSpace().lockedVm()).isZero();
            assertThat(world.process.addressSpace().lockedVm()).isEqualTo(2);
        }
    }

    @Test
    void dontcopyRangesAreMissingAndWipeonforkRangesAreEmpty() {
        // MM-13; case G9: the neighbour in the same page is lost in the child
        try (World world = new World()) {
            long address = world.touched(3);
            long neighbour = address + 0x800;
            world.process.putLong(neighbour, 77);
            assertThat(world.process.madvise(address, 0x10, Mmap.MADV_DONTFORK)).isZero();
            assertThat(world.process.madvise(address + PAGE, PAGE, Mmap.MADV_WIPEONFORK))
                    .isZero();
            Process child = World.child(world.process);
            assertThat(child.read(neighbour, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
            assertThat(child.pfnOf(address + PAGE)).isEqualTo(-1);
            assertThat(child.getLong(address + PAGE)).isZero();
            assertThat(child.getLong(address + 2 * PAGE)).isEqualTo(3);
            assertThat(world.process.getLong(address + PAGE)).isEqualTo(2);
            assertThat(world.process.madvise(address, 3 * PAGE, Mmap.MADV_DOFORK))
                    .isZero();
            assertThat(world.process.madvise(address, 3 * PAGE, Mmap.MADV_KEEPONFORK))
                    .isZero();
            Process second = World.child(world.process);
            assertThat(second.getLong(neighbour)).isEqualTo(77);
            assertThat(second.getLong(address + PAGE)).isEqualTo(2);
            child.exit();
            second.exit();
            world.assertAllFree();
        }
    }

    @Test
    void sharedMemoryIsOneForBoth() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.putLong(address, 4);
            long pfn = world.pinned(address, 1, LONG_WRITE)[0];
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).as("comes back with a fault").isEqualTo(-1);
            child.putLong(address, 5);
            assertThat(child.pfnOf(address)).isEqualTo(pfn);
            assertThat(world.process.getLong(address)).isEqualTo(5);
        }
    }

    @Test
    void privateFilePagesAreSharedAndCopiesAreCopyOnWrite() {
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_PRIVATE);
            world.process.putLong(address, 1);
            assertThat(world.process.getLong(address + PAGE)).isZero();
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isEqualTo(world.process.pfnOf(address));
            assertThat(child.pfnOf(address + PAGE)).isEqualTo(world.process.pfnOf(address + PAGE));
            child.putLong(address, 2);
            child.putLong(address + PAGE, 2);
            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.getLong(address + PAGE)).isZero();
            child.exit();
            world.assertAllFree(file);
        }
    }

    @Test
    void zeroPageIsHandedOnWithoutReferences() {
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.madvise(address, PAGE, Mmap.MADV_DONTNEED);
            assertThat(world.process.getLong(address)).isZero();
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address)).isEqualTo(world.memory.zeroPfn());
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
            child.putLong(address, 1);
            assertThat(world.process.getLong(address)).isZero();
        }
    }

    @Test
    void deviceMemoryIsMappedInBoth() {
        try (World world = new World()) {
            long address = world.process.mmapDevice(0, 0x100, PAGE, RW);
            world.process.putLong(address, 8);
            Process child = World.child(world.process);
            assertThat(child.getLong(address)).isEqualTo(8);
            child.putLong(address, 9);
            assertThat(world.process.getLong(address)).isEqualTo(9);
        }
    }

    @Test
    void pinnedHugePageIsCopiedWhole() {
        try (World world = new World()) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
            long address = world.process.mmap(0, 2 << 20, RW, flags, null, 0);
            world.process.putLong(address + 9 * PAGE, 1);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address + 9 * PAGE)).isNotEqualTo(pfns[0] + 9);
            assertThat(child.getLong(address + 9 * PAGE)).isEqualTo(1);
            world.process.putLong(address, 2);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(2);
            world.unpin(pfns);
            child.exit();
            Process shares = World.child(world.process);
            assertThat(shares.pfnOf(address)).isEqualTo(pfns[0]);
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(2);
            shares.putLong(address, 3);
            assertThat(world.process.getLong(address)).isEqualTo(2);
            world.process.putLong(address, 4);
            assertThat(world.process.pfnOf(address)).as("mapped once again").isEqualTo(pfns[0]);
            shares.exit();
            world.assertAllFree();
        }
    }

    @Test
    void pinnedTransparentHugePageIsCopiedPageByPage() {
        try (World world = new World()) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
            long address = 0x4000_0000L;
            world.process.mmap(address, 2 << 20, RW, flags, null, 0);
            world.process.madvise(address, 2 << 20, Mmap.MADV_HUGEPAGE);
            world.process.putLong(address + PAGE, 1);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address + PAGE)).isNotEqualTo(pfns[0] + 1);
            assertThat(child.getLong(address + PAGE)).isEqualTo(1);
            world.process.putLong(address, 2);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(2);
            child.exit();
            world.unpin(pfns);
            Process shares = World.child(world.process);
            assertThat(shares.pfnOf(address)).isEqualTo(pfns[0]);
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(1024);
            world.process.putLong(address, 3);
            assertThat(world.process.pfnOf(address)).isNotEqualTo(pfns[0]);
            shares.exit();
            world.assertAllFree();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mm.struct", "mm.vma", "mm.table", "mm.page"})
    void forkThatRunsOutOfMemoryLeavesNothing(String point) {
        // MM-14
        try (World world = new World()) {
            long address = world.touched(3);
            long[] pfns = world.pinned(address + PAGE, 1, LONG_WRITE);
            long before = world.machine.pages().allocatedPages();
            world.machine.failures().failNth(point, 1);
            assertThat(world.process.fork()).isNull();
            assertThat(world.machine.failures().failedAt()).isEqualTo(point);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(before);
            assertThat(world.frames.refCount(world.process.pfnOf(address))).isEqualTo(1);
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(1025);
            world.process.putLong(address + PAGE, 5);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(5);
            Process child = World.child(world.process);
            assertThat(child.getLong(address)).isEqualTo(1);
            child.exit();
            world.unpin(pfns);
            world.assertAllFree();
        }
    }
}
