package io.pagewalk.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.conformance.adapter.PendingList;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The vectors that come with the project: every line, and no failure among them. */
class ShippedVectorsTest {
    private static ConformanceResult result;
    private static long lastProgress;

    @BeforeAll
    static void replay() throws UnusableVectorsException {
        result = ConformanceRun.of(VectorFiles.shipped(), 20, (file, lines) -> lastProgress = lines);
    }

    private static Map<String, Long> byFamily(Function<FamilyResult, Long> number) {
        return result.families().stream()
                .collect(Collectors.toMap(FamilyResult::name, number, (a, b) -> a, TreeMap::new));
    }

    @Test
    void nothingFails() {
        assertThat(result.disagreements()).isEmpty();
        assertThat(result.failures()).isZero();
        assertThat(result.ok()).isTrue();
        assertThat(byFamily(FamilyResult::failed).values()).containsOnly(0L);
    }

    @Test
    void everyLineOfEveryFamilyIsReplayed() {
        assertThat(byFamily(FamilyResult::lines))
                .containsExactlyEntriesOf(new TreeMap<>(Map.ofEntries(
                        Map.entry("swiotlb", 11_721L),
                        Map.entry("direct", 3_028L),
                        Map.entry("masks", 318L),
                        Map.entry("iommu_masks", 106L),
                        Map.entry("edu", 50L),
                        Map.entry("iova", 232L),
                        Map.entry("iommu_map_sg", 2_576L),
                        Map.entry("iommu_live", 4_151L),
                        Map.entry("iommu_untrusted", 421L),
                        Map.entry("iommu_fq", 6L),
                        Map.entry("iommu_api", 204L),
                        Map.entry("sg", 832L),
                        Map.entry("umem", 1_281L),
                        Map.entry("rdma-rxe", 1_042L),
                        Map.entry("cost", 28L))));
        assertThat(lastProgress).isEqualTo(25_996);
    }

    @Test
    void eachLinePassesIsPendingOrHasNothingToCheck() {
        assertThat(result.families())
                .allSatisfy(f -> assertThat(f.passed() + f.pending() + f.unchecked())
                        .as(f.name())
                        .isEqualTo(f.lines()));
        assertThat(byFamily(FamilyResult::pending))
                .containsEntry("edu", 0L)
                .containsEntry("umem", 0L)
                .containsEntry("rdma-rxe", 0L);
        assertThat(result.families().stream().mapToLong(FamilyResult::pending).sum())
                .isEqualTo(result.pending().stream()
                        .mapToLong(PendingResult::lines)
                        .sum());
        assertThat(byFamily(FamilyResult::unchecked)).containsEntry("cost", 24L);
        assertThat(result.families().stream().mapToLong(FamilyResult::unchecked).sum())
                .isEqualTo(24);
    }

    @Test
    void valuesAreCheckedExactlyWhereverTheyCanBe() {
        assertThat(byFamily(FamilyResult::exact))
                .containsEntry("swiotlb", 60_440L)
                .containsEntry("iova", 107_483L)
                .containsEntry("iommu_live", 17_691L)
                .containsEntry("sg", 160_499L)
                .containsEntry("umem", 67_345L)
                .containsEntry("rdma-rxe", 10_258L);
        assertThat(byFamily(FamilyResult::byRule))
                .containsEntry("swiotlb", 732L)
                .containsEntry("direct", 4_828L)
                .containsEntry("edu", 95L)
                .containsEntry("rdma-rxe", 818L)
                .containsEntry("iova", 0L);
        assertThat(result.families())
                .allSatisfy(f -> assertThat(f.kinds().values().stream()
                                .mapToLong(Long::longValue)
                                .sum())
                        .as(f.name())
                        .isEqualTo(f.informative()));
    }

    @Test
    void whatVerbsDoNotDecideIsCountedByItsKind() {
        assertThat(result.families().stream()
                        .filter(f -> f.name().equals("rdma-rxe"))
                        .findFirst()
                        .orElseThrow()
                        .kinds())
                .isEqualTo(Map.of(
                        "key", 818L, "no_events", 137L, "user_library", 28L, "other_limit", 39L, "recording", 2L));
    }

    @Test
    void everyEntryOfThePendingListIsThereForALine() {
        assertThat(result.pending()).hasSameSizeAs(PendingList.read()).noneMatch(PendingResult::isStale);
    }
}
