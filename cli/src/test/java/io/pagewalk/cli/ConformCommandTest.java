package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pagewalk.conformance.VectorFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code pagewalk conform} says what agrees, shows what does not, and exits 0 only if nothing failed. */
class ConformCommandTest {
    @TempDir
    private Path folder;

    private static List<String> shipped(String name, int count) throws IOException {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                new GZIPInputStream(VectorFiles.class.getResourceAsStream("vectors/" + name + ".jsonl.gz")),
                StandardCharsets.UTF_8))) {
            return new ArrayList<>(reader.lines().limit(count).toList());
        }
    }

    private Path file(String name, List<String> lines) throws IOException {
        return Files.write(folder.resolve(name), lines);
    }

    private static void assertOneLine(Ran ran, int status, String... parts) {
        assertThat(ran.err()).contains(parts).startsWith("pagewalk: ").doesNotContain("\tat ");
        assertThat(ran.errLines()).hasSize(1);
        assertThat(ran.out()).isEmpty();
        assertThat(ran.status()).isEqualTo(status);
    }

    @Test
    void withoutAnArgumentTheShippedVectorsAreReplayedAndNothingFails() {
        Ran ran = Ran.pagewalk("conform");
        assertThat(ran.status()).isZero();
        assertThat(ran.err()).isEmpty();
        assertThat(ran.row("swiotlb")).containsExactly("11,721", "60,440", "732", "301", "11,721", "0", "0");
        assertThat(ran.row("edu")).containsExactly("50", "271", "95", "14", "50", "0", "0");
        assertThat(ran.row("umem")).containsExactly("1,281", "67,345", "0", "0", "1,281", "0", "0");
        assertThat(ran.row("rdma-rxe")).containsExactly("1,042", "10,258", "818", "1,024", "1,042", "0", "0");
        assertThat(ran.row("cost")).containsExactly("28", "70", "0", "52", "4", "0", "0");
        assertThat(ran.row("total")).startsWith("25,996").endsWith("0", "0");
        assertThat(ran.out()).contains("informative  ", "warn_place ", "24 lines are for information only");
        assertThat(ran.out()).endsWith("nothing failed" + System.lineSeparator());
    }

    @Test
    void aFailingLineIsShownWithItsNumberInputExpectedAndGot() throws IOException {
        List<String> lines = shipped("swiotlb", 4);
        lines.set(2, lines.get(2).replace("\"used\":0", "\"used\":7"));
        Path vectors = file("altered.jsonl", lines);

        Ran ran = Ran.pagewalk("conform", vectors.toString());

        assertThat(ran.status()).isEqualTo(1);
        assertThat(ran.row("swiotlb").subList(4, 7)).containsExactly("3", "1", "0");
        assertThat(ran.out().lines().map(String::strip))
                .containsSequence(
                        vectors + ":3: swiotlb, boot swiotlb_64m, id 1",
                        "input     {\"fam\":\"swiotlb\",\"id\":1,\"op\":\"unmap\",\"h\":0,\"size\":1,\"dir\":2,\"attrs\":0,\"dev_wrote\":false}",
                        "used",
                        "expected  7",
                        "got       0",
                        "",
                        "1 failed");
    }

    @Test
    void onlyTheFirstFailingLinesAreShown() throws IOException {
        List<String> lines = shipped("masks", 20);
        lines.replaceAll(l -> l.replace("\"need_sync\":", "\"need_sync\":1"));
        String vectors = file("altered.jsonl", lines).toString();
        Ran two = Ran.pagewalk("conform", "--show", "2", vectors);
        assertThat(two.status()).isEqualTo(1);
        assertThat(two.out()).contains("altered.jsonl:2: ", "altered.jsonl:3: ").doesNotContain("altered.jsonl:4: ");
        assertThat(two.out()).endsWith("19 failed; --show 19 shows them all" + System.lineSeparator());
        Ran none = Ran.pagewalk("conform", "--show=0", vectors);
        assertThat(none.out()).doesNotContain("expected").contains("19 failed");
        assertThat(Ran.pagewalk("conform", vectors).out())
                .contains("altered.jsonl:6: ")
                .doesNotContain("altered.jsonl:7: ");
    }

    @Test
    void jsonHoldsEveryNumberAndNothingElseIsPrinted() throws IOException {
        List<String> lines = shipped("masks", 5);
        lines.set(4, lines.get(4).replace("\"need_sync\":", "\"need_sync\":1"));
        Ran ran = Ran.pagewalk("conform", "--json", file("altered.jsonl", lines).toString());
        JsonNode root = new ObjectMapper().readTree(ran.out());
        assertThat(ran.status()).isEqualTo(1);
        assertThat(root.get("ok").booleanValue()).isFalse();
        assertThat(root.get("failures").intValue()).isEqualTo(1);
        JsonNode family = root.get("families").get(0);
        assertThat(family.get("name").textValue()).isEqualTo("masks");
        assertThat(family.get("lines").intValue()).isEqualTo(5);
        assertThat(family.get("passed").intValue()).isEqualTo(4);
        assertThat(family.get("kinds").get("label").intValue()).isEqualTo(1);
        JsonNode failed = root.get("disagreements").get(0);
        assertThat(failed.get("line").intValue()).isEqualTo(5);
        assertThat(failed.get("differences").get(0).get("path").textValue()).isEqualTo("need_sync");
        assertThat(root.get("pending")).isEmpty();
    }

    @Test
    void aLineThatIsNoVectorCannotSteerTheTerminalNorFillIt() throws IOException {
        List<String> lines = shipped("masks", 2);
        lines.add("nonsense \u001b[31m" + "x".repeat(1000));
        Ran ran = Ran.pagewalk("conform", file("odd.jsonl", lines).toString());
        assertThat(ran.status()).isEqualTo(1);
        assertThat(ran.row("(unknown)").get(5)).isEqualTo("1");
        assertThat(ran.out())
                .contains("nonsense ?[31mxxx", "... (614 more characters)")
                .doesNotContain("\u001b");
    }

    @Test
    void whatHoldsNoVectorsGetsOneLineAndAStatus() throws IOException {
        String missing = folder.resolve("missing.jsonl").toString();
        assertOneLine(Ran.pagewalk("conform", missing), 66, missing, "no such file or directory");
        assertOneLine(Ran.pagewalk("conform", folder.toString()), 66, folder.toString(), "has no *.jsonl");
        Path empty = file("empty.jsonl", List.of());
        assertOneLine(Ran.pagewalk("conform", empty.toString()), 66, empty.toString(), "holds no vectors");
        Path plain = file("plain.jsonl.gz", shipped("masks", 2));
        assertOneLine(Ran.pagewalk("conform", plain.toString()), 66, plain.toString(), "is not gzip");
        Path good = file("good.jsonl", shipped("masks", 2));
        assertOneLine(Ran.pagewalk("conform", good.toString(), missing), 66, missing);
    }

    @Test
    void filesAndDirectoriesMayBeMixed() throws IOException {
        Path sub = Files.createDirectory(folder.resolve("sub"));
        Files.write(sub.resolve("a.jsonl"), shipped("masks", 3));
        Path single = file("b.jsonl", shipped("iova", 2));
        Ran ran = Ran.pagewalk("conform", single.toString(), sub.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.row("iova").get(0)).isEqualTo("2");
        assertThat(ran.row("masks").get(0)).isEqualTo("3");
        assertThat(ran.row("total").get(0)).isEqualTo("5");
    }

    @Test
    void wrongUsageIsSaid() {
        assertThat(Ran.pagewalk("conform", "--show=-1").err()).startsWith("pagewalk: --show: -1 lines cannot be shown");
        assertThat(Ran.pagewalk("conform", "--show=-1").status()).isEqualTo(2);
        assertThat(Ran.pagewalk("conform", "--show=x").status()).isEqualTo(2);
        assertThat(Ran.pagewalk("conform", "--nonesuch").status()).isEqualTo(2);
        assertThat(Ran.pagewalk("conform", "--help").out()).contains("FILE|DIR", "--show", "--json", "pending");
    }
}
