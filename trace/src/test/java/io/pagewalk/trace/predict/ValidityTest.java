package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.replay.MachineSpec;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Addresses of a lazy IOMMU without its timers: could they have been given out? */
class ValidityTest {
    private static final long PAGE = 0x1000;
    private static final long TOP = 0xffff_f000L;
    private static final String HEAD = "fio-7 on CPU 0: 0000:00:04.0: page recorded at ";

    private final Lines lines = new Lines();

    private Lines page(long iova, long pages) {
        return lines.map(iova, 0x5000, pages * PAGE).mapPage(NVME, iova, 0x5000, pages * PAGE);
    }

    private void unmapPage(long iova, long pages) {
        lines.unmap(iova, pages * PAGE).unmapPage(NVME, iova, pages * PAGE);
    }

    private Predictions judged() throws IOException {
        return Predictions.of(Predictions.LAZY, lines.toString());
    }

    @Test
    void alignedApartAndWithinLimitsIsValid() throws IOException {
        page(TOP, 1);
        page(TOP - 4 * PAGE - 3 * PAGE, 3);
        page(0xffff_0000_0000L, 33);
        unmapPage(TOP, 1);
        lines.after(20_000);
        page(TOP, 1);
        Predictions prediction = judged();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().inLineOrder().judged()).isEqualTo(Map.of(AddressKind.PAGE, 4L));
        assertThat(prediction.result().judgement()).isEqualTo(PredictionResult.Judgement.VALID);
    }

    @Test
    void aRangeIsAlignedToItsSizeRoundedUp() throws IOException {
        page(0xb000_0000L + PAGE, 2);
        page(0xb100_0000L + 2 * PAGE, 3);
        page(0xb200_0000L + 32 * PAGE, 33);
        assertThat(judged().messages())
                .containsExactly(
                        "line 3: " + HEAD + "0xb0001000: not aligned to 0x2000",
                        "line 5: " + HEAD + "0xb1002000: not aligned to 0x4000",
                        "line 7: " + HEAD + "0xb2020000: not aligned to 0x40000");
    }

    @Test
    void aRangeEndsWithinMaskAndWidth() throws Exception {
        page(0x1_0000_0000L, 1);
        page(0x1_0000_0000_0000L, 1);
        assertThat(judged().messages())
                .containsExactly("line 5: " + HEAD
                        + "0x1000000000000: ends at 0x1000000000fff, beyond the limit 0xffffffffffff");
        MachineSpec narrow = MachineSpec.parse("m", "{\"devices\":{\"0000:00:04.0\":{\"maskBits\":32}}}");
        assertThat(Predictions.of(Predictions.LAZY, lines.toString(), narrow).messages())
                .first()
                .isEqualTo("line 3: " + HEAD + "0x100000000: ends at 0x100000fff, beyond the limit 0xffffffff");
    }

    @Test
    void reservedRangesAreGivenToNobody() throws IOException {
        page(0xc000_0000L, 1);
        page(0xfee0_0000L, 1);
        page(0, 1);
        page(PAGE, 1);
        assertThat(judged().messages())
                .containsExactly(
                        "line 3: " + HEAD + "0xc0000000: in the reserved range [0xc0000000, 0xfebfffff]",
                        "line 5: " + HEAD + "0xfee00000: in the reserved range [0xfee00000, 0xfeefffff]",
                        "line 7: " + HEAD + "0x0: in the reserved range [0x0, 0xfff]");
    }

    /** Three pages hold four. */
    @Test
    void rangesInUseOverlapNone() throws IOException {
        page(0xb000_0000L, 3);
        page(0xb000_3000L, 1);
        unmapPage(0xb000_0000L, 3);
        lines.after(200_000);
        page(0xb000_0000L, 1);
        assertThat(judged().messages())
                .containsExactly("line 5: " + HEAD
                        + "0xb0003000: overlaps [0xb0000000, 0xb0003fff], which 0000:00:04.0 has in use");
    }

    @Test
    void anAddressIsNotReusedBeforeAFlushCanHaveCome() throws IOException {
        page(TOP, 1);
        unmapPage(TOP, 1);
        page(TOP, 1);
        assertThat(judged().messages())
                .containsExactly("line 7: " + HEAD
                        + "0xfffff000: reused although no flush can have come since its unmap at line 4");
        assertThat(judged().result().ok()).isFalse();
    }

    @Test
    void whatTheMachineWouldNotHaveIsNotAskedFor() throws IOException {
        lines.mapPage(NVME, -1L, 0x5000, 512);
        assertThat(judged().result().inLineOrder().allJudged()).isZero();
    }
}
