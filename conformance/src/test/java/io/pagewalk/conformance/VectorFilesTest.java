package io.pagewalk.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that hold no vectors get one line that names them and says why; the others are read, plain or gzip. */
class VectorFilesTest {
    @TempDir
    private Path folder;

    private Path file(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private Path text(String name, String content) throws IOException {
        return file(name, content.getBytes(StandardCharsets.UTF_8));
    }

    private static void assertUnusable(Path path, String cause) {
        assertThatThrownBy(() -> Vectors.run(path))
                .isInstanceOf(UnusableVectorsException.class)
                .hasMessageStartingWith(path.toString())
                .hasMessageContaining(cause)
                .hasMessageNotContaining("\n");
    }

    private static String twoLines() {
        return String.join("\n", Vectors.shipped("iova").subList(0, 2)) + "\n";
    }

    @Test
    void whatIsNotThereIsNamed() {
        assertUnusable(folder.resolve("missing.jsonl"), "no such file or directory");
    }

    @Test
    void aDirectoryWithoutVectorsIsNamed() throws IOException {
        text("README.md", "nothing here");
        Files.createDirectory(folder.resolve("sub.jsonl"));
        assertUnusable(folder, "has no *.jsonl or *.jsonl.gz in it");
    }

    @Test
    void aDirectoryStandsForItsVectorsInTheOrderOfTheirNames() throws IOException {
        text("b.jsonl", twoLines());
        file("a.jsonl.gz", Vectors.gzip(twoLines()));
        text("c.txt", "no vectors");
        assertThat(VectorFiles.at(List.of(folder)))
                .extracting(VectorFile::name)
                .containsExactly(
                        folder.resolve("a.jsonl.gz").toString(),
                        folder.resolve("b.jsonl").toString());
        ConformanceResult result = Vectors.run(folder);
        assertThat(result.ok()).isTrue();
        assertThat(result.families().get(0).lines()).isEqualTo(4);
    }

    @Test
    void aNameThatPromisesGzipMustHoldIt() throws IOException {
        assertUnusable(text("plain.jsonl.gz", twoLines()), "is not gzip, whatever its name says");
        Path packed = file("packed.jsonl", Vectors.gzip(twoLines()));
        assertThat(Vectors.run(packed).families().get(0).passed()).isEqualTo(2);
    }

    @Test
    void aGzipFileThatIsCutOrDamagedIsNamedWithTheLineItEndsAfter() throws IOException {
        byte[] whole = Vectors.gzip(String.join("\n", Vectors.shipped("masks")));
        assertUnusable(
                file("cut.jsonl.gz", Arrays.copyOf(whole, whole.length / 2)), "gzip stream ends early after line");
        assertUnusable(file("stub.jsonl.gz", Arrays.copyOf(whole, 5)), "gzip stream ends early after line 0");
        byte[] damaged = whole.clone();
        Arrays.fill(damaged, 200, 260, (byte) 0xff);
        assertUnusable(file("damaged.jsonl.gz", damaged), "gzip stream is damaged");
    }

    @Test
    void whatHoldsNoVectorIsNamed() throws IOException {
        assertUnusable(file("empty.jsonl", new byte[0]), "holds no vectors");
        assertUnusable(text("blank.jsonl", "\n\n"), "holds no vectors");
        assertUnusable(text("prose.jsonl", "once upon a time\n{\"no\":\"family\"}\n"), "holds no vectors");
        assertUnusable(file("binary.jsonl", new byte[] {1, 2, 0, 4}), "is binary: NUL byte in line 1");
    }

    @Test
    void whatComesWithTheProjectIsAllThere() throws IOException {
        Path resources = Path.of("src/main/resources/io/pagewalk/conformance/vectors");
        try (var listed = Files.list(resources)) {
            assertThat(VectorFiles.shipped())
                    .extracting(VectorFile::toString)
                    .containsExactlyInAnyOrderElementsOf(
                            listed.map(p -> p.getFileName().toString()).toList());
        }
    }
}
