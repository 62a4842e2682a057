package io.pagewalk.trace.workload;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.workload.TraceText.Assembled;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Lengths of lists that an IOMMU merged. */
class SgLengthsTest {
    private static final String NVME = "0000:00:04.0";
    private static final String TO = "TO_DEVICE";

    private static TraceReader recorded() throws IOException {
        InputStream sample = SgLengthsTest.class.getResourceAsStream("lists-strict.txt.gz");
        return TraceReader.open(Objects.requireNonNull(sample), "lists-strict.txt.gz");
    }

    @Test
    void everyRecordedListIsRebuiltAndItsLengthsAddUp() throws IOException {
        List<Long> recordedSums = new java.util.ArrayList<>();
        try (TraceReader reader = recorded()) {
            for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
                if (event instanceof SgEvent.MapSg list) {
                    assertThat(list.fullNents()).isGreaterThan(list.fullEnts());
                    recordedSums.add(Arrays.stream(list.lengths()).sum());
                }
            }
        }
        Assembled got = Assembled.of(recorded());
        List<Operation.Map> lists = got.maps().stream()
                .filter(map -> map.kind() == Operation.Kind.SG)
                .toList();
        assertThat(lists).hasSizeGreaterThanOrEqualTo(10);
        assertThat(lists).extracting(Operation.Map::sizeBytes).isEqualTo(recordedSums);
        assertThat(lists).allSatisfy(list -> assertThat(list.lengthsBytes()).doesNotContain(0));
        assertThat(got.anomalies().of(Anomaly.NOT_REPLAYABLE_LIST)).isZero();
    }

    @Test
    void segmentsStartWhereTheirPagesLieAndTheLastGetsTheRest() {
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x2000)
                .iommuMap(0xffff_2000L, 0x9000, 0x1000)
                .iommuMap(0xffff_3000L, 0x1_0000, 0x3000)
                .mapSg(NVME, TO, new long[] {0xffff_0200L}, new long[] {0x5700}, new long[] {
                    0x5200, 0x9000, 0x1_0000, 0x1_1000
                })
                .unmapSg(NVME, TO, 0x5200, 0x9000, 0x1_0000, 0x1_1000)
                .assemble();
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(0x1e00, 0x1000, 0x1000, 0x1900);
        assertThat(got.unmaps()).hasSize(1);
        assertThat(got.anomalies().snapshot()).isEmpty();
    }

    @Test
    void twoDmaSegmentsOfOneRangeEachEndWithARest() {
        // the first segment ends in the middle of a page, so the second starts a DMA segment (iommu:SG-15)
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x9000, 0x1000)
                .iommuMap(0xffff_2000L, 0x1_0000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L, 0xffff_1200L}, new long[] {0x800, 0x1000}, new long[] {
                    0x5000, 0x9200, 0x1_0000
                })
                .assemble();
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(0x800, 0xe00, 0x200);
    }

    @Test
    void withoutMapLinesAMergedListIsNamedAndSoIsNotItsUnmap() {
        Assembled got = new TraceText()
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .unmapSg(NVME, TO, 0x5000, 0x9000)
                .assemble();
        assertThat(got.operations()).isEmpty();
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.NOT_REPLAYABLE_LIST, 1L));
        assertThat(got.assembler().liveCount()).isZero();
    }

    @Test
    void mapLinesLostInPartMakeAListNotReplayable() {
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .raw("CPU:0 [LOST 1 EVENTS]")
                .iommuMap(0xffff_1000L, 0x9000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .assemble();
        assertThat(got.anomalies().of(Anomaly.NOT_REPLAYABLE_LIST)).isEqualTo(1);
    }

    @Test
    void mapLinesThatContradictTheListAreNotGuessedAt() {
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x7000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x7000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x1800}, new long[] {0x5000})
                .assemble();
        assertThat(got.anomalies().of(Anomaly.NOT_REPLAYABLE_LIST)).isEqualTo(1);
        // one segment, one DMA segment: nothing to rebuild, whatever the lines say
        assertThat(got.maps())
                .singleElement()
                .satisfies(map -> assertThat(map.lengthsBytes()).containsExactly(0x1800));
    }

    @Test
    void anInterruptWithTheSameAddressesOnAnotherDeviceTakesItsOwnLines() {
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .flags("..h1.")
                .iommuMap(0xffff_0000L, 0x2_0000, 0x1000)
                .mapPage("0000:00:08.0", "FROM_DEVICE", 0xffff_0000L, 2048, 0x2_0000)
                .flags(".....")
                .iommuMap(0xffff_1000L, 0x9000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .assemble();
        assertThat(got.maps().get(1).lengthsBytes()).containsExactly(0x1000, 0x1000);
    }

    @Test
    void aTaskThatWasMovedToAnotherCpuFindsItsLines() {
        Assembled got = new TraceText()
                .on("fio-326", 0)
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x9000, 0x1000)
                .on("fio-326", 1)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .assemble();
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(0x1000, 0x1000);
    }

    @Test
    void onePageThatStandsTwiceInAListIsFoundTwice() {
        Assembled got = new TraceText()
                .iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x5000, 0x1000)
                .iommuMap(0xffff_2000L, 0x5000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2400}, new long[] {0x5000, 0x5000, 0x5000})
                .assemble();
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(0x1000, 0x1000, 0x400);
    }

    @Test
    void linesThatNobodyClaimsStayBounded() {
        TraceText text = new TraceText();
        for (int i = 0; i < 20_000; i++) {
            text.iommuMap(0x1000_0000L + i * 0x1000L, 0x5000, 0x1000);
        }
        Assembled got = text.iommuMap(0xffff_0000L, 0x5000, 0x1000)
                .iommuMap(0xffff_1000L, 0x9000, 0x1000)
                .mapSg(NVME, TO, new long[] {0xffff_0000L}, new long[] {0x2000}, new long[] {0x5000, 0x9000})
                .assemble();
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(0x1000, 0x1000);
    }
}
