package io.pagewalk.trace;

import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.IommuEvent.GroupChange;
import java.io.IOException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Recorded lines of each format and what they say, written out by hand. */
class DecodedFieldsTest {
    private static final String NVME = "0000:00:04.0";
    private static final String AHCI = "0000:00:1f.2";
    private static final String E1000 = "0000:00:08.0";
    private static final long NO_WARN = 1L << 8;

    @Test
    void tracefsLinesCarryFlagsAndMicroseconds() throws IOException {
        assertThat(Traces.eventAt(Traces.FAIL, 14))
                .isEqualTo(new DmaEvent.CoherentAlloc(
                        new TraceHeader(14, "kworker/u8:2", 37, 1, ".....", 6_786_201_000L),
                        NVME,
                        0x15a0dd000L,
                        512,
                        0));
        assertThat(Traces.eventAt(Traces.FAIL, 16))
                .isEqualTo(new TraceEvent.SwiotlbBounced(
                        new TraceHeader(16, "kworker/u8:2", 37, 1, ".....", 6_794_086_000L),
                        NVME,
                        -1L,
                        0x10fa4b000L,
                        4096,
                        true));
        assertThat(Traces.eventAt(Traces.FAIL, 18))
                .isEqualTo(new DmaEvent.UnmapPage(
                        new TraceHeader(18, "<idle>", 0, 0, "..s1.", 6_795_259_000L),
                        NVME,
                        FROM_DEVICE,
                        0x7e5da000L,
                        4096,
                        0));
    }

    @Test
    void allOnesIsAFailedMapping() throws IOException {
        assertThat(Traces.eventAt(Traces.FAIL, 562))
                .isEqualTo(new DmaEvent.MapPage(
                        new TraceHeader(562, "fio", 326, 0, ".....", 10_227_990_000L),
                        NVME,
                        TO_DEVICE,
                        -1L,
                        258048,
                        0x11016f000L,
                        0));
    }

    @Test
    void attributesAreTheKernelsBits() throws IOException {
        assertThat(Traces.eventAt(Traces.FAIL, 65))
                .isEqualTo(new DmaEvent.CoherentAlloc(
                        new TraceHeader(65, "modprobe", 186, 0, ".....", 6_961_303_000L),
                        "0000:00:05.0",
                        0x15a760000L,
                        6726,
                        NO_WARN));
    }

    @Test
    void tracefsPrintsListsInHexadecimal() throws IOException {
        assertThat(Traces.eventAt(Traces.FAIL, 443))
                .isEqualTo(new SgEvent.MapSg(
                        new TraceHeader(443, "fio", 326, 0, ".....", 10_213_493_000L),
                        NVME,
                        FROM_DEVICE,
                        new long[] {0x10f5ce000L, 0x110600000L},
                        new long[] {0x7e59a000L, 0x7e5cc000L},
                        new long[] {0x32000, 0xd000},
                        2,
                        2,
                        false,
                        NO_WARN));
        assertThat(Traces.eventAt(Traces.PIPE_LOST, 61))
                .isEqualTo(new SgEvent.UnmapSg(
                        new TraceHeader(61, "scsi_eh_0", 184, 1, "d.h2.", 4_279_096_000L),
                        AHCI,
                        FROM_DEVICE,
                        new long[] {0x10269a8c0L},
                        0));
    }

    @Test
    void aCutListKeepsTheRealCountsAndItsUnmapIsWhole() throws IOException {
        SgEvent.MapSg map = (SgEvent.MapSg) Traces.eventAt(Traces.TRUNCATED, 535);
        assertThat(map.truncated()).isTrue();
        assertThat(map.fullNents()).isEqualTo(168);
        assertThat(map.fullEnts()).isEqualTo(168);
        assertThat(map.physAddrs()).hasSize(128).startsWith(0x108405000L, 0x105bfc000L, 0x105b2a000L);
        assertThat(map.dmaAddrs()).isEqualTo(map.physAddrs());
        assertThat(map.lengths()).hasSize(128).startsWith(0x1000, 0x2000, 0x1000);
        SgEvent.UnmapSg unmap = (SgEvent.UnmapSg) Traces.eventAt(Traces.TRUNCATED, 536);
        assertThat(unmap.physAddrs()).hasSize(168);
        assertThat(LongStream.of(unmap.physAddrs()).limit(128))
                .isEqualTo(LongStream.of(map.physAddrs()).boxed().toList());
    }

    @Test
    void iommuEventsHaveNoDevice() throws IOException {
        assertThat(Traces.eventAt(Traces.PERF_STRICT, 1))
                .isEqualTo(new IommuEvent.IommuMap(
                        new TraceHeader(1, "kworker/u8:1-ev", 31, 0, "", 3_670_574_000L),
                        0xfffff000L,
                        0x105951000L,
                        4096));
        assertThat(Traces.eventAt(Traces.PERF_STRICT, 7))
                .isEqualTo(new IommuEvent.IommuUnmap(
                        new TraceHeader(7, "swapper", 0, 1, "", 3_676_914_000L), 0xffffd000L, 4096, 4096));
        assertThat(Traces.eventAt(Traces.IOMMU_ONLY, 24))
                .isEqualTo(new IommuEvent.IommuMap(
                        new TraceHeader(24, "swapper/0", 1, 0, ".....", 1_661_856_000L), 0, 0, 16 << 20));
    }

    @Test
    void devicesComeToGroupsAndDomainsAndGo() throws IOException {
        assertThat(Traces.eventAt(Traces.IOMMU_ONLY, 14))
                .isEqualTo(new IommuEvent.DeviceGroup(
                        new TraceHeader(14, "swapper/0", 1, 0, ".....", 1_641_712_000L), NVME, 1, GroupChange.ADD));
        assertThat(Traces.eventAt(Traces.IOMMU_ONLY, 21))
                .isEqualTo(new IommuEvent.DeviceGroup(
                        new TraceHeader(21, "swapper/0", 1, 0, ".....", 1_645_693_000L),
                        NVME,
                        IommuEvent.DeviceGroup.NO_GROUP,
                        GroupChange.ATTACH));
        assertThat(Traces.eventAt(Traces.PERF_STRICT, 3123))
                .isEqualTo(new IommuEvent.DeviceGroup(
                        new TraceHeader(3123, "sh", 271, 0, "", 11_880_467_000L), E1000, 3, GroupChange.REMOVE));
        assertThat(Traces.eventAt(Traces.REPORT_STRICT, 3122))
                .isEqualTo(new IommuEvent.DeviceGroup(
                        new TraceHeader(3122, "sh", 270, 1, "", 14_076_522_000L), E1000, 3, GroupChange.REMOVE));
    }

    @Test
    void perfListsAreBytesInMemoryOrder() throws IOException {
        assertThat(Traces.eventAt(Traces.PERF_DIRECT, 43))
                .isEqualTo(new SgEvent.MapSg(
                        new TraceHeader(43, "kthreadd", 167, 0, "", 4_456_549_000L),
                        AHCI,
                        FROM_DEVICE,
                        new long[] {0x105d1a8c0L},
                        new long[] {0x105d1a8c0L},
                        new long[] {512},
                        1,
                        1,
                        false,
                        0));
        assertThat(Traces.eventAt(Traces.PERF_DIRECT, 44))
                .isEqualTo(new SgEvent.UnmapSg(
                        new TraceHeader(44, "swapper", 0, 1, "", 4_460_121_000L),
                        AHCI,
                        FROM_DEVICE,
                        new long[] {0x105d1a8c0L},
                        0));
    }

    @Test
    void perfSyncsHaveNoAttributes() throws IOException {
        assertThat(Traces.eventAt(Traces.PERF_DIRECT, 1103))
                .isEqualTo(new DmaEvent.SyncSingle(
                        new TraceHeader(1103, "swapper", 0, 0, "", 10_087_777_000L),
                        E1000,
                        FROM_DEVICE,
                        0x76200000L,
                        68,
                        true));
    }

    @Test
    void rawListsCarryNoTagButTheSameBytes() throws IOException {
        assertThat(Traces.eventAt(Traces.RAW_SWIOTLB, 61))
                .isEqualTo(new SgEvent.MapSg(
                        new TraceHeader(61, "scsi_eh_0", 168, 1, "", 5_462_057_000L),
                        AHCI,
                        FROM_DEVICE,
                        new long[] {0x101a528c0L},
                        new long[] {0x7cbc4000L},
                        new long[] {512},
                        1,
                        1,
                        false,
                        0));
        assertThat(Traces.eventAt(Traces.RAW_SWIOTLB, 62))
                .isEqualTo(new SgEvent.UnmapSg(
                        new TraceHeader(62, "scsi_eh_0", 168, 1, "", 5_462_700_000L),
                        AHCI,
                        FROM_DEVICE,
                        new long[] {0x101a528c0L},
                        0));
    }

    @Test
    void aMarkIsTheTextThatUserSpaceWrote() throws IOException {
        assertThat(Traces.eventAt(Traces.FAIL, 13))
                .isEqualTo(new TraceEvent.Mark(
                        new TraceHeader(13, "init", 1, 1, ".....", 6_621_805_000L), "ora: modprobe nvme"));
        assertThat(Traces.eventAt(Traces.REPORT_STRICT, 2))
                .isEqualTo(new TraceEvent.Mark(
                        new TraceHeader(2, "sh", 155, 0, "", 5_215_063_000L), "ora: modprobe nvme"));
        assertThat(Traces.eventAt(Traces.RAW_SWIOTLB, 2))
                .isEqualTo(new TraceEvent.Mark(
                        new TraceHeader(2, "sh", 158, 1, "", 4_712_151_000L), "ora: modprobe nvme"));
    }

    @Test
    void aFreeOfNothingHasAddressAndSizeZero() throws IOException {
        String line = "              sh-453     [000] .....    19.336571: dma_free: 0000:00:04.0 dir=BIDIRECTIONAL"
                + " dma_addr=0 size=0 virt_addr=0000000000000000 attrs=";
        assertThat(Traces.parse(line))
                .isEqualTo(new DmaEvent.CoherentFree(
                        new TraceHeader(1, "sh", 453, 0, ".....", 19_336_571_000L), NVME, 0, 0, 0));
        String report = "              sh-258   [000]    13.120659: dma_free:             0000:00:04.0"
                + " dir=BIDIRECTIONAL dma_addr=0 size=0 virt_addr=(nil) attrs=";
        assertThat(Traces.parse(report))
                .isEqualTo(new DmaEvent.CoherentFree(
                        new TraceHeader(1, "sh", 258, 0, "", 13_120_659_000L), NVME, 0, 0, 0));
    }
}
