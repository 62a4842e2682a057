package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PageFramesTest {

    private final PageFrames frames = new PageFrames();

    @Test
    void aFrameStartsWithNothing() {
        assertThat(frames.refCount(0x1234)).isZero();
        assertThat(frames.pinCount(0x1234)).isZero();
        assertThat(frames.isDirty(0x1234)).isFalse();
        assertThat(frames.clearDirty(0x1234)).isFalse();
    }

    @Test
    void referencesAndPinsAreCountedApart() {
        assertThat(frames.get(7)).isEqualTo(1);
        assertThat(frames.get(7, 1024)).isEqualTo(1025);
        assertThat(frames.pin(7)).isEqualTo(1);
        assertThat(frames.put(7, 1024)).isEqualTo(1);
        assertThat(frames.unpin(7)).isZero();
        assertThat(frames.put(7)).isZero();
        assertThat(frames.refCount(8)).isZero();
    }

    @Test
    void noCountGoesBelowZeroOrOverTheTop() {
        frames.get(0x10, 2);
        assertThatIllegalStateException()
                .isThrownBy(() -> frames.put(0x10, 3))
                .withMessage("page frame 0x10 has 2 references, which cannot change by -3");
        assertThat(frames.refCount(0x10)).isEqualTo(2);
        assertThatIllegalStateException()
                .isThrownBy(() -> frames.unpin(0x10))
                .withMessage("page frame 0x10 has 0 pins, which cannot change by -1");
        assertThatIllegalStateException().isThrownBy(() -> frames.get(0x10, Integer.MAX_VALUE));
        assertThat(frames.refCount(0x10)).isEqualTo(2);
        assertThatIllegalArgumentException().isThrownBy(() -> frames.get(0x10, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> frames.put(0x10, -1));
    }

    @Test
    void severalPinsAreCountedAtOnce() { // rdma:MM-15, large folios
        assertThat(frames.pin(9, 512)).isEqualTo(512);
        assertThat(frames.pin(9)).isEqualTo(513);
        assertThat(frames.unpin(9, 500)).isEqualTo(13);
        assertThatIllegalStateException()
                .isThrownBy(() -> frames.unpin(9, 14))
                .withMessage("page frame 0x9 has 13 pins, which cannot change by -14");
        assertThatIllegalArgumentException().isThrownBy(() -> frames.pin(9, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> frames.unpin(9, -1));
        assertThat(frames.pinCount(9)).isEqualTo(13);
    }

    @Test
    void referencesAreTakenOnlyWhereThereIsRoom() {
        assertThat(frames.tryGet(5, Integer.MAX_VALUE - 1)).isTrue();
        assertThat(frames.tryGet(5, 2)).isFalse();
        assertThat(frames.refCount(5)).isEqualTo(Integer.MAX_VALUE - 1);
        assertThat(frames.tryGet(5, 1)).isTrue();
        assertThat(frames.refCount(5)).isEqualTo(Integer.MAX_VALUE);
        assertThat(frames.tryGet(5, 0)).isTrue();
        assertThatIllegalArgumentException().isThrownBy(() -> frames.tryGet(5, -1));
    }

    @Test
    void framesOfAnotherOwnerAreToldAndCleaned() {
        long[] freed = {0};
        frames.onFree(0x21, pfn -> freed[0] = pfn);
        frames.setDirty(0x21);
        frames.get(0x22);
        assertThatIllegalStateException().isThrownBy(() -> frames.release(0x20, 3));
        assertThat(freed[0]).isZero();
        assertThat(frames.isDirty(0x21)).isTrue();
        frames.release(0x20, 2);
        assertThat(freed[0]).isEqualTo(0x21);
        assertThat(frames.isDirty(0x21)).isFalse();
    }

    @Test
    void dirtyIsAFlagOfOneFrame() {
        assertThat(frames.setDirty(63)).isTrue();
        assertThat(frames.setDirty(63)).isFalse();
        assertThat(frames.isDirty(63)).isTrue();
        assertThat(frames.isDirty(31)).isFalse();
        assertThat(frames.isDirty(62)).isFalse();
        assertThat(frames.isDirty(63 + 512)).isFalse();
        assertThat(frames.clearDirty(63)).isTrue();
        assertThat(frames.isDirty(63)).isFalse();
    }

    @Test
    void framesFarApartAreKeptApart() {
        long last = (1L << 40) - 1;
        frames.get(last);
        frames.get(0, 3);
        frames.get(1L << 18, 5);

        assertThat(frames.refCount(last)).isEqualTo(1);
        assertThat(frames.refCount(0)).isEqualTo(3);
        assertThat(frames.refCount(1L << 18)).isEqualTo(5);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> frames.get(1L << 40))
                .withMessage("there is no page frame 0x10000000000");
        assertThatIllegalArgumentException().isThrownBy(() -> frames.refCount(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> frames.onFree(-1, pfn -> {}));
    }

    @Test
    void theZoneOfAFrameIsThatOfItsAddress() {
        assertThat(frames.zone(0xfff)).isEqualTo(Zone.DMA);
        assertThat(frames.zone(0x1000)).isEqualTo(Zone.DMA32);
        assertThat(frames.zone(0x100000)).isEqualTo(Zone.NORMAL);
    }

    @Test
    void whoAsksForAllFramesIsToldOfEachRangeThatIsFreedAfterTheHooksOfSingleFrames() {
        List<String> told = new ArrayList<>();
        frames.onEveryFree((first, count) -> told.add("first " + first + "+" + count));
        frames.onEveryFree((first, count) -> told.add("second " + first + "+" + count));
        frames.onFree(5, pfn -> told.add("frame " + pfn));
        frames.release(4, 3);
        frames.release(4, 1);
        frames.release(4, 0);
        assertThat(told).containsExactly("frame 5", "first 4+3", "second 4+3", "first 4+1", "second 4+1");
    }

    @Test
    void releaseTakesAsLongAsThereAreKnownFramesHoweverManyItIsGiven() {
        List<Long> freed = new ArrayList<>();
        for (long pfn : new long[] {3, 0x4_0000_0200L, 0x1ff}) {
            frames.setDirty(pfn);
            frames.onFree(pfn, freed::add);
        }
        frames.onFree(0x9_9999, freed::add); // nothing else is known of this one
        frames.setDirty(0xff_ffff_ffffL);

        assertTimeoutPreemptively(Duration.ofSeconds(20), () -> frames.release(3, 0xff_ffff_fffcL));

        assertThat(freed).containsExactly(3L, 0x1ffL, 0x9_9999L, 0x4_0000_0200L);
        assertThat(frames.isDirty(3)).isFalse();
        assertThat(frames.isDirty(0x4_0000_0200L)).isFalse();
        assertThat(frames.isDirty(0xff_ffff_ffffL)).as("the one after the last").isTrue();
    }

    @Test
    void aHeldFrameAmongManyUnknownOnesIsFound() {
        frames.pin(0x4_0000_0200L);
        frames.setDirty(1);
        assertThatIllegalStateException()
                .isThrownBy(() -> frames.release(0, 0x4_0000_0201L))
                .withMessage("page frame 0x400000200 is freed with 0 references and 1 pins");
        assertThat(frames.isDirty(1)).isTrue();
        frames.release(0, 0x4_0000_0200L);
        assertThat(frames.isDirty(1)).isFalse();
    }

    @Test
    void framesThatDoNotExistAreNotReleased() {
        for (long[] bad : new long[][] {{0, -1}, {1, 1L << 40}, {1L << 40, 1}, {-1, 2}, {0, (1L << 40) + 1}}) {
            frames.setDirty(1);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> frames.release(bad[0], bad[1]))
                    .withMessageContaining("they end at 0x10000000000");
            assertThat(frames.isDirty(1)).isTrue();
        }
        frames.release(1L << 40, 0);
        frames.release(0, 1L << 40);
    }
}
