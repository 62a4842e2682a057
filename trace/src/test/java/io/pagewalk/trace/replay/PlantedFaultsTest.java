package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.spi.Metric;
import io.pagewalk.trace.workload.TraceText;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A replay finds what is wrong with a backend, one that it has never heard of included. */
class PlantedFaultsTest {
    private static final String NVME = "0000:00:04.0";
    private static final long PHYS = 0x1_2345_6000L;

    private static TraceText pageAndList() {
        long[] list = {PHYS + 0x1_0000, PHYS + 0x2_0000};
        long[] sizes = {4096, 1024};
        return new TraceText()
                .mapPage(NVME, "FROM_DEVICE", PHYS, 4096, PHYS)
                .unmapPage(NVME, "FROM_DEVICE", PHYS, 4096)
                .mapSg(NVME, "FROM_DEVICE", list, sizes, list)
                .unmapSg(NVME, "FROM_DEVICE", list)
                .mapPage(NVME, "TO_DEVICE", PHYS, 512, PHYS)
                .unmapPage(NVME, "TO_DEVICE", PHYS, 512);
    }

    private static BackendResult on(String backend) {
        BackendResult result = Replays.on(backend, pageAndList());
        assertThat(result.total().mapsTried()).isEqualTo(3);
        assertThat(Replays.accountedFor(result.total())).isEqualTo(3);
        return result;
    }

    @Test
    void aBackendOnTheClassPathTakesPartAndReportsItsMetrics() {
        BackendResult result = on(PlantedProvider.SOUND);
        assertThat(result.ok()).isTrue();
        assertThat(result.summary()).isEqualTo("dma-direct as it is");
        assertThat(result.metrics()).isEqualTo(Map.of(Metric.FLUSHES, 42L));
        assertThat(result.total().staleReads()).isEqualTo(3);
    }

    @Test
    void oneWrongByteIsFound() {
        BackendResult result = on(PlantedProvider.CORRUPTS);
        assertThat(result.ok()).isFalse();
        assertThat(result.total().mismatchedMaps()).isEqualTo(2);
        assertThat(result.total().verifiedMaps()).isEqualTo(1);
        assertThat(result.total().mismatchedBytes()).isEqualTo(2);
        assertThat(result.firstMismatches().get(0))
                .contains("line 1: " + NVME + " PAGE FROM_DEVICE of 4096 bytes")
                .contains("the CPU reads 1 of 64 bytes wrong")
                .contains("0x123456fff");
    }

    @Test
    void aWrongPageIsFoundBothWays() {
        BackendResult result = on(PlantedProvider.WRONG_PAGE);
        assertThat(result.ok()).isFalse();
        assertThat(result.total().mismatchedMaps()).isEqualTo(2);
        assertThat(result.total().verifiedMaps()).isEqualTo(1);
        assertThat(result.firstMismatches()).anyMatch(m -> m.contains("the device reads"));
    }

    @Test
    void aFaultWhileMappedIsAMismatchWithItsReason() {
        BackendResult result = on(PlantedProvider.FAULTS);
        assertThat(result.total().mismatchedMaps()).isEqualTo(1);
        assertThat(result.total().faults()).isEqualTo(2);
        assertThat(result.total().mismatchedBytes()).isEqualTo(128);
        assertThat(result.total().blockedReads()).isEqualTo(3);
        assertThat(result.firstMismatches().get(0)).contains("line 5").contains("planted");
    }

    @Test
    void aSegmentThatTheDeviceHasNoAddressForIsFound() {
        BackendResult result = on(PlantedProvider.SHORT_LIST);
        assertThat(result.total().mismatchedMaps()).isEqualTo(1);
        assertThat(result.firstMismatches()).anyMatch(m -> m.contains("no DMA segment for physical 0x123476000"));
    }

    @Test
    void aPromiseToBlockThatIsNotKeptIsAViolation() {
        BackendResult result = on(PlantedProvider.STALE);
        assertThat(result.total().mismatchedMaps()).isZero();
        assertThat(result.ok()).isFalse();
        assertThat(result.violations())
                .singleElement()
                .asString()
                .contains("3 device reads after an unmap got through")
                .contains("line 1: " + NVME);
    }

    @Test
    void aBrokenStructureIsAViolation() {
        BackendResult result = on(PlantedProvider.BROKEN);
        assertThat(result.violations()).containsExactly("slot 3 is free and in use");
        assertThat(result.ok()).isFalse();
    }
}
