package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

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
}
