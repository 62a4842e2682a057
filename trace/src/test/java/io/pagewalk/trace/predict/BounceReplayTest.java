package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NIC;
import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.trace.replay.MachineSpec;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Calls without an IOMMU on a pool of two areas of 128 slots: CPU 0 has those from 0x10000000, CPU 1 from 0x10040000.
 */
class BounceReplayTest {
    private static final long SLOT = 0x800;
    private static final long AREA_0 = 0x1000_0000L;
    private static final long AREA_1 = 0x1004_0000L;
    private static final long TOO_LARGE = 300_000;
    private static final long FAILED = -1L;

    private final Lines lines = new Lines();

    private Predictions predicted() throws IOException {
        return Predictions.of(Predictions.SMALL_POOL, lines.toString());
    }

    private void assertAll(Map<AddressKind, Long> judged) throws IOException {
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().inLineOrder().judged()).isEqualTo(judged);
        assertThat(prediction.result().inLineOrder().predicted()).isEqualTo(judged);
    }

    private Lines page(long dmaAddr, long physAddr, long sizeBytes) {
        return lines.bounced(NVME, physAddr, sizeBytes).mapPage(NVME, dmaAddr, physAddr, sizeBytes);
    }

    @Test
    void eachCpuTakesSlotsOfItsOwnAreaOneBehindTheOther() throws IOException {
        page(AREA_0, 0x5000, 512);
        page(AREA_0 + SLOT, 0x6000, 2049);
        page(AREA_0 + 3 * SLOT, 0x7000, 8);
        lines.by("fio-8", 1);
        page(AREA_1, 0x8000, 8);
        assertAll(Map.of(AddressKind.PAGE, 4L));
    }

    @Test
    void aSlotThatWasGivenBackComesAgainOnlyWhenTheAreaIsThrough() throws IOException {
        page(AREA_0, 0x5000, 512).unmapPage(NVME, AREA_0, 512);
        page(AREA_0 + 2 * SLOT, 0x5000, 125 * SLOT); // large ones begin on a page
        page(AREA_0 + 127 * SLOT, 0x5000, 512);
        page(AREA_0, 0x5000, 512);
        assertAll(Map.of(AddressKind.PAGE, 4L));
    }

    /** The interrupt's line stands between those of the list, and so does its slot. */
    @Test
    void aListTakesItsSlotsOneByOneWithAnInterruptInBetween() throws IOException {
        lines.bounced(NVME, 0x5000, 512)
                .hardirq()
                .bounced(NIC, 0x9000, 512)
                .mapPage(NIC, AREA_0 + SLOT, 0x9000, 512)
                .back()
                .bounced(NVME, 0x6000, 512)
                .mapSg(NVME, new long[] {AREA_0, AREA_0 + 2 * SLOT}, new long[] {512, 512}, new long[] {0x5000, 0x6000
                });
        page(AREA_0 + 3 * SLOT, 0x7000, 512);
        assertAll(Map.of(AddressKind.PAGE, 2L, AddressKind.SEGMENT, 2L));
    }

    @Test
    void aListsSlotsAreFreeBehindItsUnmapLine() throws IOException {
        lines.bounced(NVME, 0x5000, 64 * SLOT)
                .bounced(NVME, 0x25000, 64 * SLOT)
                .mapSg(NVME, new long[] {AREA_0, AREA_0 + 64 * SLOT}, new long[] {64 * SLOT, 64 * SLOT}, new long[] {
                    0x5000, 0x25000
                })
                .unmapSg(NVME, 0x5000, 0x25000);
        page(AREA_0, 0x5000, 128 * SLOT);
        assertAll(Map.of(AddressKind.PAGE, 1L, AddressKind.SEGMENT, 2L));
    }

    /** The area of the next CPU is tried when the own one is full. */
    @Test
    void aFullAreaSpillsIntoTheNextAndAFullPoolFails() throws IOException {
        page(AREA_0, 0x5000, 128 * SLOT);
        page(AREA_1, 0x5000, 128 * SLOT);
        page(FAILED, 0x5000, 512);
        lines.unmapPage(NVME, AREA_1, 128 * SLOT);
        page(AREA_1, 0x5000, 512);
        assertAll(Map.of(AddressKind.PAGE, 3L, AddressKind.FAILED_PAGE, 1L));
    }

    @Test
    void aListThatFailsGivesItsSlotsBackAtOnceAndLeavesNoLine() throws IOException {
        page(AREA_0, 0x5000, 127 * SLOT);
        lines.bounced(NVME, 0x45000, 512).bounced(NVME, 0x46000, TOO_LARGE);
        page(AREA_0 + 127 * SLOT, 0x47000, 512);
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.predicted(AddressKind.FAILED_LIST)).isEqualTo(1);
        assertThat(prediction.judged(AddressKind.PAGE)).isEqualTo(2);
        assertThat(prediction.result().notJudged()).isEqualTo(Map.of(NotJudged.BOUNCE_OF_FAILED_LIST, 1L));
    }

    @Test
    void aListThatIsTriedAgainFailsOnceAndSucceedsOnce() throws IOException {
        page(AREA_0, 0x5000, 128 * SLOT);
        page(AREA_1, 0x5000, 127 * SLOT);
        lines.bounced(NVME, 0x45000, 512).bounced(NVME, 0x46000, 512);
        lines.hardirq().unmapPage(NVME, AREA_0, 128 * SLOT).back();
        lines.bounced(NVME, 0x45000, 512)
                .bounced(NVME, 0x46000, 512)
                .mapSg(NVME, new long[] {AREA_0, AREA_0 + SLOT}, new long[] {512, 512}, new long[] {0x45000, 0x46000});
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.predicted(AddressKind.FAILED_LIST)).isEqualTo(1);
        assertThat(prediction.predicted(AddressKind.SEGMENT)).isEqualTo(2);
    }

    @Test
    void aListThatFailedOnlyWhenPredictedIsAMissOfEachSegmentAndNoFailedList() throws IOException {
        lines.bounced(NVME, 0x5000, 512)
                .bounced(NVME, 0x6000, TOO_LARGE)
                .bounced(NVME, 0x7000, 512)
                .mapSg(
                        NVME,
                        new long[] {AREA_0, AREA_0 + SLOT, AREA_0 + 2 * SLOT},
                        new long[] {512, TOO_LARGE, 512},
                        new long[] {0x5000, 0x6000, 0x7000});
        Predictions prediction = predicted();
        assertThat(prediction.result().inLineOrder().judged()).isEqualTo(Map.of(AddressKind.SEGMENT, 3L));
        assertThat(prediction.messages())
                .containsExactly(
                        "line 5: fio-7 on CPU 0: 0000:00:04.0: list segment recorded at 0x10000000, predicted no address: failed",
                        "line 5: fio-7 on CPU 0: 0000:00:04.0: list segment recorded at 0x10000800, predicted no address: failed",
                        "line 5: fio-7 on CPU 0: 0000:00:04.0: list segment recorded at 0x10001000, predicted 0x10000800");
    }

    @Test
    void aListThatFailedOnlyWhenRecordedIsAMissAndItsSlotsGoBack() throws IOException {
        page(AREA_0, 0x5000, 127 * SLOT);
        lines.bounced(NVME, 0x45000, 512);
        lines.unmapPage(NVME, AREA_0, 127 * SLOT);
        page(AREA_0, 0x5000, 128 * SLOT);
        Predictions prediction = predicted();
        assertThat(prediction.messages())
                .containsExactly(
                        "line 4: fio-7 on CPU 0: 0000:00:04.0: failed list recorded at no address: failed, predicted"
                                + " 0x1003f800");
        assertThat(prediction.predicted(AddressKind.PAGE)).isEqualTo(2);
    }

    @Test
    void aBounceOfAnotherDeviceShowsThatAListWasLeftBehind() throws IOException {
        lines.bounced(NIC, 0x5000, 512);
        page(AREA_0 + SLOT, 0x6000, 512);
        Predictions prediction = predicted();
        assertThat(prediction.judged(AddressKind.FAILED_LIST)).isEqualTo(1);
        assertThat(prediction.misses()).extracting(Miss::device).containsExactly(NIC);
        assertThat(prediction.predicted(AddressKind.PAGE)).isEqualTo(1);
    }

    @Test
    void aPageThatFailedOnlyWhenRecordedIsAMissAndItsSlotGoesBack() throws IOException {
        page(FAILED, 0x5000, 128 * SLOT);
        page(AREA_0, 0x5000, 128 * SLOT);
        Predictions prediction = predicted();
        assertThat(prediction.messages())
                .containsExactly(
                        "line 3: fio-7 on CPU 0: 0000:00:04.0: failed page recorded at no address: failed, predicted"
                                + " 0x10000000");
        assertThat(prediction.predicted(AddressKind.PAGE)).isEqualTo(1);
    }

    @Test
    void aMissedSlotIsTheOneThatTheUnmapGivesBack() throws IOException {
        page(AREA_0 + SLOT, 0x5000, 128 * SLOT).unmapPage(NVME, AREA_0 + SLOT, 128 * SLOT);
        page(AREA_0, 0x5000, 128 * SLOT);
        Predictions prediction = predicted();
        assertThat(prediction.misses())
                .containsExactly(new Miss(
                        Miss.Order.OF_LINES, 3, "fio-7", 0, NVME, AddressKind.PAGE, AREA_0 + SLOT, AREA_0, ""));
        assertThat(prediction.result().ok()).isFalse();
    }

    @Test
    void withoutForceADeviceBouncesWhereItsRecordedMaskDoesNotReach() throws IOException {
        String log = Predictions.SMALL_POOL.replace(",force", "");
        lines.mapPage(NVME, 0x1_2345_6000L, 0x1_2345_6000L, 512)
                .line("swiotlb_bounced: dev_name: 0000:00:08.0 dma_mask=ffffffff dev_addr=123457000 size=512 NORMAL")
                .mapPage("0000:00:08.0", AREA_0, 0x1_2345_7000L, 512)
                .mapPage("0000:00:08.0", 0x5000, 0x5000, 512);
        Predictions prediction = Predictions.of(log, lines.toString());
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.predicted(AddressKind.PAGE)).isEqualTo(3);
    }

    @Test
    void aMaskOfTheMachineFileCountsMoreThanTheTraces() throws Exception {
        String log = Predictions.SMALL_POOL.replace(",force", "");
        lines.line("swiotlb_bounced: dev_name: 0000:00:08.0 dma_mask=ffffffff dev_addr=123457000 size=512 NORMAL")
                .mapPage("0000:00:08.0", AREA_0, 0x1_2345_7000L, 512);
        MachineSpec spec = MachineSpec.parse("m", "{\"devices\":{\"0000:00:08.0\":{\"maskBits\":40}}}");
        assertThat(Predictions.of(log, lines.toString(), spec).messages())
                .containsExactly(
                        "line 3: fio-7 on CPU 0: 0000:00:08.0: page recorded at 0x10000000, predicted 0x123457000");
    }

    @Test
    void entriesOfAListThatNeedNoBounceAreMappedAtItsLine() throws IOException {
        String log = Predictions.SMALL_POOL.replace(",force", "");
        lines.line("swiotlb_bounced: dev_name: 0000:00:08.0 dma_mask=ffffffff dev_addr=123457000 size=512 NORMAL")
                .mapSg("0000:00:08.0", new long[] {0x5000, AREA_0}, new long[] {512, 512}, new long[] {
                    0x5000, 0x1_2345_7000L
                });
        assertThat(Predictions.of(log, lines.toString()).messages()).isEmpty();
    }

    /** As trace-cmd and perf have it: the interrupt may be in the middle of the list. */
    @Test
    void withoutFlagsNothingThatComesBetweenLeavesAListBehind() throws IOException {
        lines.bounced(NVME, 0x5000, 512)
                .bounced(NIC, 0x9000, 512)
                .mapPage(NIC, AREA_0 + SLOT, 0x9000, 512)
                .unmapPage(NIC, AREA_0 + SLOT, 512)
                .bounced(NVME, 0x6000, 512)
                .mapSg(NVME, new long[] {AREA_0, AREA_0 + 2 * SLOT}, new long[] {512, 512}, new long[] {0x5000, 0x6000
                });
        Predictions prediction =
                Predictions.of(Predictions.SMALL_POOL, lines.toString().replace(" ..... ", " "));
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().inLineOrder().judged())
                .isEqualTo(Map.of(AddressKind.PAGE, 1L, AddressKind.SEGMENT, 2L));
    }

    @Test
    void whatHasNoAddressToPredictIsCounted() throws IOException {
        lines.alloc(NVME, 0x5000, 512)
                .free(NVME, 0x5000, 512)
                .line("dma_map_resource: " + NVME + " dir=TO_DEVICE dma_addr=5000 size=8 phys_addr=5000 attrs=")
                .unmapPage(NVME, 0x7000, 8)
                .unmapSg(NVME, 0x7000)
                .line("dma_sync_single_for_cpu: " + NVME + " dir=TO_DEVICE dma_addr=5000 size=8")
                .map(0x1000, 0x1000, 0x1000)
                .line("dma_map_page: " + NVME + " dir=NONE dma_addr=5000 size=8 phys_addr=5000 attrs=")
                .mapPage(NVME, 0x5000, 0x5000, 0)
                .bounced(NVME, 0x5000, 0)
                .mapSg(NVME, new long[] {0x5000, 0x6000}, new long[] {8, 0}, new long[] {0x5000, 0x6000});
        Predictions prediction = predicted();
        assertThat(prediction.result().inLineOrder().allJudged()).isZero();
        assertThat(prediction.result().ok()).isTrue();
        assertThat(prediction.result().notJudged())
                .isEqualTo(Map.of(
                        NotJudged.ALLOC,
                        1L,
                        NotJudged.OTHER_CALL,
                        1L,
                        NotJudged.UNMAP_WITHOUT_MAP,
                        2L,
                        NotJudged.MAP_WITHOUT_IOMMU,
                        1L,
                        NotJudged.CALL_IS_A_BUG,
                        4L));
    }

    @Test
    void gapsOfLostEventsAreCounted() throws IOException {
        page(AREA_0, 0x5000, 512);
        Predictions prediction = Predictions.of(Predictions.SMALL_POOL, lines + "CPU:1 [LOST 7 EVENTS]\n");
        assertThat(prediction.result().notJudged()).isEqualTo(Map.of(NotJudged.LOST_EVENTS, 1L));
    }

    @Test
    void aBounceWithoutAKnownPoolIsNamed() {
        page(AREA_0, 0x5000, 512);
        assertThatThrownBy(() -> Predictions.of("nr_cpu_ids:2 \n", lines.toString()))
                .isInstanceOf(MachineFactsException.class)
                .hasMessage("line 2: a bounce, and neither boot log nor machine file tell where the pool lies "
                        + "(\"software IO TLB: mapped\"; swiotlb.start and swiotlb.slots)");
    }

    @Test
    void aCpuThatTheMachineLacksIsNamed() {
        lines.by("fio-7", 2);
        page(AREA_0, 0x5000, 512);
        assertThatThrownBy(this::predicted)
                .isInstanceOf(MachineFactsException.class)
                .hasMessage(
                        "line 2: CPU 2 is none of the 2 that boot log or machine file tell of (\"nr_cpu_ids\"; cpus)");
    }

    @Test
    void timersOfAMachineWithoutAFlushQueueAreRefused() throws IOException {
        page(AREA_0, 0x5000, 512);
        try (FlushTimers timers = FlushTimers.open(Predictions.stream("x\n"), "timers");
                io.pagewalk.trace.TraceReader reader =
                        io.pagewalk.trace.TraceReader.open(Predictions.stream(lines.toString()), "trace")) {
            assertThatThrownBy(() -> Predictions.run(
                            reader, Predictions.log(Predictions.SMALL_POOL), MachineSpec.DEFAULT, timers))
                    .isInstanceOf(MachineFactsException.class)
                    .hasMessage(
                            "timers: of no use: what gave out the addresses is swiotlb, every mapping bounced, and has no "
                                    + "flush queue");
        }
    }
}
