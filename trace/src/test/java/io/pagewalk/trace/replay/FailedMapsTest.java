package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.FailureReason;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.workload.TraceText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Why maps failed, with the state of the pool at those moments. */
class FailedMapsTest {
    @TempDir
    Path folder;

    private MachineSpec machine(String json) throws IOException, MachineSpecException {
        return MachineSpec.read(Files.writeString(folder.resolve("machine.json"), json));
    }

    private BackendResult recorded() throws IOException, MachineSpecException {
        InputStream trace =
                Objects.requireNonNull(FailedMapsTest.class.getResourceAsStream("/traces/trace-fail.txt.gz"));
        ReplayOptions options = Replays.UNTIMED
                .withBackends(List.of("swiotlb"))
                .withMachine(machine("{\"swiotlb\": {\"slots\": 512}}"));
        return Replays.of(TraceReader.open(trace, "trace-fail"), options)
                .backends()
                .get(0);
    }

    @Test
    void theRecordedPoolOfFiveHundredTwelveSlotsFailsForTwoReasons() throws IOException, MachineSpecException {
        BackendResult result = recorded();

        assertThat(result.failures())
                .extracting(group -> group.reason() + " " + group.sizeBytes() + " " + group.count())
                .containsExactly(
                        "POOL_FULL 258048 352",
                        "POOL_FULL 131072 320",
                        "POOL_FULL 4096 211",
                        "POOL_FULL 65536 137",
                        "POOL_FULL 16384 8",
                        "POOL_FULL 69632 2",
                        "POOL_FRAGMENTED 65536 18",
                        "POOL_FRAGMENTED 131072 11",
                        "POOL_FRAGMENTED 4096 4");
        assertThat(result.failures().stream().mapToLong(FailureGroup::count).sum())
                .isEqualTo(result.total().failed());
    }

    @Test
    void eachGroupTellsTheLargestFreeRunAtThoseMoments() throws IOException, MachineSpecException {
        List<FailureGroup> groups = recorded().failures();

        FailureGroup largest = groups.get(0);
        assertThat(largest.numbers())
                .containsExactly(
                        new FailureGroup.Range(126, 126),
                        new FailureGroup.Range(0, 126),
                        new FailureGroup.Range(0, 120),
                        new FailureGroup.Range(512, 512));
        assertThat(largest.firstLine()).isEqualTo(562);
        assertThat(largest.firstDevice()).isEqualTo("0000:00:04.0");
        assertThat(largest.first().numbers()).containsExactly(126L, 0L, 0L, 512L);
        FailureGroup fragmented = groups.get(6);
        assertThat(fragmented.numbers().get(1)).isEqualTo(new FailureGroup.Range(32, 54));
        assertThat(fragmented.numbers().get(2)).isEqualTo(new FailureGroup.Range(22, 30));
    }

    @Test
    void nothingFailedMeansNoGroups() {
        TraceText text = new TraceText();
        text.mapPage("0000:00:04.0", "TO_DEVICE", 0x1000, 4096, 0x10_0000);

        assertThat(Replays.on("direct", text).failures()).isEmpty();
    }

    @Test
    void sizesBeyondThoseKeptApartStandTogether() {
        TraceText text = new TraceText();
        for (int i = 0; i < FailureBook.MOST_SIZES + 5; i++) {
            long size = (1 << 20) + 512L * (i % (FailureBook.MOST_SIZES + 2));
            text.mapPage("0000:00:04.0", "TO_DEVICE", -1L, size, 0x1000_0000L);
        }

        List<FailureGroup> groups = Replays.on("swiotlb", text).failures();

        assertThat(groups).hasSize(FailureBook.MOST_SIZES + 1);
        assertThat(groups).allMatch(group -> group.reason() == FailureReason.EXCEEDS_MAX_MAPPING);
        FailureGroup others = groups.stream()
                .filter(group -> group.sizeBytes() == FailureBook.OTHER_SIZES)
                .findFirst()
                .orElseThrow();
        assertThat(others.count()).isEqualTo(2);
        long first = (1 << 20) + 512L * FailureBook.MOST_SIZES;
        assertThat(others.numbers().get(0)).isEqualTo(new FailureGroup.Range(first, first + 512));
        assertThat(groups.get(0).count()).as("the commonest first").isEqualTo(2);
        assertThat(groups.get(0).sizeBytes()).as("of equals the smallest").isEqualTo(1 << 20);
    }
}
