package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Holds {@code docs/cases.md} to what it says: every situation is there, and every test it names exists. */
class CasesListTest {
    /** The ids of the list that the project started from. */
    private static final Map<Character, List<Integer>> NUMBERS = Map.of(
            'A', List.of(1, 2, 3, 4, 6, 7, 8, 9, 11, 12),
            'B', List.of(1, 2, 3, 4, 7, 8, 9),
            'C', List.of(1, 2, 3, 5, 6),
            'D', List.of(1, 2, 3, 5, 6, 8),
            'E', List.of(1, 2, 4, 5, 6, 8, 10, 11, 12, 14, 16),
            'F', List.of(1, 2, 4, 5, 6, 7, 8, 9, 11, 13, 14),
            'G', List.of(1, 2, 3, 5, 6, 7, 9),
            'H', List.of(1, 2, 4, 5, 6, 7, 9, 10, 12, 13, 14, 15, 16, 17, 18, 20),
            'I', List.of(2, 3, 4, 5, 7, 8, 9, 11, 13, 14));

    private static final Pattern ROW = Pattern.compile("\\| ([A-I]\\d+) \\| [^|]+ \\| ([^|]+) \\|");
    private static final Pattern TEST = Pattern.compile("`(\\w+)#(\\w+)`");
    private static final Pattern REASON = Pattern.compile("(later|outside): \\S.*");
    private static final List<Class<?>> CASE_CLASSES = List.of(
            SwiotlbCasesTest.class,
            DirectCasesTest.class,
            ScatterGatherCasesTest.class,
            DebugCasesTest.class,
            MemoryCasesTest.class,
            VerbsCasesTest.class);

    private static final Map<String, String> ANSWERS = new LinkedHashMap<>();
    private static final Map<String, Path> SOURCES = new LinkedHashMap<>();

    @BeforeAll
    static void read() throws IOException {
        Path root = Path.of("..");
        for (String line : Files.readAllLines(root.resolve("docs/cases.md"))) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                assertThat(ANSWERS.put(row.group(1), row.group(2)))
                        .as("second row of %s", row.group(1))
                        .isNull();
            }
        }
        for (String module : List.of("dma-api", "backends", "rdma-core", "property-tests")) {
            try (Stream<Path> files = Files.walk(root.resolve(module).resolve("src/test/java"))) {
                files.filter(f -> f.toString().endsWith("Test.java"))
                        .forEach(f -> SOURCES.put(f.getFileName().toString(), f));
            }
        }
    }

    @Test
    void everySituationHasExactlyOneRow() {
        List<String> wanted = new ArrayList<>();
        NUMBERS.forEach((letter, numbers) -> numbers.forEach(n -> wanted.add(letter + String.valueOf(n))));
        assertThat(ANSWERS.keySet()).containsExactlyInAnyOrderElementsOf(wanted);
    }

    @Test
    void everyRowNamesATestOrAReason() {
        ANSWERS.forEach((id, answer) -> assertThat(
                        TEST.matcher(answer).find() || REASON.matcher(answer).matches())
                .as("%s: %s", id, answer)
                .isTrue());
    }

    @Test
    void everyTestThatIsNamedExists() throws IOException {
        for (Map.Entry<String, String> row : ANSWERS.entrySet()) {
            Matcher test = TEST.matcher(row.getValue());
            while (test.find()) {
                assertThat(SOURCES).as("source of a test of %s", row.getKey()).containsKey(test.group(1) + ".java");
                assertThat(Files.readString(SOURCES.get(test.group(1) + ".java")))
                        .as("%s of %s", test.group(), row.getKey())
                        .contains("void " + test.group(2) + "(");
            }
        }
    }

    @Test
    void everyTestOfASituationIsNamed() {
        String all = String.join("\n", ANSWERS.values());
        for (Class<?> cases : CASE_CLASSES) {
            Stream.of(cases.getDeclaredMethods())
                    .filter(m -> m.isAnnotationPresent(Test.class))
                    .forEach(m -> assertThat(all).contains("`" + cases.getSimpleName() + "#" + m.getName() + "`"));
        }
    }
}
