package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.HUGE;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Unpinning runs of pages (rdma:MM-15, MM-17, GUP-18)")
class UnpinTest {
    private static final long FRAMES = 1L << 40;

    /** The last page of a huge page and the first of the next, side by side in memory, pinned once each. */
    private static long[] pinnedAcrossTwoHugePages(World world) {
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
        Map<Long, Long> addressByHead = new HashMap<>();
        long upper = world.process.mmap(0, 8 * HUGE, RW, flags, null, 0);
        world.process.putLong(upper, 1);
        while (!addressByHead.containsKey(world.process.pfnOf(upper) - 512)) {
            addressByHead.put(world.process.pfnOf(upper), upper);
            upper += HUGE;
            world.process.putLong(upper, 1);
        }
        long lower = addressByHead.getOrDefault(world.process.pfnOf(upper) - 512, 0L);
        long[] pfns = {world.pinned(lower + HUGE - PAGE, 1, LONG_WRITE)[0], world.pinned(upper, 1, LONG_WRITE)[0]};
        assertThat(pfns[1]).isEqualTo(pfns[0] + 1);
        world.countFromHere();
        return pfns;
    }

    private static void assertBothUnpinned(World world, long[] pfns) {
        world.assertCounted(0, 2);
        for (long pfn : new long[] {pfns[0] - 511, pfns[1]}) {
            assertThat(world.frames.pinCount(pfn)).isZero();
            assertThat(world.frames.refCount(pfn)).isEqualTo(1);
        }
        world.assertAllFree();
    }

    @Test
    void rangeAcrossHugePagesUnpinsEachOfThem() {
        try (World world = new World()) {
            long[] pfns = pinnedAcrossTwoHugePages(world);
            world.pins.unpinUserPageRangeDirtyLock(pfns[0], 2, true);
            assertThat(world.frames.isDirty(pfns[0] - 511)).isTrue();
            assertThat(world.frames.isDirty(pfns[1])).isTrue();
            assertBothUnpinned(world, pfns);
        }
    }

    @Test
    void risingRunAcrossHugePagesUnpinsEachOfThem() {
        try (World world = new World()) {
            long[] pfns = pinnedAcrossTwoHugePages(world);
            world.pins.unpinUserPagesDirtyLock(pfns, 2, false);
            assertBothUnpinned(world, pfns);
        }
    }

    @Test
    void fallingFramesAreNoRun() {
        try (World world = new World()) {
            long[] pfns = pinnedAcrossTwoHugePages(world);
            world.unpin(pfns[1], pfns[0]);
            assertBothUnpinned(world, pfns);
        }
    }

    @Test
    void firstPagesOfTwoHugePagesAreNoRun() {
        try (World world = new World()) {
            long[] pfns = pinnedAcrossTwoHugePages(world);
            long first = pfns[0] - 511;
            world.unpin(pfns[0]);
            world.countFromHere();
            world.frames.get(first, 1);
            world.frames.pin(first, 1);
            world.unpin(first, pfns[1]);
            assertBothUnpinned(world, pfns);
        }
    }

    @Test
    void pageWithoutAPinIsRefusedBeforeItChanges() {
        try (World world = new World()) {
            long address = world.touched(2);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            long bare = world.process.pfnOf(address + PAGE);
            world.countFromHere();
            assertThatThrownBy(() -> world.pins.unpinUserPagesDirtyLock(new long[] {pfns[0], bare}, 2, true))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("page frame 0x%x has no pin: its 1 references are fewer than the 1024 of one", bare);
            assertThat(world.frames.isDirty(bare)).isFalse();
            assertThat(world.frames.refCount(bare)).isEqualTo(1);
            assertThat(world.frames.refCount(pfns[0])).as("the one before it").isEqualTo(1);
            world.assertCounted(0, 1);
        }
    }

    @Test
    void rangesThatAreNoneAreRefusedBeforeAnythingChanges() {
        try (World world = new World()) {
            long pfn = world.pinned(world.touched(1), 1, LONG_WRITE)[0];
            assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(pfn, -1, false))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cannot unpin -1 pages");
            assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(-1, 1, false))
                    .hasMessage("there is no page frame 0xffffffffffffffff");
            assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(pfn, FRAMES, false))
                    .hasMessage("there is no page frame 0x%x", FRAMES + pfn - 1);
            assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(FRAMES - 1, 1, false))
                    .as("a frame, though without a pin")
                    .isInstanceOf(IllegalStateException.class);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1025);
            world.pins.unpinUserPageRangeDirtyLock(pfn, 0, true);
            world.pins.unpinUserPageRangeDirtyLock(0, 0, true);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1025);
            assertThat(world.frames.isDirty(pfn)).isFalse();
        }
    }
}
