package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The main job, as a newcomer runs it: no argument, every backend, the trace that comes with the command. */
class CompareBundledTraceTest {
    @TempDir
    static Path folder;

    private static Ran ran;
    private static JsonNode json;

    @BeforeAll
    static void compare() throws Exception {
        Path file = folder.resolve("result.json");
        ran = Ran.pagewalk("compare", "--per-device", "--json", file.toString());
        json = new ObjectMapper().readTree(Files.readString(file));
    }

    @Test
    void fiveBackendsReplayItWithoutAMismatch() {
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).contains("No mismatch.");
        assertThat(names()).containsExactly("direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt");
        assertThat(ran.row("mismatched")).containsExactly("0", "0", "0", "0", "0");
    }

    private static List<String> names() {
        return json.get("backends").findValuesAsText("name");
    }

    @Test
    void verifiedMismatchedFailedAndStillLiveAddUpToMapsTried() {
        for (JsonNode backend : json.get("backends")) {
            JsonNode total = backend.get("total");
            long failed = sum(total.get("failuresByReason"));
            long ended = total.get("verifiedMaps").asLong()
                    + total.get("mismatchedMaps").asLong();
            assertThat(ended + failed + total.get("stillLive").asLong())
                    .as(backend.get("name").asText())
                    .isEqualTo(9147 + 405)
                    .isEqualTo(total.get("mapsTried").asLong());
        }
    }

    private static long sum(JsonNode counts) {
        long sum = 0;
        for (JsonNode count : counts) {
            sum += count.asLong();
        }
        return sum;
    }

    @Test
    void onlyWhatIsLargerThanASetOfSlotsFailsWhenAllIsBounced() {
        JsonNode swiotlb = json.get("backends").get(1).get("total");
        assertThat(swiotlb.get("failuresByReason").get("EXCEEDS_MAX_MAPPING").asLong())
                .isEqualTo(65 + 4);
        assertThat(swiotlb.get("failuresByReason")).hasSize(1);
        for (int other : new int[] {0, 2, 3, 4}) {
            assertThat(json.get("backends").get(other).get("total").get("failuresByReason"))
                    .isEmpty();
        }
    }

    @Test
    void theNaturalBouncesPeakWhereTheRecordedPoolDid() {
        // io_tlb_used_hiwater of the recording boot was 289 slots.
        assertThat(json.get("backends")
                        .get(0)
                        .get("metrics")
                        .get("POOL_PEAK_SLOTS")
                        .asLong())
                .isEqualTo(289);
    }

    @Test
    void anUnmappedAddressIsBlockedAtOnceOnTheStrictIommuOnly() {
        JsonNode strict = json.get("backends").get(2).get("total");
        assertThat(strict.get("staleReads").asLong()).isZero();
        assertThat(strict.get("blockedReads").asLong()).isEqualTo(9552);
        JsonNode lazy = json.get("backends").get(3).get("total");
        assertThat(lazy.get("staleReads").asLong()).isPositive();
        assertThat(lazy.get("staleReads").asLong() + lazy.get("blockedReads").asLong())
                .isEqualTo(9552);
    }

    @Test
    void theDevicesOfABackendAddUpToItsTotal() {
        for (JsonNode backend : json.get("backends")) {
            for (String field :
                    List.of("mapsTried", "mapsDone", "unmaps", "bytesMapped", "verifiedMaps", "bytesVerified")) {
                long sum = 0;
                for (JsonNode device : backend.get("byDevice")) {
                    sum += device.get(field).asLong();
                }
                assertThat(sum)
                        .as(field)
                        .isEqualTo(backend.get("total").get(field).asLong());
            }
        }
    }

    @Test
    void eachDeviceHasItsOwnTableAndItsMaskWithWhereItIsKnownFrom() {
        assertThat(ran.out())
                .contains("== 0000:00:04.0", "== 0000:00:05.0", "== 0000:00:07.0", "== 0000:00:08.0")
                .contains("0000:00:08.0, DMA mask 0xffffffff (from trace)")
                .contains("0000:00:04.0, DMA mask 0xffffffffffffffff (assumed)");
    }

    @Test
    void everyRowOfTheTableIsExplainedInTheHelp() {
        String help = Ran.pagewalk("compare", "--help").out();
        List<String> labels = ran.out()
                .lines()
                .filter(l -> l.startsWith("  ") && !l.isBlank())
                .map(l -> l.strip().split("\\s{2,}", 2)[0])
                .filter(l -> !l.equals("direct"))
                .distinct()
                .toList();
        assertThat(labels).hasSizeGreaterThan(30);
        assertThat(labels)
                .allSatisfy(label ->
                        assertThat(help).containsPattern("(?m)^ +" + java.util.regex.Pattern.quote(label) + " "));
    }

    @Test
    void theTimersOwnCostIsStatedWithTheTimes() {
        assertThat(ran.out()).containsPattern("two readings of the timer take [0-9,]+ ns");
        assertThat(ran.row("map median"))
                .hasSize(5)
                .allSatisfy(cell -> assertThat(cell).endsWith(" ns"));
    }
}
