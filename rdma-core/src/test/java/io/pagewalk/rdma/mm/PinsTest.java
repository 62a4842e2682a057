package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.KernelModel;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Counting and dropping pins (rdma:MM-12, MM-15 to MM-17, GUP-18)")
class PinsTest {

    private static long huge(World world) {
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB;
        return world.process.mmap(0, 2 << 20, RW, flags, null, 0);
    }

    @Test
    @DisplayName("EX-7: a small page that two registrations pin")
    void pinOfASmallPageIs1024References() {
        try (World world = new World()) {
            long address = world.touched(1);
            long[] first = world.pinned(address, 1, LONG_WRITE);
            long[] second = world.pinned(address, 1, LONG_WRITE);
            long pfn = first[0];
            assertThat(second).containsExactly(pfn);
            assertThat(world.frames.refCount(pfn)).isEqualTo(2049);
            assertThat(world.frames.pinCount(pfn)).isZero();
            world.unpin(first);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1025);
            assertThat(world.pins.maybeDmaPinned(pfn)).isTrue();
            world.unpin(second);
            assertThat(world.frames.refCount(pfn)).isEqualTo(1);
            assertThat(world.pins.maybeDmaPinned(pfn)).isFalse();
        }
    }

    @Test
    void pinOfALargeFolioIsOneReferenceAndOnePinOfItsHead() {
        // MM-15, MM-16
        try (World world = new World()) {
            long address = huge(world);
            world.countFromHere();
            long[] pfns = world.pinned(address + 3 * PAGE, 5, LONG_WRITE);
            long head = pfns[0] - 3;
            assertThat(world.frames.refCount(head)).isEqualTo(6);
            assertThat(world.frames.pinCount(head)).isEqualTo(5);
            assertThat(world.frames.refCount(pfns[0])).isZero();
            assertThat(world.pins.maybeDmaPinned(head + 511)).isTrue();
            world.assertCounted(5, 0);
            world.unpin(pfns[1]);
            assertThat(world.frames.refCount(head)).isEqualTo(5);
            assertThat(world.frames.pinCount(head)).isEqualTo(4);
            world.unpin(pfns[0], pfns[2], pfns[3], pfns[4]);
            assertThat(world.frames.pinCount(head)).isZero();
            assertThat(world.frames.refCount(head)).isEqualTo(1);
            assertThat(world.pins.maybeDmaPinned(head)).isFalse();
            world.assertCounted(5, 5);
            world.frames.get(head, 2000);
            assertThat(world.pins.maybeDmaPinned(head)).as("exact").isFalse();
            world.frames.put(head, 2000);
            world.assertAllFree();
        }
    }

    @Test
    void smallPageWith1024ReferencesLooksPinned() {
        // MM-16
        try (World world = new World()) {
            long pfn = world.process.pfnOf(world.touched(1));
            world.frames.get(pfn, 1022);
            assertThat(world.pins.maybeDmaPinned(pfn)).isFalse();
            world.frames.get(pfn, 1);
            assertThat(world.pins.maybeDmaPinned(pfn)).isTrue();
        }
    }

    @Test
    void zeroPageIsNeitherCountedOnPinNorOnUnpin() {
        // MM-15, MM-17: GET without LONGTERM takes it
        try (World world = new World()) {
            long address = world.untouched(2);
            assertThat(world.process.getLong(address)).isZero();
            world.countFromHere();
            long[] pfns = world.pinned(address, 1, 0);
            assertThat(pfns).containsExactly(world.memory.zeroPfn());
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
            world.assertCounted(0, 0);
            world.unpin(pfns);
            world.assertCounted(0, 0);
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
        }
    }

    @Test
    void zeroPageIsCountedByAFiveXKernel() {
        // QRK-4
        try (World world = new World(KernelModel.LINUX_5)) {
            long address = world.untouched(1);
            world.countFromHere();
            long[] pfns = world.pinned(address, 1, LONGTERM);
            assertThat(pfns).containsExactly(world.memory.zeroPfn());
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1025);
            world.assertCounted(1, 0);
            world.unpin(pfns);
            assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
            world.assertCounted(1, 1);
        }
    }

    @Test
    void unpinMarksFoliosDirtyWhereItIsAsked() {
        // GUP-18
        try (World world = new World()) {
            long address = world.touched(3);
            long[] pfns = world.pinned(address, 3, LONG_WRITE);
            world.pins.unpinUserPagesDirtyLock(pfns, 1, false);
            assertThat(world.frames.isDirty(pfns[0])).isFalse();
            world.pins.unpinUserPageRangeDirtyLock(pfns[1], 2, true);
            assertThat(pfns[2]).isEqualTo(pfns[1] + 1);
            assertThat(world.frames.isDirty(pfns[1])).isTrue();
            assertThat(world.frames.isDirty(pfns[2])).isTrue();
            assertThat(world.frames.refCount(pfns[2])).isEqualTo(1);
            long[] large = world.pinned(huge(world), 4, LONGTERM);
            world.pins.unpinUserPageRangeDirtyLock(large[0], 4, true);
            assertThat(world.frames.isDirty(large[0])).as("the head").isTrue();
            assertThat(world.frames.isDirty(large[1])).isFalse();
            world.assertAllFree();
        }
    }

    @Test
    void rangeAcrossFoliosDropsEachOne() {
        try (World world = new World()) {
            long address = huge(world);
            long[] large = world.pinned(address + 510 * PAGE, 2, LONG_WRITE);
            long small = world.process.pfnOf(world.touched(1));
            assertThat(small).isNotEqualTo(large[1] + 1);
            world.countFromHere();
            world.pins.unpinUserPagesDirtyLock(large, 2, false);
            world.assertCounted(0, 2);
            assertThat(world.frames.refCount(large[0] - 510)).isEqualTo(1);
            assertThatThrownBy(() -> world.unpin(small)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void pinnedPageSurvivesMunmapAndItsAddressGetsAnotherPage() {
        // MM-12
        try (World world = new World()) {
            long address = world.touched(1);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            assertThat(world.process.munmap(address, PAGE)).isZero();
            assertThat(world.deviceReads(pfns[0])).isEqualTo(1);
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(1024);
            long again = world.untouched(1);
            assertThat(again).isEqualTo(address);
            world.process.putLong(again, 2);
            assertThat(world.process.pfnOf(again)).isNotEqualTo(pfns[0]);
            world.machine.memory().putLong(pfns[0] * PAGE, 3);
            assertThat(world.process.getLong(again)).isEqualTo(2);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(2);
            world.unpin(pfns);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(1);
            world.assertAllFree();
        }
    }

    @Test
    void pinnedPageSurvivesDontneedAndExit() {
        // MM-12
        try (World world = new World()) {
            long address = world.touched(2);
            long[] pfns = world.pinned(address, 2, LONG_WRITE);
            assertThat(world.process.madvise(address, PAGE, Mmap.MADV_DONTNEED)).isZero();
            assertThat(world.process.getLong(address)).isZero();
            assertThat(world.deviceReads(pfns[0])).isEqualTo(1);
            world.process.exit();
            assertThat(world.deviceReads(pfns[1])).isEqualTo(2);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(2);
            world.unpin(pfns);
            assertThat(world.machine.pages().allocatedPages()).isZero();
        }
    }

    @Test
    void freeHookRunsWhenTheLastPinGoes() {
        try (World world = new World()) {
            long address = world.touched(1);
            long[] pfns = world.pinned(address, 1, LONG_WRITE);
            long[] freed = {-1};
            world.frames.onFree(pfns[0], pfn -> freed[0] = pfn);
            world.process.munmap(address, PAGE);
            assertThat(freed).containsExactly(-1);
            world.pins.unpinUserPageRangeDirtyLock(pfns[0], 1, true);
            assertThat(freed).containsExactly(pfns[0]);
            assertThat(world.frames.isDirty(pfns[0])).isFalse();
        }
    }

    @Test
    void pageWithoutRoomForAnotherPinIsRefused() {
        try (World world = new World()) {
            long address = world.touched(2);
            long pfn = world.process.pfnOf(address + PAGE);
            world.frames.get(pfn, Integer.MAX_VALUE - 1024);
            assertThat(world.pin(address + PAGE, 1, LONG_WRITE)).isEqualTo(-12);
            assertThat(world.pin(address, 2, LONG_WRITE)).isEqualTo(1);
            world.frames.put(pfn, 1);
            assertThat(world.pin(address + PAGE, 1, LONG_WRITE)).isEqualTo(1);
            long head = world.pinned(huge(world), 1, LONG_WRITE)[0];
            world.frames.get(head, Integer.MAX_VALUE - 2);
            assertThat(world.pin(world.process.mmap(PAGE), 1, LONG_WRITE)).isEqualTo(1);
            assertThat(world.frames.refCount(head)).isEqualTo(Integer.MAX_VALUE);
        }
    }
}
