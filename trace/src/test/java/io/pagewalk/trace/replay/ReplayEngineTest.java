package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.FailureReason;
import io.pagewalk.trace.replay.DeviceInfo.MaskSource;
import io.pagewalk.trace.replay.ReplayResult.Content;
import io.pagewalk.trace.workload.Anomaly;
import io.pagewalk.trace.workload.TraceText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Replays of traces of a few lines. */
class ReplayEngineTest {
    private static final String NVME = "0000:00:04.0";
    private static final String NIC = "0000:00:08.0";
    private static final String TO = "TO_DEVICE";
    private static final String FROM = "FROM_DEVICE";
    private static final String BOTH = "BIDIRECTIONAL";
    private static final long HIGH = 0x1_2345_6000L;

    private static TraceText page(String direction, long physAddr, long sizeBytes) {
        return new TraceText()
                .mapPage(NVME, direction, physAddr, sizeBytes, physAddr)
                .unmapPage(NVME, direction, physAddr, sizeBytes);
    }

    @Test
    void everyByteOfAPageIsComparedInFullAndItsEdgesOtherwise() {
        for (String backend : Replays.soundBackends()) {
            Tally edges = Replays.on(backend, page(TO, HIGH + 7, 5000)).total();
            assertThat(edges.bytesVerified()).as(backend).isEqualTo(2 * Touch.EDGE_BYTES);
            assertThat(edges.verifiedMaps()).isEqualTo(1);
            Tally full = Replays.on(backend, page(FROM, HIGH + 7, 5000), Replays.UNTIMED.withTouch(Touch.FULL))
                    .total();
            assertThat(full.bytesVerified()).as(backend).isEqualTo(5000);
            assertThat(full.bytesMapped()).isEqualTo(5000);
        }
    }

    @Test
    void bothWaysMeansComparedBothWays() {
        for (String backend : Replays.soundBackends()) {
            Tally tally = Replays.on(backend, page(BOTH, HIGH, 100)).total();
            assertThat(tally.bytesVerified()).as(backend).isEqualTo(200);
        }
    }

    @Test
    void listsOfOddPiecesArriveWholeOnEveryBackend() {
        long[] phys = {HIGH + 0x200, 0x5000_0000L, 0x5000_1000L, 0x7000_0010L, HIGH + 0x9000};
        long[] sizes = {0xe00, 0x1000, 0x2000, 0x33, 1};
        for (String direction : List.of(TO, FROM, BOTH)) {
            TraceText text =
                    new TraceText().mapSg(NVME, direction, phys, sizes, phys).unmapSg(NVME, direction, phys);
            for (String backend : Replays.soundBackends()) {
                BackendResult result = Replays.on(backend, text, Replays.UNTIMED.withTouch(Touch.FULL));
                assertThat(result.firstMismatches()).as(backend).isEmpty();
                assertThat(result.total().verifiedMaps()).isEqualTo(1);
                long times = direction.equals(BOTH) ? 2 : 1;
                assertThat(result.total().bytesVerified()).isEqualTo(times * (0xe00 + 0x1000 + 0x2000 + 0x33 + 1));
            }
        }
    }

    @Test
    void overlappingLiveMappingsAreNoMismatch() {
        TraceText text = new TraceText()
                .mapPage(NVME, FROM, HIGH, 4096, HIGH)
                .mapPage(NVME, TO, HIGH, 4096, HIGH)
                .mapPage(NIC, BOTH, HIGH + 64, 2048, HIGH + 64)
                .unmapPage(NVME, FROM, HIGH, 4096)
                .unmapPage(NIC, BOTH, HIGH + 64, 2048)
                .unmapPage(NVME, TO, HIGH, 4096);
        for (Touch touch : Touch.values()) {
            ReplayResult result = Replays.of(text, sound().withTouch(touch));
            assertThat(result.backends()).allSatisfy(backend -> {
                assertThat(backend.firstMismatches()).as(backend.name()).isEmpty();
                assertThat(backend.total().verifiedMaps()).isEqualTo(3);
            });
        }
    }

    private static ReplayOptions sound() {
        return Replays.UNTIMED.withBackends(Replays.soundBackends());
    }

    @Test
    void aSyncMovesItsPartBothWays() {
        TraceText text = new TraceText()
                .mapPage(NIC, BOTH, HIGH, 8192, HIGH)
                .sync("cpu", NIC, BOTH, HIGH + 256, 512)
                .sync("device", NIC, BOTH, HIGH + 8000, 100)
                .unmapPage(NIC, BOTH, HIGH, 8192);
        for (BackendResult backend : Replays.of(text, sound()).backends()) {
            assertThat(backend.firstMismatches()).as(backend.name()).isEmpty();
            assertThat(backend.total().syncs()).isEqualTo(2);
            assertThat(backend.total().bytesVerified()).isEqualTo(128 + 128 + 100 + 128);
        }
    }

    @Test
    void anUnmapWithoutSyncIsNotReadBack() {
        TraceText text = new TraceText()
                .mapPage(NIC, FROM, HIGH, 2048, HIGH)
                .event("dma_unmap_page: " + NIC + " dir=FROM_DEVICE dma_addr=" + Long.toHexString(HIGH)
                        + " size=2048 attrs=SKIP_CPU_SYNC");
        for (BackendResult backend : Replays.of(text, sound()).backends()) {
            assertThat(backend.ok()).as(backend.name()).isTrue();
            assertThat(backend.total().bytesVerified()).isZero();
            assertThat(backend.total().verifiedMaps()).isEqualTo(1);
        }
    }

    @Test
    void whatTheTraceDoesNotEndIsStillLive() {
        TraceText text = page(TO, HIGH, 64)
                .mapPage(NVME, TO, HIGH, 64, HIGH)
                .mapPage(NIC, TO, HIGH, 64, HIGH)
                .alloc(NIC, 0xfe000, 4096);
        for (BackendResult backend : Replays.of(text, sound()).backends()) {
            assertThat(backend.total().mapsTried()).isEqualTo(3);
            assertThat(backend.total().stillLive()).isEqualTo(2);
            assertThat(backend.byDevice())
                    .hasEntrySatisfying(
                            NVME, nvme -> assertThat(nvme.stillLive()).isEqualTo(1));
            assertThat(backend.byDevice())
                    .hasEntrySatisfying(
                            NIC, nic -> assertThat(nic.allocsStillLive()).isEqualTo(1));
            assertThat(backend.total().verifiedMaps()).isEqualTo(1);
        }
    }

    @Test
    void aMapThatFailedWhenRecordedIsTriedAndUnmappedAtOnce() {
        TraceText text = new TraceText().mapPage(NVME, FROM, -1L, 4096, HIGH);
        for (BackendResult backend : Replays.of(text, sound()).backends()) {
            assertThat(backend.total().recordedFailuresTried()).isEqualTo(1);
            assertThat(backend.total().verifiedMaps()).isEqualTo(1);
            assertThat(backend.total().stillLive()).isZero();
        }
    }

    @Test
    void onForcedSwiotlbMoreThan256KiBInOnePieceFailsAndALongerListDoesNot() {
        long[] phys = new long[8];
        long[] sizes = new long[8];
        for (int i = 0; i < phys.length; i++) {
            phys[i] = HIGH + i * 0x10_0000L;
            sizes[i] = 256 << 10;
        }
        long[] tooLong = {256 << 10, (256 << 10) + 1};
        long[] two = {HIGH, HIGH + 0x10_0000L};
        TraceText text = page(TO, HIGH, 256 << 10)
                .mapPage(NVME, TO, HIGH, (256 << 10) + 1, HIGH)
                .unmapPage(NVME, TO, HIGH, (256 << 10) + 1)
                .mapSg(NVME, TO, phys, sizes, phys)
                .unmapSg(NVME, TO, phys)
                .mapSg(NVME, FROM, two, tooLong, two)
                .unmapSg(NVME, FROM, two);
        BackendResult result = Replays.on("swiotlb", text);
        assertThat(result.total().failuresByReason()).isEqualTo(Map.of(FailureReason.EXCEEDS_MAX_MAPPING, 2L));
        assertThat(result.total().verifiedMaps()).isEqualTo(2);
        assertThat(result.ok()).isTrue();
    }

    @Test
    void aCoherentAllocationIsSeenAlikeFromBothSides() {
        TraceText text = new TraceText()
                .alloc(NVME, 0xfe000, 24)
                .alloc(NVME, 0xfd000, 70_000)
                .alloc(NVME, 0, 512)
                .free(NVME, 0xfd000, 70_000)
                .free(NVME, 0xfe000, 24);
        for (BackendResult backend : Replays.of(text, sound()).backends()) {
            assertThat(backend.ok()).as(backend.name()).isTrue();
            assertThat(backend.total().allocsTried()).isEqualTo(3);
            assertThat(backend.total().frees()).isEqualTo(3);
            assertThat(backend.total().mapsTried()).isZero();
        }
    }

    @Test
    void masksComeFromTheFileThenFromTheTraceThenAreAssumed() throws MachineSpecException {
        MachineSpec spec = MachineSpec.parse("m.json", "{\"devices\": {\"" + NVME + "\": {\"maskBits\": 44}}}");
        TraceText text = new TraceText()
                .bounced(NVME, -1L, HIGH, 64)
                .mapPage(NVME, TO, 0x7000, 64, HIGH)
                .alloc(NIC, 0xfe000, 64)
                .bounced(NIC, 0xffff_ffffL, HIGH, 64)
                .mapPage(NIC, TO, 0x8000, 64, HIGH)
                .mapPage("0000:00:09.0", TO, 0x8000, 64, HIGH);
        ReplayResult result = Replays.of(text, sound().withMachine(spec));
        assertThat(result.devices())
                .containsExactly(
                        new DeviceInfo(NVME, (1L << 44) - 1, MaskSource.MACHINE_FILE),
                        new DeviceInfo(NIC, 0xffff_ffffL, MaskSource.TRACE),
                        new DeviceInfo("0000:00:09.0", -1L, MaskSource.ASSUMED));
        Map<String, Tally> direct = result.backends().get(0).byDevice();
        assertThat(direct.keySet()).containsExactly(NVME, NIC, "0000:00:09.0");
    }

    @Test
    void aCpuThatTheMachineLacksIsReplacedAndCounted() {
        TraceText text = new TraceText().on("fio-1", 5).mapPage(NVME, TO, HIGH, 64, HIGH);
        ReplayResult result = Replays.of(text, sound());
        assertThat(result.cpus()).isEqualTo(2);
        assertThat(result.anomalies()).isEqualTo(Map.of(Anomaly.CPU_BEYOND_MACHINE, 1L));
    }

    @Test
    void theTracesHeaderTellsTheCpusUnlessTheMachineFileDoes() throws MachineSpecException {
        TraceText tracefs = new TraceText()
                .raw("# entries-in-buffer/entries-written: 1/1   #P:600")
                .on("fio-1", 599)
                .mapPage(NVME, TO, HIGH, 64, HIGH);
        ReplayResult result = Replays.of(tracefs, sound());
        assertThat(result.cpus()).isEqualTo(600);
        assertThat(result.anomalies()).isEmpty();
        assertThat(result.ok()).isTrue();
        TraceText traceCmd = new TraceText().raw("cpus=3").flags("").mapPage(NVME, TO, HIGH, 64, HIGH);
        assertThat(Replays.of(traceCmd, sound()).cpus()).isEqualTo(3);
        MachineSpec four = MachineSpec.parse("m.json", "{\"cpus\": 4}");
        assertThat(Replays.of(traceCmd, sound().withMachine(four)).cpus()).isEqualTo(4);
    }

    @Test
    void iommuEventsAloneAreNamed() {
        ReplayResult result = Replays.of(new TraceText().iommuMap(0, 0, 4096), sound());
        assertThat(result.content()).isEqualTo(Content.IOMMU_EVENTS_ONLY);
        assertThat(result.content().label()).contains("nothing to replay");
        assertThat(result.backends()).allSatisfy(b -> assertThat(b.total()).isEqualTo(Tally.ZERO));
        TraceText bounces = new TraceText().bounced(NVME, -1L, HIGH, 64);
        assertThat(Replays.of(bounces, sound()).content()).isEqualTo(Content.NO_DMA_EVENTS);
    }

    @Test
    void anAddressInTheHoleOrBeyondTheTopIsANamedError() {
        assertThatThrownBy(() -> Replays.on("direct", page(TO, 0xc000_0100L, 64)))
                .isInstanceOf(AddressCollisionException.class)
                .hasMessageContaining("line 1: " + NVME + " maps physical")
                .hasMessageContaining("0xc0000100")
                .hasMessageContaining("bounce pool")
                .hasMessageContaining("\"holes\"");
        assertThatThrownBy(() -> Replays.on("direct", page(TO, 0xc400_0000L, 64)))
                .hasMessageContaining("its own pages");
        assertThatThrownBy(() -> Replays.on("direct", page(TO, 0xfe00_0000L, 64)))
                .hasMessageContaining("there is no RAM");
        assertThatThrownBy(() -> Replays.on("direct", page(TO, 0xbfff_fff0L, 64)))
                .isInstanceOf(AddressCollisionException.class);
        assertThatThrownBy(() -> Replays.on("direct", page(TO, (4L << 40) - 32, 64)))
                .hasMessageContaining("beyond the top of RAM 0x3ffffffffff")
                .hasMessageContaining("\"ramTop\"");
        assertThat(Replays.on("direct", page(TO, 0x1_0000_0000L, 64)).ok()).isTrue();
        assertThat(Replays.on("direct", page(TO, (4L << 40) - 64, 64)).ok()).isTrue();
    }

    @Test
    void timesAreOfEveryCallOrOfNone() {
        ReplayResult timed = Replays.of(page(TO, HIGH, 64), ReplayOptions.DEFAULT.withBackends(List.of("direct")));
        Latency map = Objects.requireNonNull(timed.backends().get(0).mapTime());
        assertThat(map.count()).isEqualTo(1);
        assertThat(map.medianNanos()).isPositive().isLessThanOrEqualTo(map.maxNanos());
        assertThat(timed.timerCostNanos()).isPositive();
        ReplayResult untimed = Replays.of(page(TO, HIGH, 64), sound());
        assertThat(untimed.backends()).allSatisfy(b -> assertThat(b.mapTime()).isNull());
        assertThat(untimed.timerCostNanos()).isZero();
    }

    @Test
    void aReplayMayStopEarly() {
        ReplayResult result = Replays.of(page(TO, HIGH, 64), sound().withMaxEvents(1));
        assertThat(result.backends().get(0).total().stillLive()).isEqualTo(1);
    }

    @Test
    void progressEndsWithAllEvents() {
        List<Long> heard = new ArrayList<>();
        TraceText text = new TraceText();
        for (int i = 0; i < 5000; i++) {
            text.mapPage(NVME, TO, HIGH, 8, HIGH).unmapPage(NVME, TO, HIGH, 8);
        }
        Replays.of(text, sound().withProgress((events, bytesRead, totalBytes) -> heard.add(events)));
        assertThat(heard).endsWith(10_000L).hasSizeGreaterThan(2).isSorted();
    }

    @Test
    void anUnknownBackendIsRefusedWithAListOfThoseThereAre() {
        assertThatThrownBy(() -> Replays.on("nonesuch", page(TO, HIGH, 64)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nonesuch")
                .hasMessageContaining("swiotlb");
    }
}
