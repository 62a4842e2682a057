package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.PhysRange;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Pages that must not be pinned for long (rdma:GUP-13, GUP-14)")
class MigrationTest {
    private static final long FIRST = 0x180_0000;

    /** Takes the next pages of processes from an area of so many. */
    private static CmaArea area(World world, int pages) {
        PhysRange range = PhysRange.ofSize(FIRST, pages * PAGE);
        world.machine.pages().reserve(FIRST, 64 * PAGE);
        CmaArea area = new CmaArea("movable", range);
        world.memory.takePagesFrom(area);
        return area;
    }

    private static boolean isInArea(long pfn) {
        return pfn >= FIRST / PAGE && pfn < FIRST / PAGE + 64;
    }

    @Test
    void pagesAreMovedOutBeforeALongPin() {
        try (World world = new World()) {
            CmaArea area = area(world, 2);
            long address = world.touched(3);
            assertThat(isInArea(world.process.pfnOf(address))).isTrue();
            assertThat(isInArea(world.process.pfnOf(address + 2 * PAGE)))
                    .as("the area is full")
                    .isFalse();
            long third = world.process.pfnOf(address + 2 * PAGE);
            long[] pfns = world.pinned(address, 3, LONG_WRITE);
            assertThat(isInArea(pfns[0])).isFalse();
            assertThat(pfns[0]).isEqualTo(world.process.pfnOf(address));
            assertThat(pfns[2]).isEqualTo(third);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(1);
            assertThat(world.deviceReads(pfns[1])).isEqualTo(2);
            assertThat(area.usedPages()).isZero();
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(1025);
            assertThat(world.memory.folios().isExclusive(pfns[0])).isTrue();
            world.assertCounted(6, 3);
            world.unpin(pfns);
            world.assertAllFree();
        }
    }

    @Test
    void pagesBeforeThemInTheFastPhaseStayPinned() {
        try (World world = new World()) {
            long address = world.untouched(3);
            world.process.putLong(address, 1);
            area(world, 1);
            world.process.putLong(address + PAGE, 2);
            world.process.putLong(address + 2 * PAGE, 3);
            long[] pfns = world.pinned(address, 3, LONG_WRITE);
            assertThat(isInArea(pfns[1])).isFalse();
            world.assertCounted(5, 2);
        }
    }

    @Test
    void shortPinsLeavePagesWhereTheyAreAndHoldThem() {
        try (World world = new World()) {
            area(world, 1);
            long address = world.touched(1);
            long[] held = world.pinned(address, 1, GupFlags.WRITE);
            assertThat(isInArea(held[0])).isTrue();
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.ENOMEM);
            world.assertCounted(2, 1);
            assertThat(world.frames.refCount(held[0])).isEqualTo(1025);
            assertThat(world.process.pfnOf(address)).isEqualTo(held[0]);
            world.unpin(held);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(1);
        }
    }

    @Test
    void moveThatFindsNoMemoryIsEnomemWithNothingPinned() {
        try (World world = new World()) {
            area(world, 2);
            long address = world.touched(2);
            world.machine.failures().failNth("mm.page", 2);
            assertThat(world.pin(address, 2, LONG_WRITE)).isEqualTo(-Errno.ENOMEM);
            world.assertCounted(2, 2);
            assertThat(isInArea(world.process.pfnOf(address))).as("moved").isFalse();
            assertThat(isInArea(world.process.pfnOf(address + PAGE))).isTrue();
            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.getLong(address + PAGE)).isEqualTo(2);
        }
    }

    @Test
    void pageSharedWithAChildIsMovedForBoth() {
        try (World world = new World()) {
            area(world, 1);
            long address = world.touched(1);
            Process child = World.child(world.process);
            world.process.getLong(address);
            long[] pfns = World.pinned(child, address, 1, LONGTERM);
            assertThat(isInArea(pfns[0])).as("an unshared copy").isFalse();
            assertThat(isInArea(world.process.pfnOf(address))).isTrue();
            Process second = World.child(world.process);
            world.memory.markIsolated(second.pfnOf(address));
            long before = second.pfnOf(address);
            second.exit();
            assertThat(World.pinned(world.process, address, 1, LONGTERM)[0]).isNotEqualTo(before);
        }
    }

    @Test
    void filePageIsMovedInTheFileAndInEveryMapping() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 3)) {
            CmaArea area = area(world, 2);
            long address = world.map(file.forWriting(), 3, RW, Mmap.MAP_SHARED);
            world.process.putLong(address + PAGE, 5);
            Process child = World.child(world.process);
            assertThat(child.getLong(address + PAGE)).isEqualTo(5);
            long other = world.process.mmap(0, PAGE, RW, Mmap.MAP_SHARED, file.forWriting(), PAGE);
            assertThat(world.process.getLong(other)).isEqualTo(5);
            world.frames.setDirty(world.process.pfnOf(other));
            long[] pfns = world.pinned(address + PAGE, 1, LONG_WRITE);
            assertThat(isInArea(pfns[0])).isFalse();
            assertThat(child.pfnOf(address + PAGE)).isEqualTo(pfns[0]);
            assertThat(world.process.pfnOf(other)).isEqualTo(pfns[0]);
            assertThat(world.frames.isDirty(pfns[0])).isTrue();
            assertThat(world.frames.refCount(pfns[0]))
                    .as("file, 3 mappings, a pin")
                    .isEqualTo(1028);
            assertThat(area.usedPages()).isZero();
            world.process.munmap(address, 3 * PAGE);
            assertThat(world.map(file.forWriting(), 3, RW, Mmap.MAP_SHARED)).isEqualTo(address);
            assertThat(world.process.getLong(address + PAGE)).isEqualTo(5);
            world.unpin(pfns);
            child.exit();
            world.assertAllFree(file);
        }
    }

    @Test
    void hugePageIsMovedWhole() {
        try (World world = new World()) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
            long address = world.process.mmap(0, 1, RW, flags, null, 0);
            world.process.putLong(address + 7 * PAGE, 7);
            long before = world.process.pfnOf(address);
            world.memory.markIsolated(before + 3);
            long[] pfns = world.pinned(address + 6 * PAGE, 3, LONG_WRITE);
            assertThat(pfns[0]).isNotEqualTo(before + 6);
            assertThat(world.process.pfnOf(address)).isEqualTo(pfns[0] - 6);
            assertThat(world.deviceReads(pfns[1])).isEqualTo(7);
            assertThat(world.frames.refCount(pfns[0] - 6)).isEqualTo(4);
            world.assertCounted(6, 3);
            world.unpin(pfns);
            world.assertAllFree();
        }
    }

    @Test
    void deviceMemoryThatCannotBeMovedIsBusy() {
        // GUP-14
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            world.memory.markDeviceCoherent(pfn);
            world.frames.get(pfn, 1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EBUSY);
            world.frames.put(pfn, 1);
            assertThat(world.pin(address, 1, GupFlags.WRITE)).as("not for long").isEqualTo(1);
            world.unpin(pfn);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            assertThat(pfns[0]).isNotEqualTo(pfn);
            assertThat(world.deviceReads(pfns[0])).isEqualTo(1);
        }
    }

    @Test
    void pagesOfTheAreaGoBackToIt() {
        try (World world = new World()) {
            CmaArea area = area(world, 2);
            long address = world.touched(3);
            assertThat(area.usedPages()).isEqualTo(2);
            long[] freed = {-1};
            world.frames.onFree(world.process.pfnOf(address), pfn -> freed[0] = pfn);
            world.memory.takePagesFrom(null);
            world.process.munmap(address, PAGE);
            assertThat(freed).containsExactly(FIRST / PAGE);
            assertThat(area.usedPages()).isEqualTo(1);
            assertThat(isInArea(world.process.pfnOf(world.touched(1)))).isFalse();
            world.assertAllFree();
            assertThat(area.usedPages()).isZero();
        }
    }
}
