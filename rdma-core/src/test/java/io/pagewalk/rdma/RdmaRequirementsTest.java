package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every requirement on verbs, pools, transfers, rxe and the adapters is cited where a test shows it, and every function
 * that the specification takes from the kernel's older text by name. What stands above a class does not count: it says
 * what the class is about.
 */
class RdmaRequirementsTest {
    /** The last number of each chapter. */
    private static final Map<String, Integer> CHAPTERS = new TreeMap<>(Map.ofEntries(
            Map.entry("ACC", 5),
            Map.entry("PD", 7),
            Map.entry("MR", 7),
            Map.entry("UV", 10),
            Map.entry("FR", 8),
            Map.entry("MWC", 2),
            Map.entry("POOL", 6),
            Map.entry("RW", 22),
            Map.entry("RXE", 52),
            Map.entry("STAG", 5),
            Map.entry("PBLE", 10),
            Map.entry("IRD", 9),
            Map.entry("DP", 34)));

    /**
     * A function that is gone (MR-3), device memory (UV-6), an older state of one release (RXE-28), flushes and atomic
     * writes by the wire (DP-23), unreliable queue pairs (DP-27, DP-30).
     */
    private static final Set<String> NOT_BUILT = Set.of("MR-3", "UV-6", "RXE-28", "DP-23", "DP-27", "DP-30");

    private static final List<String> FUNCTIONS = List.of(
            "rxe_alloc_mr",
            "rxe_mem_init_fast",
            "rxe_mem_alloc",
            "ib_alloc_mr",
            "ib_mr_pool_init",
            "rdma_rw_init_mrs",
            "i40iw_alloc_mr");

    private static final Pattern ABOVE_A_CLASS =
            Pattern.compile("/\\*\\*(?:(?!\\*/)[\\s\\S])*?\\*/\\s*(?:@\\w+(?:\\([^)]*\\))?\\s*)*(?:[a-z]+ )*class ");

    private static final Pattern CITED = Pattern.compile("\\b([A-Z]+)-(\\d+)(?: to (?:\\1-)?(\\d+))?");

    private static String sources() throws IOException {
        StringBuilder all = new StringBuilder();
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            for (Path file : files.filter(RdmaRequirementsTest::isTest).toList()) {
                all.append(ABOVE_A_CLASS.matcher(Files.readString(file)).replaceAll("class "));
            }
        }
        return all.toString();
    }

    private static boolean isTest(Path file) {
        String name = file.getFileName().toString();
        return (name.endsWith("Test.java") || name.endsWith("Properties.java"))
                && !name.equals("RdmaRequirementsTest.java");
    }

    private static Set<String> cited(String sources) {
        Set<String> found = new HashSet<>();
        Matcher cited = CITED.matcher(sources);
        while (cited.find()) {
            int first = Integer.parseInt(cited.group(2));
            int last = cited.group(3) == null ? first : Integer.parseInt(cited.group(3));
            IntStream.rangeClosed(first, last).forEach(n -> found.add(cited.group(1) + "-" + n));
        }
        return found;
    }

    @Test
    void everyRequirementIsCitedByATest() throws IOException {
        List<String> wanted = new ArrayList<>();
        CHAPTERS.forEach((chapter, last) -> IntStream.rangeClosed(1, last).forEach(n -> wanted.add(chapter + "-" + n)));
        Set<String> missing = new TreeSet<>(wanted);
        missing.removeAll(cited(sources()));
        assertThat(missing).isEqualTo(new TreeSet<>(NOT_BUILT));
    }

    @Test
    void everyFunctionOfTheOlderTextIsNamedByATest() throws IOException {
        String sources = sources();
        for (String function : FUNCTIONS) {
            assertThat(Pattern.compile("@DisplayName\\([^;{]*\\b" + function + "\\b")
                            .matcher(sources)
                            .results()
                            .count())
                    .as(function)
                    .isPositive();
        }
    }
}
