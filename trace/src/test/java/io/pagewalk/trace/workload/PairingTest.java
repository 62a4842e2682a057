package io.pagewalk.trace.workload;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.workload.TraceText.Assembled;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which end belongs to which start, on traces of a few lines. */
class PairingTest {
    private static final String NVME = "0000:00:04.0";
    private static final String E1000 = "0000:00:08.0";
    private static final String TO = "TO_DEVICE";
    private static final String FROM = "FROM_DEVICE";

    @Test
    void aPageIsUnmappedByDeviceAndAddress() {
        Assembled got = new TraceText()
                .on("fio-326", 1)
                .mapPage(NVME, TO, 0x7000, 512, 0x10_0000_7000L)
                .mapPage(E1000, FROM, 0x7000, 512, 0x2000)
                .unmapPage(E1000, FROM, 0x7000, 512)
                .unmapPage(NVME, TO, 0x7000, 512)
                .assemble();
        Operation.Map nvme = got.maps().get(0);
        assertThat(nvme.origin()).isEqualTo(new Origin(1, 1, 4_000_001_000L));
        assertThat(nvme.physAddrs()).containsExactly(0x10_0000_7000L);
        assertThat(nvme.lengthsBytes()).containsExactly(512);
        assertThat(nvme.direction()).isEqualTo(DmaDirection.TO_DEVICE);
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(1L, 0L);
        assertThat(got.anomalies().snapshot()).isEmpty();
        assertThat(got.assembler().liveCount()).isZero();
    }

    @Test
    void ofSeveralAtOneAddressTheOldestOfTheSameSizeAndDirectionEndsFirst() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x7000)
                .mapPage(NVME, TO, 0x7000, 4096, 0x7000)
                .mapPage(NVME, FROM, 0x7000, 4096, 0x7000)
                .mapPage(NVME, TO, 0x7000, 4096, 0x7000)
                .unmapPage(NVME, TO, 0x7000, 4096)
                .unmapPage(NVME, TO, 0x7000, 4096)
                .unmapPage(NVME, FROM, 0x7000, 4096)
                .unmapPage(NVME, TO, 0x7000, 512)
                .assemble();
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(1L, 3L, 2L, 0L);
        assertThat(got.anomalies().snapshot()).isEmpty();
    }

    @Test
    void anUnmapThatFitsNoneEndsTheOldestAndIsCounted() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x7000)
                .mapPage(NVME, TO, 0x7000, 4096, 0x7000)
                .unmapPage(NVME, TO, 0x7000, 64)
                .assemble();
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(0L);
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.UNMAP_DIFFERS_FROM_MAP, 1L));
        assertThat(got.assembler().liveCount()).isEqualTo(1);
    }

    @Test
    void anUnmapOfNothingIsCountedAndLeftOut() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x7000)
                .unmapPage(NVME, TO, 0x8000, 512)
                .unmapPage(E1000, TO, 0x7000, 512)
                .unmapSg(NVME, TO, 0x7000)
                .assemble();
        assertThat(got.unmaps()).isEmpty();
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.UNMAP_WITHOUT_MAP, 3L));
    }

    @Test
    void aListIsUnmappedByDeviceDirectionAndPhysicalAddresses() {
        long[] sizes = {4096, 512};
        long[] one = {0x1000, 0x3000};
        long[] other = {0x1000, 0x5000};
        Assembled got = new TraceText()
                .mapSg(NVME, TO, one, sizes, one)
                .mapSg(NVME, FROM, one, sizes, one)
                .mapSg(NVME, TO, other, sizes, other)
                .mapSg(NVME, TO, one, sizes, one)
                .unmapSg(NVME, TO, 0x1000, 0x5000)
                .unmapSg(NVME, FROM, 0x1000, 0x3000)
                .unmapSg(NVME, TO, 0x1000, 0x3000)
                .unmapSg(NVME, TO, 0x1000, 0x3000)
                .unmapSg(NVME, TO, 0x1000, 0x3000)
                .assemble();
        assertThat(got.maps().get(0).kind()).isEqualTo(Operation.Kind.SG);
        assertThat(got.maps().get(0).lengthsBytes()).containsExactly(4096, 512);
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(2L, 1L, 0L, 3L);
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.UNMAP_WITHOUT_MAP, 1L));
    }

    @Test
    void aPageThatFailedIsToBeTriedAndNeverEnds() {
        Assembled got = new TraceText().mapPage(NVME, TO, -1L, 4096, 0x9000).assemble();
        assertThat(got.maps()).singleElement().matches(Operation.Map::failedWhenRecorded);
        assertThat(got.assembler().liveCount()).isZero();
    }

    @Test
    void aSyncFindsTheMappingThatHoldsItsAddress() {
        Assembled got = new TraceText()
                .mapPage(E1000, FROM, 0x10000, 8192, 0x55_0000)
                .mapPage(E1000, FROM, 0x11f00, 16, 0x66_0000)
                .sync("cpu", E1000, FROM, 0x11ff0, 16)
                .sync("device", E1000, FROM, 0x10040, 64)
                .sync("cpu", E1000, FROM, 0x11ff8, 16)
                .sync("cpu", NVME, FROM, 0x10000, 16)
                .assemble();
        Operation.SyncForCpu forCpu = got.all(Operation.SyncForCpu.class).get(0);
        assertThat(forCpu.id()).isZero();
        assertThat(forCpu.offsetBytes()).isEqualTo(0x1ff0);
        assertThat(forCpu.sizeBytes()).isEqualTo(16);
        assertThat(got.all(Operation.SyncForDevice.class))
                .singleElement()
                .extracting(Operation.SyncForDevice::offsetBytes)
                .isEqualTo(0x40L);
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.SYNC_WITHOUT_MAP, 2L));
    }

    @Test
    void allocationsPairByAddress() {
        Assembled got = new TraceText()
                .alloc(NVME, 0xfe000, 512)
                .alloc(NVME, 0xfd000, 65536)
                .alloc(NVME, 0, 4096)
                .free(NVME, 0xfe000, 512)
                .free(NVME, 0xfe000, 512)
                .free(NVME, 0xfd000, 65536)
                .assemble();
        assertThat(got.all(Operation.Alloc.class))
                .extracting(Operation.Alloc::sizeBytes)
                .containsExactly(512L, 65536L, 4096L);
        assertThat(got.all(Operation.Alloc.class))
                .extracting(Operation.Alloc::failedWhenRecorded)
                .containsExactly(false, false, true);
        assertThat(got.all(Operation.Free.class)).extracting(Operation.Free::id).containsExactly(0L, 1L);
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.FREE_WITHOUT_ALLOC, 1L));
    }

    @Test
    void aFreeOfNothingIsNoAnomaly() {
        Assembled got = new TraceText().free(NVME, 0, 0).assemble();
        assertThat(got.operations()).isEmpty();
        assertThat(got.anomalies().snapshot()).isEmpty();
    }

    @Test
    void anAddressHandedOutAgainAfterAGapImpliesTheLostUnmap() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x99_0000)
                .raw("CPU:0 [LOST 17 EVENTS]")
                .mapPage(NVME, FROM, 0x7000, 4096, 0x55_0000)
                .unmapPage(NVME, FROM, 0x7000, 4096)
                .assemble();
        assertThat(got.unmaps()).hasSize(2);
        assertThat(got.unmaps().get(0).implied()).isTrue();
        assertThat(got.unmaps().get(0).id()).isZero();
        assertThat(got.operations().indexOf(got.unmaps().get(0)))
                .isLessThan(got.operations().indexOf(got.maps().get(1)));
        assertThat(got.anomalies().snapshot())
                .isEqualTo(Map.of(Anomaly.LOST_EVENTS_GAP, 1L, Anomaly.IMPLIED_UNMAP, 1L));
        assertThat(got.assembler().liveCount()).isZero();
    }

    @Test
    void anAllocationHandedOutAgainAfterAGapImpliesTheLostFree() {
        Assembled got = new TraceText()
                .alloc(NVME, 0xfe000, 512)
                .raw("CPU:0 [LOST EVENTS]")
                .mapPage(NVME, TO, 0xfe000, 512, 0x99_0000)
                .assemble();
        assertThat(got.all(Operation.Free.class)).singleElement().matches(Operation.Free::implied);
    }

    @Test
    void onDmaDirectOnlyALikeMappingIsTakenForTheLostOne() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x7000)
                .mapPage(NVME, TO, 0x7000, 4096, 0x7000)
                .raw("CPU:0 [LOST 17 EVENTS]")
                .mapPage(NVME, TO, 0x7000, 4096, 0x7000)
                .assemble();
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(1L);
        assertThat(got.assembler().liveCount()).isEqualTo(2);
    }

    @Test
    void withoutAGapTheUnmapLineMayComeAfterTheMapThatGotItsAddress() {
        Assembled got = new TraceText()
                .mapPage(NVME, TO, 0x7000, 512, 0x99_0000)
                .mapPage(NVME, TO, 0x7000, 512, 0x55_0000)
                .unmapPage(NVME, TO, 0x7000, 512)
                .unmapPage(NVME, TO, 0x7000, 512)
                .assemble();
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(0L, 1L);
        assertThat(got.anomalies().snapshot()).isEmpty();
    }

    @Test
    void aThirdMapOfATranslatedAddressImpliesALostUnmapEvenWithoutAGap() {
        TraceText text = new TraceText();
        for (int i = 0; i < 5; i++) {
            text.mapPage(NVME, TO, 0x7000, 512, 0x99_0000);
        }
        Assembled got = text.assemble();
        assertThat(got.unmaps()).extracting(Operation.Unmap::id).containsExactly(0L, 1L, 2L);
        assertThat(got.assembler().liveCount()).isEqualTo(2);
    }

    @Test
    void aTruncatedListIsNamedAndSoIsNotItsUnmap() {
        Assembled got = new TraceText()
                .event("dma_map_sg: " + NVME + " dir=TO_DEVICE nents=2/4 ents=2/4 [TRUNCATED] "
                        + "dma_addrs={0x1000,0x3000} sizes={0x1000,0x1000} phys_addrs={0x1000,0x3000} attrs=")
                .unmapSg(NVME, TO, 0x1000, 0x3000, 0x5000, 0x7000)
                .assemble();
        assertThat(got.operations()).isEmpty();
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.TRUNCATED_LIST, 1L));
        assertThat(got.assembler().liveCount()).isZero();
    }

    @Test
    void aMaskIsLearnedBeforeTheMapInWhichItShowsAndOnlyOnce() {
        Assembled got = new TraceText()
                .bounced(E1000, 0xffff_ffffL, 0x1_0000_0000L, 64)
                .mapPage(E1000, TO, 0x7000, 64, 0x1_0000_0000L)
                .bounced(E1000, 0xffff_ffffL, 0x1_0000_0000L, 64)
                .assemble();
        assertThat(got.operations().get(0))
                .isEqualTo(new Operation.LearnedMask(new Origin(1, 0, 4_000_001_000L), E1000, 0xffff_ffffL));
        assertThat(got.all(Operation.LearnedMask.class)).hasSize(1);
    }

    @Test
    void eventsOfOtherKindsAreCounted() {
        Assembled got = new TraceText()
                .event("dma_map_resource: 0000:00:04.0 dir=TO_DEVICE dma_addr=1000 size=64 phys_addr=fe000000 attrs=")
                .assemble();
        assertThat(got.anomalies().snapshot()).isEqualTo(Map.of(Anomaly.NOT_REPLAYED_CALL, 1L));
    }
}
