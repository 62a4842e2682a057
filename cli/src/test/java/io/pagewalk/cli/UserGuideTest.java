package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of the user guide that are whole compile as they stand. */
class UserGuideTest {
    private static final Pattern JAVA = Pattern.compile("```java\\R(.*?)```", Pattern.DOTALL);
    private static final String IMPORTS = """
            import io.pagewalk.dma.*;
            import io.pagewalk.dma.events.*;
            import io.pagewalk.dma.memory.*;
            import io.pagewalk.trace.*;
            import java.io.PrintWriter;
            import java.nio.charset.StandardCharsets;
            """;

    @TempDir
    private Path folder;

    @Test
    void everySampleCompiles() throws IOException, ClassNotFoundException {
        List<String> samples = JAVA.matcher(Files.readString(Path.of("..", "docs/user-guide.md")))
                .results()
                .map((MatchResult sample) -> sample.group(1))
                .toList();
        assertThat(samples).hasSize(2);
        for (int i = 0; i < samples.size(); i++) {
            String source = IMPORTS + "class Sample" + i + " { void run() throws Exception {\n" + samples.get(i) + "}}";
            try (URLClassLoader loader = Compiled.load(folder, "Sample" + i, source)) {
                assertThat(loader.loadClass("Sample" + i)).isNotNull();
            }
        }
    }
}
