package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README shows is what happens. */
class ReadmeTest {
    private static final Pattern JAVA = Pattern.compile("```java\\R(.*?)```", Pattern.DOTALL);

    @TempDir
    Path folder;

    private static String readme() throws IOException {
        return Files.readString(Path.of("..", "README.md"));
    }

    @Test
    void theExampleCompilesAndPrintsWhatTheReadmeSays() throws Exception {
        Matcher example = JAVA.matcher(readme());
        assertThat(example.find()).isTrue();
        List<String> printed = run(example.group(1)).lines().toList();
        assertThat(printed).hasSize(2);
        assertThat(printed.get(0)).isEqualTo("hello");
        assertThat(printed.get(1)).contains("nic0", "blocked");
    }

    private String run(String source) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream before = System.out;
        try (URLClassLoader loader = Compiled.load(folder, "Example", source);
                PrintStream captured = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
            System.setOut(captured);
            loader.loadClass("Example").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void theTableItShowsIsTheTableThatIsPrinted() throws IOException {
        List<String> printed = withoutTimes(Ran.pagewalk("compare").out());
        assertThat(printed).hasSizeGreaterThan(30);
        assertThat(withoutTimes(readme())).containsAll(printed);
    }

    @Test
    void theVectorsItCountsAreTheOnesThatAgree() throws IOException {
        List<String> printed = Ran.pagewalk("conform")
                .out()
                .lines()
                .takeWhile(line -> !line.isEmpty())
                .toList();
        assertThat(printed).hasSizeGreaterThan(15);
        assertThat(readme().lines()).containsSequence(printed);
    }

    /** The counts are the same on every host; times, and what depends on them in widths, are not. */
    private static List<String> withoutTimes(String text) {
        return text.lines()
                .takeWhile(l -> !l.startsWith("Time of a call"))
                .filter(l -> l.startsWith("  ") || l.startsWith("trace ") || l.startsWith("device "))
                .map(l -> l.strip().replaceAll("\\s{2,}", "  "))
                .toList();
    }
}
