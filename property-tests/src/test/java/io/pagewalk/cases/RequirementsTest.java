package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every requirement of dma-debug, of bounce pools that grow, and of the VT-d unit and its driver is cited by a test, in
 * a comment or a display name: {@code DBG-40}, or as one of {@code DBG-42 to DBG-48}.
 */
class RequirementsTest {
    /** First and last of each run of numbers. */
    private static final Map<String, int[][]> NUMBERS = Map.of(
            "DBG", new int[][] {{1, 8}, {10, 17}, {20, 25}, {30, 31}, {40, 50}, {60, 67}, {70, 76}},
            "SWD", new int[][] {{1, 9}},
            "DEV", new int[][] {{7, 7}},
            "VTD", new int[][] {{1, 27}},
            "CTX", new int[][] {{1, 10}},
            "INV", new int[][] {{1, 18}},
            "FLT", new int[][] {{1, 9}},
            "GRP", new int[][] {{1, 6}},
            "CORE", new int[][] {{23, 29}});

    /** Of scalable mode and first-stage tables, which no unit here has. */
    private static final Set<String> NOT_BUILT = Set.of("VTD-7", "CTX-9", "CTX-10", "INV-15");

    private static final Pattern CITED = Pattern.compile("\\b([A-Z]+)-(\\d+)(?: to \\1-(\\d+))?");
    private static final Set<String> FOUND = new HashSet<>();

    @BeforeAll
    static void read() throws IOException {
        for (String module : List.of("dma-api", "backends", "trace", "cli", "conformance", "property-tests")) {
            try (Stream<Path> files = Files.walk(Path.of("..", module, "src/test/java"))) {
                for (Path file : files.filter(RequirementsTest::isTest).toList()) {
                    cite(Files.readString(file));
                }
            }
        }
    }

    private static boolean isTest(Path file) {
        String name = file.getFileName().toString();
        return (name.endsWith("Test.java") || name.endsWith("Properties.java"))
                && !name.equals("RequirementsTest.java");
    }

    private static void cite(String source) {
        Matcher cited = CITED.matcher(source);
        while (cited.find()) {
            int first = Integer.parseInt(cited.group(2));
            int last = cited.group(3) == null ? first : Integer.parseInt(cited.group(3));
            IntStream.rangeClosed(first, last).forEach(n -> FOUND.add(cited.group(1) + "-" + n));
        }
    }

    private static List<String> wanted() {
        List<String> wanted = new ArrayList<>();
        NUMBERS.forEach((chapter, runs) -> Stream.of(runs)
                .forEach(run -> IntStream.rangeClosed(run[0], run[1]).forEach(n -> wanted.add(chapter + "-" + n))));
        wanted.removeAll(NOT_BUILT);
        return wanted;
    }

    @Test
    void everyRequirementIsCitedByATest() {
        assertThat(wanted()).hasSize(133).isSubsetOf(FOUND);
    }

    @Test
    void whatIsNotBuiltIsCitedByNone() {
        assertThat(FOUND).doesNotContainAnyElementsOf(NOT_BUILT);
    }
}
