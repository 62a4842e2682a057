package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PageAllocatorTest {

    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(8 * GIB));
    private final PageFrames frames = new PageFrames();

    private PageAllocator allocator(PhysRange... managed) {
        return PageAllocator.create(memory, frames, List.of(managed));
    }

    @Test
    void aTerabyteStartsAtOnce() {
        PhysicalMemory large = PhysicalMemory.create(RamMap.sizedWithHole(4L << 40));
        long before = System.nanoTime();
        PageAllocator allocator =
                PageAllocator.create(large, frames, large.ram().ranges());
        Duration taken = Duration.ofNanos(System.nanoTime() - before);

        assertThat(taken).isLessThan(Duration.ofMillis(50));
        assertThat(allocator.freeBytes()).isEqualTo(4L << 40);
        assertThat(allocator.allocPages(Zone.NORMAL, 0)).isEqualTo(4 * GIB);
        assertThat(large.residentBytes()).isZero();
    }

    @Test
    void theLowestBlockOfTheSmallestOrderThatWillDoIsTaken() {
        PageAllocator allocator = allocator(new PhysRange(0x1000, 8 * MIB - 1));

        assertThat(allocator.allocPages(Zone.DMA, 0)).isEqualTo(0x1000);
        assertThat(allocator.allocPages(Zone.DMA, 1)).isEqualTo(0x2000);
        assertThat(allocator.allocPages(Zone.DMA, 0)).isEqualTo(0x4000);
        assertThat(allocator.allocPages(Zone.DMA, 0)).isEqualTo(0x5000);
        assertThat(allocator.allocPages(Zone.DMA, 10)).isEqualTo(4 * MIB);
        assertThat(allocator.allocatedPages()).isEqualTo(1 + 2 + 1 + 1 + 1024);
        assertThat(allocator.freeBytes()).isEqualTo(8 * MIB - 0x1000 - (5 + 1024) * 4096);
    }

    @Test
    void aZoneIsBackedUpByTheZonesBelowIt() {
        PageAllocator allocator = allocator(
                new PhysRange(0, 4 * MIB - 1),
                new PhysRange(16 * MIB, 20 * MIB - 1),
                new PhysRange(4 * GIB, 4 * GIB + 4 * MIB - 1));

        assertThat(allocator.allocPages(Zone.NORMAL, 10)).isEqualTo(4 * GIB);
        assertThat(allocator.allocPages(Zone.NORMAL, 10)).isEqualTo(16 * MIB);
        assertThat(allocator.allocPages(Zone.DMA32, 10)).isZero();
        assertThat(allocator.allocPages(Zone.NORMAL, 0)).isEqualTo(PageAllocator.NO_PAGE);
        allocator.freePages(4 * GIB, 10);
        assertThat(allocator.allocPages(Zone.DMA32, 0)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator.freeBytes(Zone.NORMAL)).isEqualTo(4 * MIB);
        assertThat(allocator.freeBytes(Zone.DMA)).isZero();
    }

    @Test
    void noBlockIsLargerThanTheHighestOrder() {
        PageAllocator allocator = allocator(new PhysRange(0, GIB - 1));
        // What asking for zero bytes comes to (dma-core:TYP-10).
        assertThat(allocator.allocPages(Zone.NORMAL, Addresses.order(0))).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator.allocPages(Zone.NORMAL, 11)).isEqualTo(PageAllocator.NO_PAGE);
        assertThatIllegalArgumentException().isThrownBy(() -> allocator.allocPages(Zone.NORMAL, -1));
    }

    @Test
    void onlyWholePagesOfARangeAreManaged() {
        PageAllocator allocator = allocator(new PhysRange(0x1800, 0x4ffe));

        assertThat(allocator.freeBytes()).isEqualTo(0x2000);
        assertThat(allocator.allocPages(Zone.DMA, 1)).isEqualTo(0x2000);
        assertThat(allocator.allocPages(Zone.DMA, 0)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator(new PhysRange(0, 0x7fe)).freeBytes()).isZero();
    }

    @Test
    void onlyRamIsManagedAndOnlyOnce() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> allocator(new PhysRange(3 * GIB - 4096, 3 * GIB + 4095)))
                .withMessage("physical address 0xbffff000+0x2000 is not RAM");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> allocator(new PhysRange(0, 0x3fff), new PhysRange(0x2000, 0x5fff)))
                .withMessage("managed range [0x2000, 0x5fff] overlaps another one");
    }

    // ---- freeing

    @Test
    void aBlockIsFreedOnceAndAsItWasAllocated() {
        PageAllocator allocator = allocator(new PhysRange(0, MIB - 1));
        long physAddr = allocator.allocPages(Zone.DMA, 2);

        assertThatIllegalStateException()
                .isThrownBy(() -> allocator.freePages(physAddr, 1))
                .withMessage("the block of pages at 0x0 was allocated with order 2, not 1");
        assertThatIllegalStateException()
                .isThrownBy(() -> allocator.freePages(physAddr + 4096, 0))
                .withMessage("no allocated block of pages begins at 0x1000: freed twice, or never allocated");
        assertThatIllegalStateException().isThrownBy(() -> allocator.freePages(physAddr + 1, 2));
        allocator.freePages(physAddr, 2);
        assertThatIllegalStateException().isThrownBy(() -> allocator.freePages(physAddr, 2));
        assertThat(allocator.freeBytes()).isEqualTo(MIB);
        assertThat(allocator.allocatedPages()).isZero();
    }

    @Test
    void aFrameThatSomebodyHoldsIsNotFreed() {
        PageAllocator allocator = allocator(new PhysRange(0, MIB - 1));
        long physAddr = allocator.allocPages(Zone.DMA, 1);
        frames.get(1);
        frames.pin(1);

        assertThatIllegalStateException()
                .isThrownBy(() -> allocator.freePages(physAddr, 1))
                .withMessage("page frame 0x1 is freed with 1 references and 1 pins");
        assertThat(allocator.allocatedPages()).isEqualTo(2);
        frames.put(1);
        frames.unpin(1);
        allocator.freePages(physAddr, 1);
        assertThat(allocator.allocatedPages()).isZero();
    }

    @Test
    void hooksOfAFrameRunOnceBeforeItIsFree() {
        PageAllocator allocator = allocator(new PhysRange(0, 0x3fff));
        long physAddr = allocator.allocPages(Zone.DMA, 2);
        List<String> calls = new ArrayList<>();
        FrameFreeHook cancelled = pfn -> calls.add("cancelled");
        frames.onFree(1, pfn -> calls.add("first " + pfn + " free " + allocator.freeBytes()));
        frames.onFree(1, cancelled);
        frames.onFree(1, pfn -> calls.add("second " + pfn));
        frames.onFree(3, cancelled);
        frames.setDirty(2);
        assertThat(frames.cancelOnFree(1, cancelled)).isTrue();
        assertThat(frames.cancelOnFree(1, cancelled)).isFalse();
        assertThat(frames.cancelOnFree(3, cancelled)).isTrue();
        assertThat(frames.cancelOnFree(3, cancelled)).isFalse();

        allocator.freePages(physAddr, 2);
        allocator.freePages(allocator.allocPages(Zone.DMA, 2), 2);

        assertThat(calls).containsExactly("first 1 free 0", "second 1");
        assertThat(frames.isDirty(2)).isFalse();
    }

    @Test
    void aHookThatThrowsLosesNoPages() {
        PageAllocator allocator = allocator(new PhysRange(0, 0x3fff));
        long physAddr = allocator.allocPages(Zone.DMA, 0);
        frames.onFree(0, pfn -> {
            throw new IllegalStateException("frame " + pfn + " is mapped");
        });

        assertThatIllegalStateException()
                .isThrownBy(() -> allocator.freePages(physAddr, 0))
                .withMessage("frame 0 is mapped");
        assertThat(allocator.freeBytes()).isEqualTo(0x4000);
    }

    @Test
    void aSplitBlockIsFreedPageByPage() {
        PageAllocator allocator = allocator(new PhysRange(0, 0xffff));
        String start = allocator.toString();
        long physAddr = allocator.allocPages(Zone.DMA, 3);
        assertThatIllegalStateException().isThrownBy(() -> allocator.splitPages(physAddr, 2));

        allocator.splitPages(physAddr, 3);

        assertThat(allocator.allocatedPages()).isEqualTo(8);
        assertThatIllegalStateException().isThrownBy(() -> allocator.freePages(physAddr, 3));
        for (int page = 7; page >= 0; page--) {
            allocator.freePages(physAddr + page * 4096L, 0);
        }
        assertThat(allocator).hasToString(start);
    }

    // ---- ranges

    @Test
    void aContiguousRangeIsTheHighestThatFits() {
        PageAllocator allocator = allocator(new PhysRange(0, 3 * GIB - 1), new PhysRange(4 * GIB, 9 * GIB - 1));

        assertThat(allocator.allocContiguous(64 * MIB, 4096, -1L)).isEqualTo(9 * GIB - 64 * MIB);
        assertThat(allocator.allocContiguous(64 * MIB, 4096, -1L)).isEqualTo(9 * GIB - 128 * MIB);
        assertThat(allocator.allocContiguous(64 * MIB, 4096, 0xffff_ffffL)).isEqualTo(3 * GIB - 64 * MIB);
        assertThat(allocator.allocContiguous(5000, 1, 0xffff_ffffL)).isEqualTo(3 * GIB - 64 * MIB - 8192);
        assertThat(allocator.allocContiguous(4096, MIB, 0xffff_ffffL)).isEqualTo(3 * GIB - 65 * MIB);
        assertThat(allocator.allocContiguous(4096, 4096, 0x5ffe)).isEqualTo(0x4000);
        assertThat(allocator.allocContiguous(4096, 4096, 0xffe)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator.allocContiguous(6 * GIB, 4096, -1L)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator.allocContiguous(-1L, 4096, -1L)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(allocator.freeBytes()).isEqualTo(8 * GIB - 192 * MIB - 16384);
        assertThat(allocator.allocatedPages()).isZero();
    }

    @Test
    void aContiguousRangeHasASizeAndAnAlignment() {
        PageAllocator allocator = allocator(new PhysRange(0, GIB - 1));
        assertThatIllegalArgumentException().isThrownBy(() -> allocator.allocContiguous(0, 4096, -1L));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> allocator.allocContiguous(4096, 3 * 4096, -1L))
                .withMessage("alignment 0x3000 is no power of two");
    }

    @Test
    void aReservedRangeIsNeverHandedOut() {
        PageAllocator allocator = allocator(new PhysRange(0, 16 * 4096 - 1));

        allocator.reserve(0x3fff, 2);

        assertThat(allocator.freeBytes()).isEqualTo(14 * 4096);
        List<Long> all = new ArrayList<>();
        long physAddr = allocator.allocPages(Zone.DMA, 0);
        while (physAddr != PageAllocator.NO_PAGE) {
            all.add(physAddr);
            physAddr = allocator.allocPages(Zone.DMA, 0);
        }
        assertThat(all).hasSize(14).doesNotContain(0x3000L, 0x4000L);
    }

    @Test
    void onlyFreePagesAreReserved() {
        PageAllocator allocator = allocator(new PhysRange(0, 16 * 4096 - 1));
        String start = allocator.toString();
        long physAddr = allocator.allocPages(Zone.DMA, 0);

        assertThatIllegalStateException()
                .isThrownBy(() -> allocator.reserve(physAddr, 0x4000))
                .withMessage("cannot reserve 0x0+0x4000: of its 4 pages 3 are free");
        assertThatIllegalStateException().isThrownBy(() -> allocator.reserve(15 * 4096, 8192));
        assertThatIllegalArgumentException().isThrownBy(() -> allocator.reserve(0, 0));
        allocator.freePages(physAddr, 0);
        assertThat(allocator).hasToString(start);
    }
}
