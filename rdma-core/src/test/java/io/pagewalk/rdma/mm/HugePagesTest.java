package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.HUGE;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Huge pages: faults, forks and moves (rdma:MM-7 to MM-10, MM-14, MM-19, GUP-14)")
class HugePagesTest {
    private static final int SHARED = Mmap.MAP_SHARED;
    private static final int PRIVATE = Mmap.MAP_PRIVATE;

    private static UserFile file(World world, int hugePages) {
        return UserFile.create(world.machine, FileKind.HUGETLB, "huge", hugePages * HUGE);
    }

    private static Fault fault(World world, long address, int flags) {
        Vma vma = Objects.requireNonNull(world.process.addressSpace().vmas().find(address));
        return new FaultHandler(world.memory).handle(world.process.addressSpace(), vma, address / PAGE, flags);
    }

    // ---- hugetlb faults

    @Test
    void mappingBehindTheStartOfAFileShowsItsLaterHugePages() {
        try (World world = new World();
                UserFile file = file(world, 3)) {
            long whole = world.huge(3, file.forWriting(), SHARED, 0);
            long behind = world.huge(1, file.forWriting(), SHARED, 2);
            world.process.putLong(behind + PAGE, 7);
            assertThat(world.process.getLong(whole + 2 * HUGE + PAGE)).isEqualTo(7);
            assertThat(world.process.pfnOf(whole + 2 * HUGE)).isEqualTo(world.process.pfnOf(behind));
            assertThat(world.process.getLong(whole)).isZero();
        }
    }

    @Test
    void everyMappingOfAHugePageCountsOnce() {
        // MM-7
        try (World world = new World();
                UserFile file = file(world, 1)) {
            long first = world.huge(1, file.forWriting(), SHARED, 0);
            long second = world.huge(1, file.forWriting(), SHARED, 0);
            world.process.putLong(first, 1);
            long head = world.process.pfnOf(first);
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(1);
            assertThat(world.process.getLong(second + PAGE)).isZero();
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(2);
            assertThat(world.frames.refCount(head)).as("file and two mappings").isEqualTo(3);
            world.process.munmap(first, HUGE);
            world.process.munmap(second, HUGE);
            assertThat(world.memory.folios().mapCount(head)).isZero();
        }
    }

    @Test
    void firstWriteToAPrivateMappingOfACachedHugePageCopiesItAtOnce() {
        // MM-9
        try (World world = new World();
                UserFile file = file(world, 1)) {
            long shared = world.huge(1, file.forWriting(), SHARED, 0);
            world.process.putLong(shared + 9 * PAGE, 5);
            long own = world.huge(1, file.forWriting(), PRIVATE, 0);
            assertThat(fault(world, own + PAGE, FaultHandler.WRITE)).isEqualTo(Fault.DONE);
            assertThat(Pte.has(world.pte(own + PAGE), Pte.WRITE)).isTrue();
            long copy = world.process.pfnOf(own);
            assertThat(copy).isNotEqualTo(world.process.pfnOf(shared));
            assertThat(world.process.getLong(own + 9 * PAGE)).isEqualTo(5);
            assertThat(world.frames.refCount(world.process.pfnOf(shared)))
                    .as("the private mapping let go")
                    .isEqualTo(2);
            assertThat(world.memory.folios().isExclusive(copy + 3)).isTrue();
        }
    }

    @Test
    void writeFaultOfASharedHugePageChangesItsEntriesWhereTheyAre() {
        // MM-19; unsharing has nothing to do there
        try (World world = new World();
                UserFile file = file(world, 1)) {
            long address = world.process.mmap(0, HUGE, R, SHARED, file.forWriting(), 0);
            assertThat(world.process.getLong(address)).isZero();
            long pfn = world.process.pfnOf(address);
            assertThat(fault(world, address, FaultHandler.UNSHARE)).isEqualTo(Fault.DONE);
            assertThat(Pte.has(world.pte(address), Pte.WRITE)).isFalse();
            assertThat(Pte.has(world.pte(address), Pte.DIRTY)).isFalse();

            Objects.requireNonNull(world.process.addressSpace().vmas().find(address)).flags |= VmFlags.WRITE;
            assertThat(fault(world, address, FaultHandler.WRITE)).isEqualTo(Fault.DONE);

            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(pfn + 1);
            assertThat(Pte.has(world.pte(address + PAGE), Pte.WRITE)).isTrue();
            assertThat(Pte.has(world.pte(address + PAGE), Pte.DIRTY)).isTrue();
        }
    }

    @Test
    void hugePageThatIsMappedOnceAgainIsItsOwnersAgain() {
        // MM-9
        try (World world = new World()) {
            long address = world.touchedHuge();
            long head = world.process.pfnOf(address);
            World.child(world.process).exit();
            assertThat(world.memory.folios().isExclusive(head)).isFalse();
            world.process.putLong(address + PAGE, 2);
            assertThat(world.process.pfnOf(address)).isEqualTo(head);
            assertThat(world.memory.folios().isExclusive(head)).isTrue();
        }
    }

    @Test
    void copyOfASharedHugePageHasAllItsBytes() {
        // MM-9
        try (World world = new World()) {
            long address = world.touchedHuge();
            world.process.putLong(address + 511 * PAGE, 511);
            Process child = World.child(world.process);
            child.putLong(address + PAGE, 2);
            assertThat(child.pfnOf(address)).isNotEqualTo(world.process.pfnOf(address));
            assertThat(child.getLong(address)).isEqualTo(1);
            assertThat(child.getLong(address + 511 * PAGE)).isEqualTo(511);
            assertThat(world.process.getLong(address + PAGE)).isZero();
        }
    }

    // ---- transparent huge pages

    private static long transparent(World world) {
        long address = 0x4000_0000L;
        world.process.mmap(address, HUGE, RW, PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED, null, 0);
        world.process.madvise(address, HUGE, Mmap.MADV_HUGEPAGE);
        return address;
    }

    @Test
    void smallPageHasToDoWhereThereIsNoHugeOne() {
        // CONV-6
        try (World world = new World()) {
            long address = transparent(world);
            world.machine.failures().failNth("mm.huge-page", 1);
            world.process.putLong(address + 3 * PAGE, 4);
            assertThat(world.machine.failures().failedAt()).isEqualTo("mm.huge-page");
            assertThat(world.process.getLong(address + 3 * PAGE)).isEqualTo(4);
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1);
            assertThat(world.memory.folios().mapCount(world.process.pfnOf(address + 3 * PAGE)))
                    .isEqualTo(1);
        }
    }

    @Test
    void transparentHugePageIsMappedBySmallEntries() {
        // MM-7
        try (World world = new World()) {
            long address = transparent(world);
            world.process.putLong(address + 3 * PAGE, 4);
            long head = world.process.pfnOf(address);
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(512);
            world.process.munmap(address, 5 * PAGE);
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(507);
            assertThat(Pte.has(world.pte(address + 5 * PAGE), Pte.HUGE)).isFalse();
        }
    }

    // ---- forks

    @Test
    void copyThatAChildGetsOfAPinnedHugePageIsLikeTheOriginal() {
        // MM-14
        try (World world = new World()) {
            long address = world.touchedHuge();
            world.process.putLong(address + 511 * PAGE, 511);
            long pinned = world.pinned(address + PAGE, 1, LONG_WRITE)[0];
            Process child = World.child(world.process);
            long copy = child.pfnOf(address);
            Folios folios = world.memory.folios();
            assertThat(copy).isNotEqualTo(pinned - 1);
            assertThat(folios.has(copy, Folios.ANON)).isTrue();
            assertThat(folios.has(copy, Folios.HUGETLB)).isTrue();
            assertThat(folios.isExclusive(copy)).isTrue();
            assertThat(folios.mapCount(copy)).isEqualTo(1);
            long pte = World.pte(child, address + PAGE);
            assertThat(Pte.has(pte, Pte.HUGE)).isTrue();
            assertThat(Pte.has(pte, Pte.DIRTY)).isTrue();
            assertThat(Pte.has(pte, Pte.WRITE)).isTrue();
            assertThat(child.getLong(address + 511 * PAGE)).isEqualTo(511);
            assertThat(folios.mapCount(pinned - 1)).as("the parent's alone").isEqualTo(1);
        }
    }

    @Test
    void forkThatFindsNoHugePageForTheCopyLeavesNothing() {
        // MM-14
        try (World world = new World()) {
            long address = world.touchedHuge();
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            world.machine.failures().failNth("mm.huge-page", 1);
            assertThat(world.process.fork()).isNull();
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(2);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(512);
        }
    }

    // ---- moves

    @Test
    void movedHugePageOfAFileTakesItsPlaceThere() {
        // GUP-14
        try (World world = new World();
                UserFile file = file(world, 2)) {
            long address = world.huge(2, file.forWriting(), SHARED, 0);
            world.process.putLong(address + HUGE + 3 * PAGE, 3);
            long other = world.huge(1, file.forWriting(), SHARED, 1);
            assertThat(world.process.getLong(other + 3 * PAGE)).isEqualTo(3);
            long before = world.process.pfnOf(other);
            world.memory.markIsolated(before);

            long[] pfns = world.pinned(address + HUGE + 3 * PAGE, 2, LONG_WRITE);

            long head = pfns[0] - 3;
            assertThat(head).isNotEqualTo(before);
            assertThat(world.process.pfnOf(other + 511 * PAGE)).isEqualTo(head + 511);
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(2);
            assertThat(world.frames.refCount(head)).as("file, mappings, pins").isEqualTo(5);
            world.process.munmap(address, 2 * HUGE);
            world.process.munmap(other, HUGE);
            long again = world.huge(2, file.forWriting(), SHARED, 0);
            assertThat(world.process.getLong(again + HUGE + 3 * PAGE)).isEqualTo(3);
            assertThat(world.process.pfnOf(again + HUGE)).isEqualTo(head);
            world.unpin(pfns);
            world.assertAllFree(file);
        }
    }

    @Test
    void moveChangesTheStateOfTheTwoFoliosAlone() {
        // GUP-14
        try (World world = new World()) {
            long address = world.touchedHuge();
            for (int neighbours = 0; neighbours < 10; neighbours++) {
                world.touchedHuge();
            }
            long small = world.touched(3);
            long before = world.process.pfnOf(address);
            long smallBefore = world.process.pfnOf(small + PAGE);
            world.memory.markIsolated(before);
            world.memory.markIsolated(smallBefore);
            int state = world.memory.folios().state(before);
            int smallState = world.memory.folios().state(smallBefore);
            int[] states = states(world);

            long head = world.pinned(address, 1, LONG_WRITE)[0];
            long moved = world.pinned(small + PAGE, 1, LONG_WRITE)[0];

            int[] after = states(world);
            for (int pfn = 0; pfn < after.length; pfn++) {
                int expected = states[pfn];
                if (pfn >= head && pfn < head + 512) {
                    expected = state & ~Folios.ISOLATED;
                } else if (pfn == moved) {
                    expected = smallState & ~Folios.ISOLATED;
                } else if (pfn == smallBefore || (pfn >= before && pfn < before + 512)) {
                    expected = 0;
                }
                assertThat(after[pfn] & ~Folios.REFERENCED).as("frame %d", pfn).isEqualTo(expected);
            }
            assertThat(world.memory.folios().mapCount(head)).isEqualTo(1);
            assertThat(world.memory.folios().mapCount(moved)).isEqualTo(1);
        }
    }

    private static int[] states(World world) {
        int[] states = new int[8192];
        for (int pfn = 0; pfn < states.length; pfn++) {
            states[pfn] = world.memory.folios().state(pfn);
        }
        return states;
    }

    @Test
    void shortPinOfTheSlowPhaseMovesNothing() {
        // GUP-14
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            world.memory.markIsolated(pfn);
            Process child = World.child(world.process);
            child.exit();
            world.countFromHere();
            assertThat(world.pinned(address, 1, GupFlags.WRITE))
                    .as("after a write fault")
                    .containsExactly(pfn);
            world.assertCounted(1, 0);
            assertThat(world.pin(address, 1, LONG_WRITE)).as("held by the pin").isEqualTo(-Errno.ENOMEM);
        }
    }
}
