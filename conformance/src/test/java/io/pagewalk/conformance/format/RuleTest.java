package io.pagewalk.conformance.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What each rule lets pass and what it does not, and how many values it says it checked. */
class RuleTest {
    private static Comparison compare(Rule rule, String line, Answers answers) {
        LineFormat format = LineFormat.builder()
                .optionalInput("size", "len", "coherent_mask", "bus_limit", "hazard")
                .rule("x", rule)
                .build();
        VectorLine vector = VectorLine.parse(line);
        return vector.compare(format, vector.question(format), answers);
    }

    private static void assertAgrees(Comparison comparison, int exact, int byRule, int informative) {
        assertThat(comparison.differences()).isEmpty();
        assertCounts(comparison, exact, byRule, informative);
    }

    private static void assertCounts(Comparison comparison, int exact, int byRule, int informative) {
        assertThat(comparison.exact()).isEqualTo(exact);
        assertThat(comparison.byRule()).isEqualTo(byRule);
        assertThat(comparison.informative().values().stream().mapToInt(i -> i).sum())
                .isEqualTo(informative);
    }

    private static void assertDiffers(Comparison comparison, String path, String expected, String got) {
        assertThat(comparison.differences()).isNotEmpty();
        Difference first = comparison.differences().get(0);
        assertThat(List.of(first.path(), first.expected(), first.got())).containsExactly(path, expected, got);
    }

    // ---- changed bytes

    private static Answers period(long phase, long... changed) {
        return new Answers().object("x", new Answers().signed("phase", phase).list("changed", changed));
    }

    @Test
    void changedBytesAreComparedExactlyWhereNoFillDecides() {
        String line = "{\"size\":600,\"x\":[3,7,4]}";
        assertAgrees(compare(Rule.CHANGED_BYTES, line, new Answers().list("x", 3, 7, 4)), 3, 0, 0);
        assertDiffers(compare(Rule.CHANGED_BYTES, line, new Answers().list("x", 3, 8, 4)), "x[1]", "7", "8");
    }

    @Test
    void aPeriodMayBeginAnywhereBelow256ButNotSkipOne() {
        assertAgrees(compare(Rule.CHANGED_BYTES, "{\"size\":600,\"x\":[87,600,3]}", period(34, 34, 547, 3)), 0, 2, 1);
        assertAgrees(compare(Rule.CHANGED_BYTES, "{\"size\":600,\"x\":[100,357,2]}", period(34, 34, 547, 3)), 0, 2, 1);
        assertAgrees(compare(Rule.CHANGED_BYTES, "{\"size\":9,\"x\":[0,0,0]}", period(34, 0, 0, 0)), 0, 2, 1);
        for (String wrong : List.of("[0,0,0]", "[300,557,2]", "[87,600,2]", "[87,599,3]", "[87,600]", "[88,600,3]")) {
            String line = "{\"size\":600,\"x\":" + wrong + "}";
            assertThat(compare(Rule.CHANGED_BYTES, line, period(34, 34, 547, 3)).differences())
                    .as(wrong)
                    .hasSize(1);
        }
    }

    @Test
    void theLibrarysOwnPeriodIsCheckedToo() {
        String line = "{\"size\":600,\"x\":[87,600,3]}";
        assertThat(compare(Rule.CHANGED_BYTES, line, period(34, 34, 547, 2)).differences())
                .hasSize(1);
        assertThat(compare(Rule.CHANGED_BYTES, line, period(34, 0, 0, 0)).differences())
                .hasSize(1);
    }

    // ---- touched bytes

    @Test
    void touchedBytesAreNoneOrAllButAFew() {
        assertAgrees(compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":302}", new Answers().unsigned("x", 320)), 0, 1, 0);
        assertAgrees(compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":0}", new Answers().unsigned("x", 0)), 0, 1, 0);
        assertDiffers(
                compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":301}", new Answers().unsigned("x", 320)),
                "x",
                "301",
                "320");
        assertDiffers(
                compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":321}", new Answers().unsigned("x", 320)),
                "x",
                "321",
                "320");
        assertDiffers(
                compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":0}", new Answers().unsigned("x", 320)),
                "x",
                "0",
                "320");
        assertDiffers(
                compare(Rule.TOUCHED_BYTES, "{\"len\":320,\"x\":320}", new Answers().unsigned("x", 0)),
                "x",
                "320",
                "0");
        assertDiffers(
                compare(Rule.TOUCHED_BYTES, "{\"len\":320}", new Answers().unsigned("x", 0)), "x", "nothing", "0");
    }

    // ---- reach

    private static String coherent(String address) {
        return "{\"size\":8192,\"coherent_mask\":4294967295,\"bus_limit\":65535,\"x\":" + address + "}";
    }

    @Test
    void coherentMemoryMayLieAnywhereWithinReach() {
        Answers fits = new Answers().unsigned("x", 57344);
        assertAgrees(compare(Rule.WITHIN_REACH, coherent("4096"), fits), 0, 1, 1);
        assertDiffers(compare(Rule.WITHIN_REACH, coherent("57345"), fits), "x", "57345", "57344");
        assertDiffers(
                compare(Rule.WITHIN_REACH, coherent("4096"), new Answers().unsigned("x", 57345)), "x", "4096", "57345");
        assertDiffers(compare(Rule.WITHIN_REACH, coherent("4096"), new Answers().none("x")), "x", "4096", "null");
        assertDiffers(compare(Rule.WITHIN_REACH, coherent("null"), fits), "x", "null", "57344");
        assertAgrees(compare(Rule.WITHIN_REACH, coherent("null"), new Answers().none("x")), 0, 1, 0);
        assertDiffers(compare(Rule.WITHIN_REACH, coherent("4096"), new Answers()), "x", "4096", "nothing");
    }

    @Test
    void reachIsUnsigned() {
        String line =
                "{\"size\":4096,\"coherent_mask\":18446744073709551615,\"bus_limit\":0,\"x\":18446744073709547520}";
        assertAgrees(compare(Rule.WITHIN_REACH, line, new Answers().unsigned("x", -4096)), 0, 1, 1);
    }

    // ---- keys

    @Test
    void whatTheLibraryOfUserSpaceAnsweredIsCountedApart() {
        LineFormat format = LineFormat.builder()
                .ruleAndAsked("kernel_calls", Rule.KERNEL_OR_LIBRARY)
                .ruleWhereWanted("rc", Rule.KERNEL_OR_LIBRARY)
                .build();
        VectorLine byLibrary = VectorLine.parse("{\"kernel_calls\":0,\"rc\":22}");
        Comparison apart = byLibrary.compare(
                format,
                byLibrary.question(format),
                new Answers().signed("kernel_calls", 1).signed("rc", 0));
        assertAgrees(apart, 0, 0, 2);
        assertThat(apart.informative()).containsOnlyKeys(Informative.USER_LIBRARY);
        VectorLine byKernel = VectorLine.parse("{\"kernel_calls\":1,\"rc\":22}");
        Comparison exact = byKernel.compare(
                format,
                byKernel.question(format),
                new Answers().signed("kernel_calls", 1).signed("rc", 0));
        assertDiffers(exact, "rc", "22", "0");
        assertCounts(exact, 2, 0, 0);
    }

    @Test
    void anAddressThatATimerChoseKeepsItsOffset() {
        String line = "{\"x\":4294963205}";
        assertAgrees(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().placed("x", 0x7005)), 0, 1, 1);
        assertThat(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().placed("x", 0x7006))
                        .differences())
                .hasSize(1);
        assertThat(compare(Rule.EXACT_OR_LAYOUT, "{\"x\":null}", new Answers().placed("x", 0x7005))
                        .differences())
                .hasSize(1);
        assertDiffers(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().none("x")), "x", "4294963205", "null");
        assertAgrees(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().unsigned("x", 0xfffff005L)), 1, 0, 0);
        assertDiffers(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().unsigned("x", 5)), "x", "4294963205", "5");
    }

    @Test
    void rowsThatATimerPlacedKeepTheirDistances() {
        String line = "{\"x\":[[4101,10],[8192,20]]}";
        assertAgrees(
                compare(
                        Rule.EXACT_OR_LAYOUT,
                        line,
                        new Answers().placedRows("x", List.of(new long[] {0x9005, 10}, new long[] {0xa000, 20}))),
                0,
                4,
                1);
        assertDiffers(
                compare(
                        Rule.EXACT_OR_LAYOUT,
                        line,
                        new Answers().placedRows("x", List.of(new long[] {0x9005, 10}, new long[] {0xb000, 20}))),
                "x",
                "[[5,10],[4096,20]]",
                "[[5,10],[8192,20]]");
        assertAgrees(compare(Rule.EXACT_OR_LAYOUT, "{\"x\":[]}", new Answers().placedRows("x", List.of())), 0, 1, 0);
    }

    @Test
    void whatLiesBeyondAPlacedMappingIsNotHeldToAnything() {
        String line = "{\"x\":[[4096,10],[8192,77]]}";
        List<long[]> rows = List.of(new long[] {0x9000, 10}, new long[] {0xa000, 0});
        assertAgrees(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().placedProbes("x", rows, 1)), 0, 3, 2);
        assertThat(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().placedProbes("x", rows, -1))
                        .differences())
                .hasSize(1);
        assertThat(compare(Rule.EXACT_OR_LAYOUT, line, new Answers().placedProbes("x", rows, 0))
                        .differences())
                .hasSize(1);
    }

    @Test
    void coherentPagesAreJoinedWhereTheirDeviceAddressesMeet() {
        String line = "{\"x\":[[4096,65536,4096,2,3],[12288,4096,4096,1,3]]}";
        List<long[]> oneRun = List.of(new long[] {4096, 32768, 4096, 3, 3});
        assertAgrees(compare(Rule.COHERENT_PAGES, line, new Answers().rows("x", oneRun)), 0, 3, 2);
        List<long[]> elsewhere = List.of(new long[] {8192, 32768, 4096, 3, 3});
        assertDiffers(
                compare(Rule.COHERENT_PAGES, line, new Answers().rows("x", elsewhere)),
                "x",
                "[[4096,12288,3]]",
                "[[8192,12288,3]]");
        assertAgrees(compare(Rule.COHERENT_PAGES, line, new Answers().placedRows("x", elsewhere)), 0, 3, 2);
        List<long[]> readOnlyEnd = List.of(new long[] {4096, 32768, 4096, 2, 3}, new long[] {12288, 0, 4096, 1, 1});
        assertDiffers(
                compare(Rule.COHERENT_PAGES, line, new Answers().rows("x", readOnlyEnd)),
                "x",
                "[[4096,12288,3]]",
                "[[4096,8192,3],[12288,4096,1]]");
        assertDiffers(
                compare(Rule.COHERENT_PAGES, line, new Answers()),
                "x",
                line.substring(5, line.length() - 1),
                "nothing");
    }

    // ---- log

    private static Answers log(String site, boolean warning, String text) {
        return new Answers().log("x", List.of(new Answers.LogEntry(site, warning, text)));
    }

    private static final String OVERFLOW =
            "edu_ref 0000:00:01.0: DMA addr 0x0000000000fffff0+4095 overflow (mask ffffff, bus limit 0).";
    private static final String OUT_OF_REACH =
            "0000:00:01.0: %s address 0x0000000000%s+4095 is out of reach (mask 0xffffff, bus limit 0x0) (dma-core:X)";
    private static final String PAGE_SITE = "dma_direct_map_page: overflow";

    private static String logged(String... lines) {
        return "{\"x\":[\"" + String.join("\",\"", lines) + "\"]}";
    }

    @Test
    void aMessageAndItsWarningAreOneEntryOfTheLibrary() {
        String line = logged(OVERFLOW, "WARNING: at kernel/dma/direct.h:103 dma_map_page_attrs+0x30f/0x340");
        String text = String.format(OUT_OF_REACH, "DMA", "fffff0");
        assertAgrees(compare(Rule.LOG, line, log(PAGE_SITE, true, text)), 0, 8, 5);
        assertDiffers(
                compare(Rule.LOG, line, log(PAGE_SITE, true, String.format(OUT_OF_REACH, "DMA", "fffff1"))),
                "x[0]",
                "\"" + OVERFLOW + "\"",
                "\"DMA address overflow 0000:00:01.0 fffff1 4095 ffffff 0\"");
        assertThat(compare(Rule.LOG, line, log("dma_direct_map_sg: overflow", true, text))
                        .differences())
                .extracting(Difference::path)
                .containsExactly("x[1]");
        assertThat(compare(Rule.LOG, line, log("swiotlb_map: overflow", true, text.replace("DMA", "bounce")))
                        .differences())
                .extracting(Difference::path)
                .containsExactly("x[0]", "x[1]");
    }

    @Test
    void nothingElseMayBeLogged() {
        String text = String.format(OUT_OF_REACH, "resource", "fffff0");
        assertDiffers(
                compare(Rule.LOG, "{}", log("dma_direct_map_resource: overflow", false, text)),
                "x",
                "nothing",
                "\"DMA address overflow 0000:00:01.0 fffff0 4095 ffffff 0\"");
        assertAgrees(compare(Rule.LOG, "{}", new Answers().log("x", List.of())), 0, 0, 0);
        assertAgrees(
                compare(Rule.LOG, "{}", log("iommu_dma_alloc_iova", false, "Using 39-bit DMA addresses")), 0, 0, 0);
        assertThat(compare(Rule.LOG, logged(OVERFLOW), new Answers()).differences())
                .singleElement()
                .satisfies(d -> assertThat(d.got()).isEqualTo("\"nothing more\""));
    }

    @Test
    void theRecordingHoldsThreeLinesAtMost() {
        String set = "DMAR: ERROR: DMA PTE for vPFN 0x%s already set (to 1001 not 2001)";
        String warning = "WARNING: at drivers/iommu/intel/iommu.c:1884 intel_iommu_map_pages+0x38f/0x750";
        String line = logged(String.format(set, "1"), warning, String.format(set, "2"));
        List<Answers.LogEntry> entries = List.of(
                new Answers.LogEntry(
                        "vtd.pte-already-set", true, String.format(set, "1").substring(6)),
                new Answers.LogEntry(
                        "vtd.pte-already-set", true, String.format(set, "2").substring(6)),
                new Answers.LogEntry(
                        "vtd.pte-already-set", true, String.format(set, "3").substring(6)));
        assertAgrees(compare(Rule.LOG, line, new Answers().log("x", entries)), 0, 10, 4);
    }

    @Test
    void whatIsOfNoKnownKindIsADisagreement() {
        assertDiffers(
                compare(Rule.LOG, logged("edu: on fire"), new Answers().log("x", List.of())),
                "x[0]",
                "\"edu: on fire\"",
                "[]");
        assertThat(compare(Rule.LOG, "{}", log("nowhere", true, "hello")).differences())
                .hasSize(1);
        assertThat(compare(Rule.LOG, "{}", log(PAGE_SITE, true, "hello")).differences())
                .hasSize(1);
    }

    @Test
    void eachKindOfMessageIsTakenApart() {
        assertAgrees(
                compare(
                        Rule.LOG,
                        logged(
                                "edu_ref 0000:00:01.0: swiotlb buffer is full (sz: 9 bytes), total 8 (slots), used 7 (slots)"),
                        log(
                                "swiotlb_tbl_map_single: full",
                                false,
                                "0000:00:01.0: swiotlb buffer is full (sz: 9 bytes), total 8 (slots), used 7 (slots)")),
                0,
                5,
                1);
        assertAgrees(
                compare(
                        Rule.LOG,
                        logged("iommu: unaligned: iova 0x1 pa 0x0000000000000000 size 0x1000 min_pagesz 0x1000"),
                        log("iommu", false, "unaligned: iova 0x1 pa 0x0000000000000000 size 0x1000 min_pagesz 0x1000")),
                0,
                5,
                0);
        assertAgrees(
                compare(
                        Rule.LOG,
                        logged(
                                "DMAR: intel_iommu_map: iommu width (39) is not sufficient for the mapped address (8000001000)"),
                        log(
                                "vtd.width",
                                false,
                                "intel_iommu_map: iommu width (39) is not sufficient for the mapped address (8000001000)")),
                0,
                3,
                0);
        assertThat(compare(
                                Rule.LOG,
                                logged("edu_ref 0000:00:01.0: Unsupported alignment constraint"),
                                log(
                                        "iommu_dma_map: alignment",
                                        false,
                                        "0000:00:02.0: Unsupported alignment constraint"))
                        .differences())
                .hasSize(1);
    }

    @Test
    void afterAHazardTheLogIsForInformation() {
        String line = "{\"hazard\":\"under_existing_superpage\",\"x\":[\"a\",\"b\"]}";
        assertAgrees(compare(Rule.LOG_BEFORE_HAZARD, line, new Answers().log("x", List.of())), 0, 0, 2);
        assertThat(compare(Rule.LOG_BEFORE_HAZARD, logged("a"), new Answers().log("x", List.of()))
                        .differences())
                .hasSize(1);
    }
}
