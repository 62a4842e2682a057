package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NIC;
import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Calls behind an IOMMU, whose addresses count down from 4 GiB past the windows of the host bridge, and of which each
 * CPU keeps a stack.
 */
class IommuPairingTest {
    private static final long PAGE = 0x1000;
    private static final long TOP = 0xffff_f000L;

    private final Lines lines = new Lines();

    private Predictions predicted() throws IOException {
        return Predictions.of(Predictions.STRICT, lines.toString());
    }

    private Predictions assertAll(Map<AddressKind, Long> judged) throws IOException {
        Predictions prediction = predicted();
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.moves()).isEmpty();
        assertThat(prediction.result().inLineOrder().judged()).isEqualTo(judged);
        assertThat(prediction.result().deciding().predicted()).isEqualTo(judged);
        return prediction;
    }

    private Lines page(String device, long iova, long physAddr) {
        return lines.map(iova, physAddr, PAGE).mapPage(device, iova + 0x200, physAddr + 0x200, 512);
    }

    private Lines unmapPage(String device, long iova) {
        return lines.unmap(iova, PAGE).unmapPage(device, iova + 0x200, 512);
    }

    @Test
    void addressesCountDownAndTheLastOneGivenBackComesFirst() throws IOException {
        page(NVME, TOP, 0x5000);
        page(NVME, TOP - PAGE, 0x6000);
        unmapPage(NVME, TOP);
        unmapPage(NVME, TOP - PAGE);
        page(NVME, TOP - PAGE, 0x7000);
        page(NVME, TOP, 0x8000);
        assertThat(assertAll(Map.of(AddressKind.PAGE, 4L)).result().notJudged()).isEmpty();
    }

    @Test
    void everyDeviceHasAddressesOfItsOwnAndEveryCpuAStackOfItsOwn() throws IOException {
        page(NVME, TOP, 0x5000);
        page(NIC, TOP, 0x6000);
        unmapPage(NVME, TOP);
        lines.by("fio-8", 1);
        page(NVME, TOP - PAGE, 0x5000);
        unmapPage(NVME, TOP - PAGE);
        lines.by("fio-7", 0);
        page(NVME, TOP, 0x5000);
        assertAll(Map.of(AddressKind.PAGE, 4L));
    }

    /** The moment of an allocation is its first line, whatever an interrupt does before its last. */
    @Test
    void anInterruptPutsACompleteOtherAllocationInTheMiddleOfAList() throws IOException {
        lines.map(TOP - PAGE, 0x5000, PAGE).hardirq();
        page(NIC, TOP - PAGE + PAGE, 0x9000);
        page(NVME, TOP - 2 * PAGE, 0xa000);
        lines.back()
                .map(TOP, 0x7000, PAGE)
                .mapSg(NVME, new long[] {TOP - PAGE}, new long[] {2 * PAGE}, new long[] {0x5000, 0x7000});
        assertAll(Map.of(AddressKind.PAGE, 2L, AddressKind.LIST, 1L));
    }

    @Test
    void anInterruptMayMapTheVerySameAddressesOfAnotherDevice() throws IOException {
        lines.map(TOP, 0x5000, PAGE).hardirq();
        page(NIC, TOP, 0x9000);
        lines.back().mapPage(NVME, TOP, 0x5000, PAGE);
        assertAll(Map.of(AddressKind.PAGE, 2L));
    }

    /** Of two lists alike the unmap line tells which one is gone. */
    @Test
    void aListIsTheOneThatStartsWhereItsUnmapLineDoes() throws IOException {
        long[] entries = {0x5000, 0x7000};
        long[] size = {2 * PAGE};
        lines.map(TOP - PAGE, 0x5000, PAGE).map(TOP, 0x7000, PAGE);
        lines.mapSg(NVME, new long[] {TOP - PAGE}, size, entries);
        lines.map(TOP - 3 * PAGE, 0x5000, PAGE).map(TOP - 2 * PAGE, 0x7000, PAGE);
        lines.mapSg(NVME, new long[] {TOP - 3 * PAGE}, size, entries);
        lines.unmapSg(NVME, entries).unmap(TOP - 3 * PAGE, 2 * PAGE);
        lines.map(TOP - 3 * PAGE, 0x5000, PAGE).map(TOP - 2 * PAGE, 0x7000, PAGE);
        lines.mapSg(NVME, new long[] {TOP - 3 * PAGE}, size, entries);
        lines.unmapSg(NVME, entries).unmap(TOP - PAGE, 2 * PAGE);
        lines.map(TOP - PAGE, 0x5000, PAGE).map(TOP, 0x7000, PAGE);
        lines.mapSg(NVME, new long[] {TOP - PAGE}, size, entries);
        assertAll(Map.of(AddressKind.LIST, 4L));
    }

    /** dma_free is written before the work: an interrupt may come before its unmap line. */
    @Test
    void coherentMemoryIsGivenBackAtItsUnmapLineOnTheCpuThatFrees() throws IOException {
        lines.map(TOP, 0x5000, PAGE).alloc(NVME, TOP, 24);
        lines.by("fio-8", 1).free(NVME, TOP, 24).hardirq();
        page(NVME, TOP - PAGE, 0x7000);
        lines.back().unmap(TOP, PAGE);
        page(NVME, TOP, 0x8000);
        assertAll(Map.of(AddressKind.PAGE, 2L, AddressKind.COHERENT, 1L));
    }

    @Test
    void withoutIommuEventsCallsAreMadeAtTheirOwnLines() throws IOException {
        lines.mapPage(NVME, TOP, 0x5000, 512)
                .mapSg(NVME, new long[] {TOP - PAGE}, new long[] {512}, new long[] {0x6000})
                .alloc(NVME, TOP - 2 * PAGE, 512)
                .unmapSg(NVME, 0x6000)
                .unmapPage(NVME, TOP, 512)
                .mapPage(NVME, TOP, 0x5000, 512)
                .mapPage(NVME, TOP - PAGE, 0x5000, 512)
                .free(NVME, TOP - 2 * PAGE, 512)
                .mapPage(NVME, TOP - 2 * PAGE, 0x5000, 512)
                .mapPage(NVME, TOP - 3 * PAGE, 0x5000, 512);
        Predictions prediction =
                assertAll(Map.of(AddressKind.PAGE, 5L, AddressKind.LIST, 1L, AddressKind.COHERENT, 1L));
        assertThat(prediction.result().notJudged()).isEqualTo(Map.of(NotJudged.CALL_WITHOUT_MAP, 7L));
    }

    @Test
    void aMappingOfNobodyIsNoAllocation() throws IOException {
        lines.by("init-1", 1).map(0, 0, 16 << 20).line("attach_device_to_domain: IOMMU: device=0000:00:1f.0");
        lines.by("fio-7", 0);
        page(NVME, TOP, 0x5000);
        Predictions prediction = assertAll(Map.of(AddressKind.PAGE, 1L));
        assertThat(prediction.result().notJudged()).isEqualTo(Map.of(NotJudged.MAP_WITHOUT_CALL, 1L));
    }

    @Test
    void linesOfNobodyThatNothingFollowsDoNotHoldUpTheRest() throws IOException {
        lines.by("vfio-9", 1).map(0x10000, 0, PAGE).unmap(0x10000, PAGE).by("fio-7", 0);
        page(NVME, TOP, 0x5000);
        assertAll(Map.of(AddressKind.PAGE, 1L));
    }

    @Test
    void whatHasNoAddressToPredictIsCounted() throws IOException {
        lines.free(NVME, 0, 0)
                .free(NVME, TOP, 8)
                .unmap(TOP, PAGE)
                .unmapPage(NVME, TOP, 8)
                .unmapSg(NVME, 0x5000)
                .line("dma_map_page: " + NVME + " dir=NONE dma_addr=5000 size=8 phys_addr=5000 attrs=")
                .mapSg(NVME, new long[] {0x5000, 0x6000}, new long[] {8, 0}, new long[] {0x5000, 0x6000})
                .alloc(NVME, TOP, 0)
                .alloc(NVME, -1L, 8)
                .line("dma_sync_single_for_cpu: " + NVME + " dir=TO_DEVICE dma_addr=5000 size=8")
                .line("dma_map_resource: " + NVME + " dir=TO_DEVICE dma_addr=5000 size=8 phys_addr=5000 attrs=");
        Predictions prediction = Predictions.of(Predictions.STRICT, lines + "CPU:1 [LOST 7 EVENTS]\n");
        assertThat(prediction.result().inLineOrder().allJudged()).isZero();
        assertThat(prediction.result().notJudged())
                .isEqualTo(Map.of(
                        NotJudged.UNMAP_WITHOUT_MAP,
                        3L,
                        NotJudged.CALL_IS_A_BUG,
                        3L,
                        NotJudged.OTHER_CALL,
                        2L,
                        NotJudged.LOST_EVENTS,
                        1L));
    }

    @Test
    void aMappingThatFailedOnlyWhenRecordedIsAMissAndGivesItsAddressBack() throws IOException {
        lines.mapPage(NVME, -1L, 0x5000, 512);
        page(NVME, TOP, 0x5000);
        Predictions prediction = predicted();
        assertThat(prediction.messages())
                .contains("line 2: fio-7 on CPU 0: 0000:00:04.0: failed page recorded at no address: failed, predicted"
                        + " 0xfffff000");
        assertThat(prediction.judged(AddressKind.FAILED_PAGE)).isEqualTo(1);
        assertThat(prediction.predicted(AddressKind.FAILED_PAGE)).isZero();
        assertThat(prediction.predicted(AddressKind.PAGE)).isEqualTo(1);
    }

    @Test
    void aListWhoseSegmentsDifferIsAMissEvenWhereItsStartIsRight() throws IOException {
        lines.map(TOP - PAGE, 0x5000, PAGE)
                .map(TOP, 0x7000, PAGE)
                .mapSg(NVME, new long[] {TOP - PAGE, TOP}, new long[] {PAGE, PAGE}, new long[] {0x5000, 0x7000});
        assertThat(predicted().messages())
                .contains(
                        "line 4: fio-7 on CPU 0: 0000:00:04.0: list recorded at 0xffffe000: the list's segments differ: 2 "
                                + "recorded, 1 predicted");
    }

    /** More entries than the kernel prints: lengths are not known, but the range is. */
    @Test
    void aTruncatedListTakesAsManyPagesAsItsRangeAndEndsWithAllItsEntries() throws IOException {
        lines.map(TOP - 3 * PAGE, 0x5000, 4 * PAGE)
                .line("dma_map_sg: " + NVME + " dir=TO_DEVICE nents=1/3 ents=1/1 [TRUNCATED] dma_addrs={0xffffc000} "
                        + "sizes={0x3000} phys_addrs={0x5000} attrs=");
        String wrong = lines.toString();
        assertThat(Predictions.of(Predictions.STRICT, wrong).result().notJudged())
                .containsEntry(NotJudged.CALL_WITHOUT_MAP, 1L);
        Lines right = new Lines()
                .map(TOP - 3 * PAGE, 0x5000, 3 * PAGE)
                .line("dma_map_sg: " + NVME + " dir=TO_DEVICE nents=1/3 ents=1/1 [TRUNCATED] dma_addrs={0xffffc000} "
                        + "sizes={0x3000} phys_addrs={0x5000} attrs=")
                .unmapSg(NVME, 0x5000, 0x6000, 0x7000)
                .unmap(TOP - 3 * PAGE, 3 * PAGE);
        Predictions prediction = Predictions.of(Predictions.STRICT, right.toString());
        assertThat(prediction.messages()).isEmpty();
        assertThat(prediction.result().notJudged()).isEmpty();
    }

    @Test
    void afterAMissTheMachineIsSetRightSoThatNoFurtherOneFollows() throws IOException {
        for (int i = 0; i < 4; i++) {
            page(NVME, TOP - i * PAGE, 0x5000);
        }
        for (int i = 0; i < 4; i++) {
            unmapPage(NVME, TOP - i * PAGE);
        }
        page(NVME, TOP - PAGE, 0x5000); // the stack has it third from above
        page(NVME, TOP - 3 * PAGE, 0x5000);
        page(NVME, TOP - 2 * PAGE, 0x5000);
        page(NVME, TOP, 0x5000);
        Predictions prediction = predicted();
        assertThat(prediction.misses())
                .extracting(Miss::order, Miss::recorded, Miss::predicted)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(
                                Miss.Order.OF_LINES, TOP - PAGE + 0x200, TOP - 3 * PAGE + 0x200),
                        org.assertj.core.groups.Tuple.tuple(
                                Miss.Order.OVERLAPPED_MOVED, TOP - PAGE + 0x200, TOP - 3 * PAGE + 0x200));
        assertThat(prediction.result().ok()).isFalse();
    }

    @Test
    void anAddressThatNeverComesIsGivenUp() throws IOException {
        page(NVME, 0x10_0000, 0x5000);
        page(NVME, TOP - PAGE, 0x5000);
        unmapPage(NVME, TOP - PAGE);
        unmapPage(NVME, 0x10_0000);
        Predictions prediction = predicted();
        assertThat(prediction.judged(AddressKind.PAGE)).isEqualTo(2);
        assertThat(prediction.misses().get(0).recorded()).isEqualTo(0x10_0200L);
        assertThat(prediction.misses().get(0).predicted()).isEqualTo(TOP + 0x200);
    }
}
