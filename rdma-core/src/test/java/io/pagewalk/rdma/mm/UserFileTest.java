package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.HUGE;
import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Ends, losses and dirt of files (rdma:MM-7, MM-11, MM-12)")
class UserFileTest {
    private static final int SHARED = Mmap.MAP_SHARED;

    private static Fault touch(World world, long address) {
        return world.process.read(address, new byte[1], 0, 1);
    }

    private static UserFile hugeFile(World world, int hugePages) {
        return UserFile.create(world.machine, FileKind.HUGETLB, "huge", hugePages * HUGE);
    }

    // ---- ends

    @Test
    void fileMayBeEmptyButNotEndBeforeItBegins() {
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.SHMEM, "empty", 0)) {
            assertThat(file.sizeBytes()).isZero();
            assertThat(touch(world, world.map(file.forReading(), 1, World.R, SHARED)))
                    .isEqualTo(Fault.BUS);
            assertThatThrownBy(() -> UserFile.create(world.machine, FileKind.SHMEM, "none", -1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a file cannot end at -1: 0 to 2^63 - 1");
            assertThatThrownBy(() -> file.truncate(-PAGE)).isInstanceOf(IllegalArgumentException.class);
            assertThat(file.sizeBytes()).isZero();
        }
    }

    @Test
    void truncationDropsThePageThatBeginsAtTheNewEnd() {
        // MM-12
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 3)) {
            long address = world.map(file.forWriting(), 3, RW, SHARED);
            for (int i = 0; i < 3; i++) {
                world.process.putLong(address + i * PAGE, 10 + i);
            }
            file.truncate(PAGE + 1);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(2);
            assertThat(world.process.getLong(address + PAGE)).isEqualTo(11);

            file.truncate(PAGE);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1);
            file.truncate(2 * PAGE);
            assertThat(world.process.getLong(address + PAGE)).isZero();
            assertThat(world.process.getLong(address)).isEqualTo(10);
        }
    }

    @Test
    void truncationReachesMappingsThatBeginBehindTheStart() {
        // MM-12
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 4)) {
            long address = world.process.mmap(0, 3 * PAGE, RW, SHARED, file.forWriting(), PAGE);
            for (int i = 0; i < 3; i++) {
                world.process.putLong(address + i * PAGE, 11 + i);
            }
            file.truncate(3 * PAGE);
            assertThat(world.process.pfnOf(address + PAGE)).isPositive();
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
            assertThat(touch(world, address + 2 * PAGE)).isEqualTo(Fault.BUS);

            file.truncate(0);
            assertThat(world.process.pfnOf(address)).isEqualTo(-1);
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(-1);
            assertThat(world.machine.pages().allocatedPages()).isZero();
        }
    }

    @Test
    void truncationOfAFileOfHugePagesTakesThemOutWhole() {
        // MM-12
        try (World world = new World();
                UserFile file = hugeFile(world, 3)) {
            long address = world.huge(3, file.forWriting(), SHARED, 0);
            long behind = world.huge(2, file.forWriting(), SHARED, 1);
            for (int i = 0; i < 3; i++) {
                world.process.putLong(address + i * HUGE, 10 + i);
            }
            assertThat(world.process.getLong(behind + HUGE)).isEqualTo(12);

            file.truncate(2 * HUGE);

            assertThat(world.process.getLong(address + HUGE)).isEqualTo(11);
            assertThat(world.process.getLong(behind)).isEqualTo(11);
            assertThat(world.process.pfnOf(address + 2 * HUGE + 511 * PAGE)).isEqualTo(-1);
            assertThat(touch(world, address + 2 * HUGE)).isEqualTo(Fault.BUS);
            assertThat(touch(world, behind + HUGE)).isEqualTo(Fault.BUS);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1024);
        }
    }

    // ---- losses

    @Test
    void lostPageLeavesEveryMappingOfItAndNoOther() {
        // MM-11
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 4);
                UserFile neighbour = world.file(FileKind.SHMEM, 1)) {
            long above = world.map(neighbour.forWriting(), 1, RW, SHARED);
            long before = world.map(file.forWriting(), 2, RW, SHARED);
            long behind = world.process.mmap(0, 2 * PAGE, RW, SHARED, file.forWriting(), 2 * PAGE);
            assertThat(before + 2 * PAGE).isEqualTo(above);
            long[] all = {above, before, before + PAGE, behind, behind + PAGE};
            for (long address : all) {
                world.process.putLong(address, 1);
            }
            long lost = world.process.pfnOf(behind);

            file.poison(2);

            assertThat(world.process.pfnOf(behind)).isEqualTo(-1);
            assertThat(touch(world, behind)).isEqualTo(Fault.HWPOISON);
            assertThat(world.process.getLong(behind + PAGE)).isEqualTo(1);
            assertThat(world.process.pfnOf(above)).as("just behind a mapping").isPositive();
            assertThat(world.frames.refCount(lost)).isZero();
            file.poison(3);
            assertThat(touch(world, behind + PAGE)).isEqualTo(Fault.HWPOISON);
            assertThat(world.process.getLong(before + PAGE)).isEqualTo(1);
            assertThatThrownBy(() -> file.poison(-1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("the pages of a file begin with 0, not -1");
        }
    }

    @Test
    void lostHugePageIsLostWhole() {
        // MM-11
        try (World world = new World();
                UserFile file = hugeFile(world, 2)) {
            long address = world.huge(2, file.forWriting(), SHARED, 0);
            world.process.putLong(address, 1);
            world.process.putLong(address + HUGE, 2);

            file.poison(1);

            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.pfnOf(address + PAGE)).isPositive();
            assertThat(world.process.pfnOf(address + HUGE + 511 * PAGE)).isEqualTo(-1);
            assertThat(touch(world, address + HUGE)).isEqualTo(Fault.HWPOISON);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(512);
        }
    }

    @Test
    void bytesOfAFileGoWithItsLastUser() {
        try (World world = new World()) {
            UserFile file = world.file(FileKind.SHMEM, 1);
            long address = world.map(file.forWriting(), 1, RW, SHARED);
            world.process.putLong(address, 5);
            file.close();
            file.close();
            assertThat(world.process.getLong(address))
                    .as("the mapping keeps it")
                    .isEqualTo(5);
            world.process.munmap(address, PAGE);
            assertThat(world.machine.pages().allocatedPages()).isZero();

            long again = world.map(file.forWriting(), 1, RW, SHARED);
            assertThat(world.process.getLong(again)).isZero();
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1);
            world.assertAllFree();
        }
    }

    @Test
    void privateHugePageThatTheFileHasNotIsMadeForTheProcess() {
        // MM-8 of hugetlb
        try (World world = new World();
                UserFile file = hugeFile(world, 1)) {
            long own = world.huge(1, file.forWriting(), Mmap.MAP_PRIVATE, 0);
            assertThat(world.process.getLong(own)).isZero();
            long pfn = world.process.pfnOf(own);
            assertThat(world.memory.folios().has(pfn, Folios.ANON)).isTrue();
            assertThat(world.memory.folios().isExclusive(pfn)).isTrue();
            assertThat(world.frames.refCount(pfn))
                    .as("no reference of the file")
                    .isEqualTo(1);
            long shared = world.huge(1, file.forWriting(), SHARED, 0);
            assertThat(world.process.getLong(shared)).isZero();
            assertThat(world.process.pfnOf(shared)).isNotEqualTo(pfn);
        }
    }

    // ---- dirt

    @Test
    void dirtOfASharedMappingIsHandedToThePageWhenItIsUnmapped() {
        // MM-7
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 2)) {
            long address = world.map(file.forWriting(), 2, RW, SHARED);
            world.process.getLong(address);
            world.process.getLong(address + PAGE);
            world.process.putLong(address, 1);
            long written = world.process.pfnOf(address);
            long read = world.process.pfnOf(address + PAGE);
            assertThat(world.frames.isDirty(written))
                    .as("the entry alone knows")
                    .isFalse();

            world.process.munmap(address, 2 * PAGE);

            assertThat(world.frames.isDirty(written)).isTrue();
            assertThat(world.frames.isDirty(read)).isFalse();
        }
    }

    @Test
    void dirtOfAHugePageIsHandedOnWhereverItWasWritten() {
        // MM-7
        try (World world = new World();
                UserFile file = hugeFile(world, 2)) {
            long address = world.huge(2, file.forWriting(), SHARED, 0);
            world.process.getLong(address);
            world.process.getLong(address + HUGE);
            world.process.putLong(address + 7 * PAGE, 1);
            long written = world.process.pfnOf(address);
            long read = world.process.pfnOf(address + HUGE);
            assertThat(world.frames.isDirty(written)).isFalse();

            world.process.munmap(address, 2 * HUGE);

            assertThat(world.frames.isDirty(written)).isTrue();
            assertThat(world.frames.isDirty(read)).isFalse();
        }
    }

    @Test
    void dirtOfAnonymousMemoryIsNobodysBusiness() {
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.pinned(address, 1, LONGTERM)[0];
            world.process.munmap(address, PAGE);
            assertThat(world.frames.isDirty(pfn)).isFalse();
            world.unpin(pfn);
            world.assertAllFree();
        }
    }

    @Test
    @DisplayName("GUP-12: the slow phase marks a page dirty only if neither entry nor page is")
    void slowPhaseMarksWhatNobodyMarkedYet() {
        // the file-backed rule of GUP-5 leaves these pages to the slow phase
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR_UNTRACKED, 2)) {
            long address = world.map(file.forWriting(), 2, RW, SHARED);
            world.process.getLong(address);
            world.process.getLong(address + PAGE);
            world.process.putLong(address, 1);

            long[] pfns = world.pinned(address, 2, LONG_WRITE);

            assertThat(world.frames.isDirty(pfns[0])).as("the entry is").isFalse();
            assertThat(world.frames.isDirty(pfns[1])).as("neither was").isTrue();
        }
    }
}
