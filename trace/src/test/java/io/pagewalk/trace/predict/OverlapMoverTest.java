package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NIC;
import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls that took their address before the interrupt whose lines stand before theirs. */
class OverlapMoverTest {
    private static final long PAGE = 0x1000;
    private static final long TOP = 0xffff_f000L;

    private final Lines lines = new Lines();

    /** Three addresses live, two of them to be given back by an interrupt, and one below them that is new. */
    @BeforeEach
    void mapThree() {
        for (int i = 0; i < 3; i++) {
            page(NVME, TOP - i * PAGE);
        }
    }

    private void page(String device, long iova) {
        lines.map(iova, 0x5000, PAGE).mapPage(device, iova, 0x5000, PAGE);
    }

    private void unmapPage(String device, long iova) {
        lines.unmap(iova, PAGE).unmapPage(device, iova, PAGE);
    }

    private Predictions predicted() throws IOException {
        return Predictions.of(Predictions.STRICT, lines.toString());
    }

    @Test
    void aCallThatDidNotGetWhatTheInterruptGaveBackCameBeforeIt() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        lines.back();
        page(NVME, TOP - 3 * PAGE);
        Predictions prediction = predicted();
        assertThat(prediction.moves()).containsExactly(new Move(10, 8, "fio-7", NVME, TOP - 3 * PAGE));
        assertThat(prediction.moves().get(0).message())
                .isEqualTo(
                        "line 10 before line 8: fio-7: 0000:00:04.0 has 0xffffc000, not what the interrupt gave back");
        assertThat(prediction.misses()).extracting(Miss::order).containsExactly(Miss.Order.OF_LINES);
        assertThat(prediction.result().deciding().isComplete()).isTrue();
        assertThat(prediction.result().ok()).isTrue();
    }

    @Test
    void aCallBetweenTwoUnmapsOfInterruptsGotWhatTheFirstGaveBack() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        unmapPage(NVME, TOP - PAGE);
        lines.back();
        page(NVME, TOP);
        assertThat(predicted().moves()).containsExactly(new Move(12, 10, "fio-7", NVME, TOP));
        assertThat(predicted().result().ok()).isTrue();
    }

    @Test
    void aCallThatGotWhatTheInterruptGaveBackStaysWhereItIs() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        unmapPage(NVME, TOP - PAGE);
        lines.back();
        page(NVME, TOP - PAGE);
        assertThat(predicted().moves()).isEmpty();
        assertThat(predicted().misses()).isEmpty();
    }

    @Test
    void whatTheInterruptTookAgainItDidNotLeave() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        page(NVME, TOP);
        lines.back();
        page(NVME, TOP - 3 * PAGE);
        assertThat(predicted().moves()).isEmpty();
        assertThat(predicted().misses()).isEmpty();
    }

    @Test
    void unmapsOfAnotherSizeOrDeviceSayNothing() throws IOException {
        lines.map(TOP - 5 * PAGE, 0x8000, 2 * PAGE).mapPage(NVME, TOP - 5 * PAGE, 0x8000, 2 * PAGE);
        page(NIC, TOP);
        lines.hardirq();
        unmapPage(NIC, TOP);
        lines.unmap(TOP - 5 * PAGE, 2 * PAGE).unmapPage(NVME, TOP - 5 * PAGE, 2 * PAGE);
        lines.back();
        page(NVME, TOP - 6 * PAGE);
        assertThat(predicted().moves()).isEmpty();
        assertThat(predicted().misses()).isEmpty();
    }

    @Test
    void anInterruptBeforeTheTasksLastLineIsOver() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        lines.back().line("tracing_mark_write: on");
        page(NVME, TOP - 3 * PAGE);
        Predictions prediction = predicted();
        assertThat(prediction.moves()).isEmpty();
        assertThat(prediction.misses()).hasSize(2);
        assertThat(prediction.result().ok()).isFalse();
    }

    @Test
    void anotherTasksUnmapIsNoInterruptAndEndsTheSearch() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        lines.by("fio-8", 0);
        unmapPage(NIC, TOP - PAGE);
        unmapPage(NVME, TOP - PAGE);
        lines.by("fio-7", 0);
        page(NVME, TOP - 3 * PAGE);
        assertThat(predicted().moves()).isEmpty();
    }

    /** What another CPU gives back goes to that CPU's stack. */
    @Test
    void unmapsOnAnotherCpuAreNeitherSkippedNorCounted() throws IOException {
        lines.hardirq();
        unmapPage(NVME, TOP);
        lines.by("fio-8", 1);
        unmapPage(NVME, TOP - PAGE);
        lines.by("fio-7", 0);
        page(NVME, TOP - 3 * PAGE);
        assertThat(predicted().moves()).extracting(Move::beforeLine).containsExactly(8L);
        assertThat(predicted().result().ok()).isTrue();
    }

    /** Ranges of more than 32 pages are in no cache: there is no stack to tell from. */
    @Test
    void largeRangesStayWhereTheyAre() throws IOException {
        long large = 33 * PAGE;
        long first = 0xfff8_0000L;
        lines.map(first, 0x10_0000, large).mapPage(NVME, first, 0x10_0000, large);
        lines.hardirq().unmap(first, large).unmapPage(NVME, first, large).back();
        long next = 0xfff4_0000L;
        lines.map(next, 0x10_0000, large).mapPage(NVME, next, 0x10_0000, large);
        assertThat(predicted().moves()).isEmpty();
    }
}
