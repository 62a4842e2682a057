package io.pagewalk.trace.workload;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a list that failed leaves behind. */
class BouncesTest {
    private static final String NVME = "0000:00:04.0";
    private static final String NIC = "0000:00:08.0";
    private static final String TO = "TO_DEVICE";
    private static final long MASK = -1L;

    private static long failedLists(TraceText text) {
        return text.assemble().anomalies().of(Anomaly.FAILED_LIST_LENGTHS_UNKNOWN);
    }

    @Test
    void bouncesOfMapsThatSucceedOrFailAsPagesAreNobodysRest() {
        assertThat(failedLists(new TraceText()
                        .bounced(NVME, MASK, 0x1000, 4096)
                        .mapPage(NVME, TO, 0x7000, 4096, 0x1000)
                        .bounced(NVME, MASK, 0x1000, 4096)
                        .mapPage(NVME, TO, -1L, 4096, 0x1000)
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .bounced(NVME, MASK, 0x4000, 4096)
                        .mapSg(NVME, TO, new long[] {0x7000, 0x9000}, new long[] {4096, 4096}, new long[] {
                            0x2000, 0x4000
                        })))
                .isZero();
    }

    @Test
    void aListThatFailsAndIsTriedAgainCountsEachTime() {
        assertThat(failedLists(new TraceText()
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .bounced(NVME, MASK, 0x4000, 4096)
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .bounced(NVME, MASK, 0x4000, 4096)
                        .bounced(NVME, MASK, 0x1000, 4096)
                        .mapPage(NVME, TO, 0x7000, 4096, 0x1000)))
                .isEqualTo(2);
    }

    @Test
    void anInterruptInTheMiddleOfAListTakesOnlyItsOwn() {
        assertThat(failedLists(new TraceText()
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .flags("..s1.")
                        .bounced(NIC, MASK, 0x8000, 64)
                        .mapPage(NIC, TO, 0xa000, 64, 0x8000)
                        .flags(".N...")
                        .bounced(NVME, MASK, 0x4000, 4096)
                        .mapSg(NVME, TO, new long[] {0x7000, 0x9000}, new long[] {4096, 4096}, new long[] {
                            0x2000, 0x4000
                        })))
                .isZero();
    }

    @Test
    void withoutFlagsInterruptsInTheMiddleOfAListMakeNoFailedList() {
        TraceText text = new TraceText().flags("").mapPage(NIC, TO, 0xa000, 64, 0x8000);
        text.bounced(NVME, MASK, 0x2000, 4096)
                .unmapPage(NIC, TO, 0xa000, 64)
                .bounced(NIC, MASK, 0x8000, 64)
                .mapPage(NIC, TO, 0xa000, 64, 0x8000)
                .unmapPage(NIC, TO, 0xa000, 64)
                .bounced(NVME, MASK, 0x4000, 4096)
                .mapSg(NVME, TO, new long[] {0x7000, 0x9000}, new long[] {4096, 4096}, new long[] {0x2000, 0x4000});
        assertThat(failedLists(text)).isZero();
    }

    @Test
    void withoutFlagsWhatWaitsAtTheEndWasAFailedList() {
        TraceText text = new TraceText()
                .flags("")
                .bounced(NVME, MASK, 0x2000, 4096)
                .bounced(NVME, MASK, 0x4000, 4096)
                .bounced(NVME, MASK, 0x1000, 4096)
                .mapPage(NVME, TO, 0x7000, 4096, 0x1000);
        assertThat(failedLists(text)).isEqualTo(1);
    }

    @Test
    void theLastCallOfACpuMayBeCutByTheEndOfTheTrace() {
        assertThat(failedLists(new TraceText()
                        .mapPage(NVME, TO, 0x7000, 4096, 0x1000)
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .bounced(NVME, MASK, 0x4000, 4096)))
                .isZero();
    }

    @Test
    void aGapTakesTheWaitingBouncesOfItsCpuWithIt() {
        assertThat(failedLists(new TraceText()
                        .bounced(NVME, MASK, 0x2000, 4096)
                        .raw("CPU:0 [LOST 3 EVENTS]")
                        .bounced(NVME, MASK, 0x1000, 4096)
                        .mapPage(NVME, TO, 0x7000, 4096, 0x1000)))
                .isZero();
    }

    @Test
    void manyBouncesThatNobodyClaimsStayBounded() {
        TraceText text = new TraceText().flags("");
        for (int i = 0; i < 10_000; i++) {
            text.bounced(NVME, MASK, 0x2000, 4096);
        }
        text.mapPage(NVME, TO, 0x7000, 4096, 0x1000);
        assertThat(failedLists(text)).isEqualTo(10_000);
    }
}
