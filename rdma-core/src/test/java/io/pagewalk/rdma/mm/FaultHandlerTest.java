package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static io.pagewalk.rdma.mm.World.W;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.Addresses;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@DisplayName("Faults (rdma:MM-7 to MM-11, MM-19)")
class FaultHandlerTest {

    private static long pte(World world, long address) {
        return world.process.addressSpace().table().get(address >>> Addresses.PAGE_SHIFT);
    }

    private static boolean isWritable(World world, long address) {
        return Pte.has(pte(world, address), Pte.WRITE);
    }

    @Test
    void readOfUntouchedMemoryMapsTheZeroPageReadOnly() {
        // MM-8
        try (World world = new World()) {
            long address = world.untouched(2);
            assertThat(world.process.getLong(address + PAGE - 4)).isZero();
            assertThat(world.process.pfnOf(address)).isEqualTo(world.memory.zeroPfn());
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(world.memory.zeroPfn());
            assertThat(isWritable(world, address)).isFalse();
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
            assertThat(world.machine.pages().allocatedPages()).isZero();
        }
    }

    @Test
    void writeToUntouchedMemoryMapsAZeroedExclusivePage() {
        // MM-8
        try (World world = new World()) {
            long first = world.touched(1);
            long dirtied = world.process.pfnOf(first);
            world.process.munmap(first, PAGE);
            long address = world.untouched(1);
            world.process.writeBytes(address + 8, new byte[] {1});
            long pfn = world.process.pfnOf(address);
            assertThat(pfn).as("the page that had other bytes").isEqualTo(dirtied);
            assertThat(world.process.getLong(address)).isZero();
            assertThat(world.frames.refCount(pfn)).isEqualTo(1);
            assertThat(world.memory.folios().isExclusive(pfn)).isTrue();
            assertThat(isWritable(world, address)).isTrue();
        }
    }

    @Test
    void writeAfterReadReplacesTheZeroPage() {
        try (World world = new World()) {
            long address = world.untouched(1);
            assertThat(world.process.getLong(address)).isZero();
            world.process.putLong(address, 3);
            assertThat(world.process.getLong(address)).isEqualTo(3);
            assertThat(world.process.pfnOf(address)).isNotEqualTo(world.memory.zeroPfn());
            assertThat(world.deviceReads(world.memory.zeroPfn())).isZero();
            world.assertAllFree();
        }
    }

    @Test
    void accessesCrossPages() {
        try (World world = new World()) {
            long address = world.untouched(2);
            world.process.putLong(address + PAGE - 3, 0x1122_3344_5566_7788L);
            assertThat(world.process.getLong(address + PAGE - 3)).isEqualTo(0x1122_3344_5566_7788L);
            assertThat(world.process.readBytes(address + PAGE, 5)).containsExactly(0x55, 0x44, 0x33, 0x22, 0x11);
        }
    }

    @Test
    void bytesBeforeAFaultAreWrittenAndRead() {
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.munmap(address + PAGE, PAGE);
            byte[] bytes = {1, 2, 3, 4};
            assertThat(world.process.write(address + PAGE - 2, bytes, 0, 4)).isEqualTo(Fault.SEGV);
            assertThat(world.process.faultAddress()).isEqualTo(address + PAGE);
            byte[] read = new byte[4];
            assertThat(world.process.read(address + PAGE - 2, read, 0, 4)).isEqualTo(Fault.SEGV);
            assertThat(read).containsExactly(1, 2, 0, 0);
        }
    }

    @Test
    void addressesThatAreNobodysAreSegmentationFaults() {
        try (World world = new World()) {
            byte[] one = new byte[1];
            assertThat(world.process.read(0, one, 0, 1)).isEqualTo(Fault.SEGV);
            assertThat(world.process.read(Mapper.TASK_SIZE, one, 0, 1)).isEqualTo(Fault.SEGV);
            assertThat(world.process.read(-PAGE, one, 0, 1)).isEqualTo(Fault.SEGV);
            assertThat(world.process.faultAddress()).isEqualTo(-PAGE);
            assertThat(world.process.pfnOf(-PAGE)).isEqualTo(-1);
        }
    }

    @Test
    void memoryThatCanOnlyBeWrittenOrExecutedCanBeReadOnX86() {
        try (World world = new World()) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
            long written = world.process.mmap(0, PAGE, W, flags, null, 0);
            world.process.putLong(written, 4);
            assertThat(world.process.getLong(written)).isEqualTo(4);
            long executed = world.process.mmap(0, PAGE, Mmap.PROT_EXEC, flags, null, 0);
            assertThat(world.process.getLong(executed)).isZero();
            assertThat(world.process.write(executed, new byte[1], 0, 1)).isEqualTo(Fault.SEGV);
        }
    }

    @Test
    void pageWithOneReferenceIsReusedAfterTheChildIsGone() {
        // MM-9
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            Process child = World.child(world.process);
            assertThat(world.memory.folios().isExclusive(pfn)).isFalse();
            assertThat(isWritable(world, address)).isFalse();
            child.exit();
            world.process.putLong(address, 2);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfn);
            assertThat(world.memory.folios().isExclusive(pfn)).isTrue();
        }
    }

    @Test
    void pageThatIsSharedIsCopiedAndLeftToTheOther() {
        // MM-9
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            Process child = World.child(world.process);
            world.process.putLong(address, 2);
            assertThat(world.process.pfnOf(address)).isNotEqualTo(pfn);
            assertThat(child.pfnOf(address)).isEqualTo(pfn);
            assertThat(child.getLong(address)).isEqualTo(1);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1);
            child.exit();
            world.assertAllFree();
        }
    }

    @Test
    void unshareMakesAnExclusiveCopyWithoutTheRightToWrite() {
        // MM-10
        try (World world = new World()) {
            long address = world.touched(1);
            long shared = world.process.pfnOf(address);
            Process child = World.child(world.process);
            long[] pfns = world.pinned(address, 1, World.LONGTERM);
            assertThat(pfns[0]).isNotEqualTo(shared).isEqualTo(world.process.pfnOf(address));
            assertThat(isWritable(world, address)).isFalse();
            assertThat(world.memory.folios().isExclusive(pfns[0])).isTrue();
            assertThat(world.process.getLong(address)).isEqualTo(1);
            world.process.putLong(address, 2);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfns[0]);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(2);
            assertThat(child.getLong(address)).isEqualTo(1);
        }
    }

    @Test
    void unshareOfAPageWithNoOtherUserKeepsIt() {
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            World.child(world.process).exit();
            assertThat(world.pinned(address, 1, World.LONGTERM)).containsExactly(pfn);
            assertThat(isWritable(world, address)).isFalse();
            assertThat(world.memory.folios().isExclusive(pfn)).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = FileKind.class,
            names = {"SHMEM", "REGULAR_UNTRACKED", "SECRETMEM", "DEVICE_DAX"})
    void readFaultOfSharedMemoryWithoutDirtyTrackingIsWritable(FileKind kind) {
        // MM-19
        try (World world = new World();
                UserFile file = world.file(kind, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            assertThat(world.process.getLong(address)).isZero();
            assertThat(isWritable(world, address)).isTrue();
            assertThat(world.frames.refCount(world.process.pfnOf(address))).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = FileKind.class,
            names = {"REGULAR", "FSDAX"})
    void readFaultWithDirtyTrackingIsReadOnlyUntilAWriteFault(FileKind kind) {
        // MM-19
        try (World world = new World();
                UserFile file = world.file(kind, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            assertThat(world.process.getLong(address)).isZero();
            long pfn = world.process.pfnOf(address);
            assertThat(isWritable(world, address)).isFalse();
            assertThat(world.frames.isDirty(pfn)).isFalse();
            world.process.putLong(address, 1);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfn);
            assertThat(isWritable(world, address)).isTrue();
            assertThat(world.frames.isDirty(pfn)).isTrue();
            world.process.putLong(address + PAGE, 1);
            assertThat(isWritable(world, address + PAGE)).isTrue();
            assertThat(world.frames.isDirty(world.process.pfnOf(address + PAGE)))
                    .isTrue();
        }
    }

    @Test
    void privateFileIsReadFromThePageCacheAndWrittenInACopy() {
        // MM-9, MM-19
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 2)) {
            long shared = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            world.process.putLong(shared, 5);
            world.process.putLong(shared + PAGE, 6);
            long address = world.map(file.forReading(), 2, RW, Mmap.MAP_PRIVATE);
            assertThat(world.process.getLong(address)).isEqualTo(5);
            assertThat(world.process.pfnOf(address)).isEqualTo(world.process.pfnOf(shared));
            assertThat(isWritable(world, address)).isFalse();
            world.process.putLong(address, 7);
            world.process.putLong(address + PAGE, 8);
            assertThat(world.process.getLong(shared)).isEqualTo(5);
            assertThat(world.process.getLong(shared + PAGE)).isEqualTo(6);
            assertThat(world.process.getLong(address)).isEqualTo(7);
            assertThat(world.memory.folios().has(world.process.pfnOf(address), Folios.ANON))
                    .isTrue();
            assertThat(world.frames.refCount(world.process.pfnOf(shared))).isEqualTo(2);
            world.assertAllFree(file);
        }
    }

    @Test
    void faultBehindTheEndOfAFileIsABusError() {
        // MM-11
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.SHMEM, "short", PAGE + 100)) {
            long address = world.map(file.forWriting(), 4, RW, Mmap.MAP_SHARED);
            world.process.putLong(address + 2 * PAGE - 8, 1);
            assertThat(file.sizeBytes()).isEqualTo(PAGE + 100);
            assertThatThrownBy(() -> world.process.getLong(address + 2 * PAGE))
                    .isInstanceOfSatisfying(MemoryFaultException.class, e -> {
                        assertThat(e.fault()).isEqualTo(Fault.BUS);
                        assertThat(e.address()).isEqualTo(address + 2 * PAGE);
                    })
                    .hasMessage("SIGBUS, no page, at 0x%x", address + 2 * PAGE);
        }
    }

    @Test
    void lostPageIsABusErrorForWhoeverTouchesIt() {
        // MM-11
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 2)) {
            long address = world.map(file.forWriting(), 2, RW, Mmap.MAP_SHARED);
            long own = world.map(file.forWriting(), 2, RW, Mmap.MAP_PRIVATE);
            world.process.putLong(address, 5);
            world.process.putLong(own, 6);
            file.poison(0);
            assertThatThrownBy(() -> world.process.getLong(address))
                    .hasMessage("SIGBUS, memory error, at 0x%x", address);
            assertThat(world.process.getLong(own)).as("the private copy").isEqualTo(6);
            assertThat(world.process.madvise(own, PAGE, Mmap.MADV_HWPOISON)).isZero();
            assertThat(world.process.read(own, new byte[1], 0, 1)).isEqualTo(Fault.HWPOISON);
            assertThat(world.process.madvise(address + PAGE, PAGE, Mmap.MADV_HWPOISON))
                    .isZero();
            assertThat(world.process.read(own + PAGE, new byte[1], 0, 1)).isEqualTo(Fault.HWPOISON);
            assertThat(world.pin(address, 1, World.LONGTERM)).isEqualTo(-14);
            assertThat(world.pin(own, 1, World.LONG_WRITE)).isEqualTo(-14);
            world.assertAllFree(file);
        }
    }

    @Test
    void truncationTakesPagesOutOfEveryProcess() {
        // MM-12
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 3)) {
            long address = world.map(file.forWriting(), 3, RW, Mmap.MAP_SHARED);
            long own = world.map(file.forWriting(), 3, RW, Mmap.MAP_PRIVATE);
            for (int i = 0; i < 3; i++) {
                world.process.putLong(address + i * PAGE, 10 + i);
                world.process.putLong(own + i * PAGE, 20 + i);
            }
            long[] pinned = world.pinned(address + 2 * PAGE, 1, World.LONG_WRITE);
            file.truncate(PAGE);
            assertThat(world.process.getLong(address)).isEqualTo(10);
            assertThat(world.process.getLong(own)).isEqualTo(20);
            assertThat(world.process.read(address + PAGE, new byte[1], 0, 1)).isEqualTo(Fault.BUS);
            assertThat(world.process.read(own + 2 * PAGE, new byte[1], 0, 1)).isEqualTo(Fault.BUS);
            assertThat(world.deviceReads(pinned[0])).isEqualTo(12);
            assertThat(world.frames.refCount(pinned[0])).isEqualTo(1024);
            file.truncate(3 * PAGE);
            assertThat(world.process.getLong(address + 2 * PAGE)).isZero();
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isNotEqualTo(pinned[0]);
            world.unpin(pinned);
            world.assertAllFree(file);
        }
    }

    @Test
    void outOfMemoryIsTold() {
        try (World world = new World()) {
            long address = world.untouched(1);
            world.machine.failures().failNth("mm.page", 1);
            assertThatThrownBy(() -> world.process.putLong(address, 1))
                    .hasMessage("SIGKILL, out of memory, at 0x%x", address);
            world.process.putLong(address, 1);
            long far = world.process.mmap(0x10_0000_0000L, PAGE, RW, Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS, null, 0);
            for (int table = 1; table <= 2; table++) {
                world.machine.failures().failNth("mm.table", 1);
                assertThat(world.process.write(far, new byte[1], 0, 1)).isEqualTo(Fault.OOM);
            }
            world.process.putLong(far, 1);
            world.assertAllFree();
        }
    }

    @Test
    void hugePageIsOneFolioUntilTheLastReference() {
        try (World world = new World()) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
            long address = world.process.mmap(0, 2 << 20, RW, flags, null, 0);
            world.process.putLong(address + 5 * PAGE, 1);
            long head = world.process.pfnOf(address);
            assertThat(head % 512).isZero();
            assertThat(world.frames.refCount(head)).isEqualTo(1);
            assertThat(world.memory.folios().head(head + 5)).isEqualTo(head);
            long[] pfns = world.pinned(address + 5 * PAGE, 3, World.LONG_WRITE);
            assertThat(pfns).containsExactly(head + 5, head + 6, head + 7);
            assertThat(world.process.munmap(address, 2 << 20)).isZero();
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(512);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(1);
            world.unpin(pfns);
            assertThat(world.machine.pages().allocatedPages()).isZero();
        }
    }

    @Test
    void hugePagesOfAFileAreSharedOrCopied() {
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.HUGETLB, "huge", 2 << 20)) {
            long shared = world.process.mmap(0, 2 << 20, RW, Mmap.MAP_SHARED, file.forWriting(), 0);
            assertThat(world.process.getLong(shared)).isZero();
            assertThat(isWritable(world, shared + PAGE)).isTrue();
            world.process.putLong(shared + PAGE, 3);
            long own = world.process.mmap(0, 2 << 20, RW, Mmap.MAP_PRIVATE, file.forWriting(), 0);
            assertThat(world.process.getLong(own + PAGE)).isEqualTo(3);
            assertThat(world.process.pfnOf(own)).isEqualTo(world.process.pfnOf(shared));
            world.process.putLong(own + PAGE, 4);
            assertThat(world.process.getLong(shared + PAGE)).isEqualTo(3);
            assertThat(world.process.getLong(own + PAGE)).isEqualTo(4);
            long beyond = world.process.mmap(0, 2 << 20, RW, Mmap.MAP_PRIVATE, file.forWriting(), 2 << 20);
            assertThat(world.process.read(beyond, new byte[1], 0, 1)).isEqualTo(Fault.BUS);
            world.machine.failures().failNth("mm.huge-page", 1);
            long none = world.process.mmap(0, 1, RW, Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB, null, 0);
            assertThat(world.process.read(none, new byte[1], 0, 1)).isEqualTo(Fault.OOM);
            world.assertAllFree(file);
        }
    }

    @Test
    void transparentHugePageComesWithTheFirstWriteAndGoesPieceByPiece() {
        try (World world = new World()) {
            long huge = 2 << 20;
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
            long address = 0x4000_0000L;
            world.process.mmap(address, 2 * huge, RW, flags, null, 0);
            assertThat(world.process.madvise(address, 2 * huge, Mmap.MADV_HUGEPAGE))
                    .isZero();
            world.process.putLong(address + 3 * PAGE, 1);
            long head = world.process.pfnOf(address);
            assertThat(head % 512).isZero();
            assertThat(world.process.pfnOf(address + 511 * PAGE)).isEqualTo(head + 511);
            assertThat(world.frames.refCount(head)).isEqualTo(512);
            assertThat(world.process.getLong(address + huge))
                    .as("a small page stands in the way")
                    .isZero();
            world.process.putLong(address + huge + PAGE, 1);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(513);
            assertThat(world.process.munmap(address, 511 * PAGE)).isZero();
            assertThat(world.frames.refCount(head)).isEqualTo(1);
            assertThat(world.process.munmap(address + 511 * PAGE, PAGE)).isZero();
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1);
            assertThat(world.process.madvise(address + huge, huge, Mmap.MADV_NOHUGEPAGE))
                    .isZero();
            world.assertAllFree();
        }
    }

    @Test
    void rangeNamesItselfInMessages() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.map(file.forWriting(), 1, R, Mmap.MAP_SHARED);
            assertThat(world.process.addressSpace().vmas().find(address))
                    .hasToString("0x7ffff7ffe000-0x7ffff7fff000 flags 0xf9 SHMEM file");
        }
    }
}
