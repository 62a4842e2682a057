package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code pagewalk check}: reports, summary, what is off, statuses. */
class CheckCommandTest {
    private static final String MAP =
            "             fio-326     [001] .....     1.000001: dma_map_page: 0000:00:04.0 dir=FROM_DEVICE dma_addr=%x size=64 phys_addr=%x attrs=\n";
    private static final String UNMAP =
            "             fio-326     [001] .....     1.000002: dma_unmap_page: 0000:00:04.0 dir=FROM_DEVICE dma_addr=%x size=%d attrs=\n";

    @TempDir
    Path folder;

    private String trace(String text) throws IOException {
        return Files.writeString(folder.resolve("trace.txt"), text).toString();
    }

    private String wrong() throws IOException {
        return trace(MAP.formatted(0x1000, 0x1000)
                + UNMAP.formatted(0x1000, 32)
                + UNMAP.formatted(0x1000, 64)
                + UNMAP.formatted(0x5000, 64)
                + MAP.formatted(0x7000, 0x7000));
    }

    @Test
    void theBundledTraceHasNothingWrong() {
        Ran ran = Ran.pagewalk("check");
        assertThat(ran.out())
                .contains("trace    trace-direct (bundled): tracefs, 20,839 lines, 20,827 events\n")
                .contains(
                        "checked  19,229 calls of the DMA API; the kernel's dma-debug would have needed 295 of its 65,536 entries\n")
                .contains("note     1 frees of a null pointer, which the kernel ignores\n")
                .contains("off      dma_mapping_error (DBG-30, DBG-31, DBG-47): a trace has no such calls\n")
                .contains("off      limits of segments (DBG-25): --machine tells them\n")
                .endsWith("\nNo misuse found.\n")
                .doesNotContain("DMA-API", "left ");
        assertThat(ran.err()).isEmpty();
        assertThat(ran.status()).isZero();
    }

    @Test
    void eachReportIsALineAndKindsAreCounted() throws IOException {
        Ran ran = Ran.pagewalk("check", wrong());
        assertThat(ran.out().lines().filter(l -> l.startsWith("DMA-API: 0000:00:04.0: ")))
                .hasSize(3)
                .first()
                .asString()
                .endsWith(
                        "[map size=64 bytes] [unmap size=32 bytes]; it is single mapping 0x1000+0x40 FROM_DEVICE of fio-326 (line 1)"
                                + "; called by fio-326 at line 2");
        assertThat(ran.row("device driver tries to free DMA memory it has not allocated"))
                .containsExactly("2");
        assertThat(ran.row("device driver frees DMA memory with different size"))
                .containsExactly("1");
        assertThat(ran.out())
                .contains("left     mapped when the trace ends: 0000:00:04.0 1\n")
                .endsWith("\n3 reports.\n");
        assertThat(ran.status()).isEqualTo(1);
    }

    @Test
    void onlyTheFirstReportsAreShownWhenAsked() throws IOException {
        Ran ran = Ran.pagewalk("check", "--show=1", wrong());
        assertThat(ran.out().lines().filter(l -> l.startsWith("DMA-API"))).hasSize(1);
        assertThat(ran.out()).endsWith("\n3 reports; --show 3 shows them all.\n");
        Ran negative = Ran.pagewalk("check", "--show=-1");
        assertThat(negative.status()).isEqualTo(2);
        assertThat(negative.err()).startsWith("pagewalk: --show: -1 reports cannot be shown");
    }

    @Test
    void optionsChangeWhatIsMisuse() throws IOException {
        assertThat(Ran.pagewalk("check", "--partial", wrong()).out()).endsWith("\n1 reports.\n");
        assertThat(Ran.pagewalk("check", "--leaks", wrong()).out())
                .contains("device driver has pending DMA allocations while released from device [count=1]")
                .endsWith("\n4 reports.\n");
        String shared = trace(MAP.formatted(0x1000, 0x1000) + MAP.formatted(0x2000, 0x1000));
        assertThat(Ran.pagewalk("check", shared).status()).isEqualTo(1);
        Ran coherent = Ran.pagewalk("check", "--coherent", shared);
        assertThat(coherent.status()).isZero();
        assertThat(coherent.out()).contains("off      shared cachelines (DBG-21, DBG-22): --coherent\n");
    }

    @Test
    void limitsOfSegmentsComeFromTheMachineFile() throws IOException {
        String list = trace(
                "             fio-326     [001] .....     1.000001: dma_map_sg: 0000:00:04.0 dir=TO_DEVICE nents=1/1 ents=1/1 dma_addrs={0x1000} sizes={0x2000} phys_addrs={0x1000} attrs=\n");
        Path machine = Files.writeString(
                folder.resolve("box.json"), "{\"devices\": {\"0000:00:04.0\": {\"maxSegmentBytes\": \"0x1000\"}}}");
        Ran ran = Ran.pagewalk("check", "--machine=" + machine, list);
        assertThat(ran.out())
                .contains("mapping sg segment longer than device claims to support [len=8192] [max=4096]")
                .doesNotContain("--machine tells them");
        assertThat(ran.status()).isEqualTo(1);
        Ran bad = Ran.pagewalk("check", "--machine=" + folder.resolve("none.json"), list);
        assertThat(bad.status()).isEqualTo(66);
        assertThat(bad.errLines()).hasSize(1);
    }

    @Test
    void jsonHasEveryNumber() throws IOException {
        JsonNode root = new ObjectMapper()
                .readTree(Ran.pagewalk("check", "--json", wrong()).out());
        assertThat(root.get("ok").asBoolean()).isFalse();
        assertThat(root.get("reportCount").asLong()).isEqualTo(3);
        assertThat(root.get("live").asInt()).isEqualTo(1);
        assertThat(root.get("counts").get("NOT_ALLOCATED").asLong()).isEqualTo(2);
        JsonNode first = root.get("reports").get(0);
        assertThat(first.get("kind").asText()).isEqualTo("DIFFERENT_SIZE");
        assertThat(first.get("device").asText()).isEqualTo("0000:00:04.0");
        assertThat(first.get("site").asText()).isEqualTo("line 2");
        assertThat(first.get("call").get("sizeBytes").asLong()).isEqualTo(32);
        assertThat(first.get("mapping").get("sizeBytes").asLong()).isEqualTo(64);
        assertThat(first.get("nearest").isNull()).isTrue();
        JsonNode second = root.get("reports").get(1);
        assertThat(second.get("mapping").isNull()).isTrue();
        assertThat(second.get("lastUnmap").get("endedAt").asText()).isEqualTo("line 2");
        assertThat(second.get("lastUnmap").get("dmaAddr").asText()).isEqualTo("0x1000");
    }

    @Test
    void whatCannotBeReadIsOneLine() {
        Ran ran = Ran.pagewalk("check", folder.resolve("missing.txt").toString());
        assertThat(ran.status()).isEqualTo(66);
        assertThat(ran.errLines()).hasSize(1);
        assertThat(ran.err()).contains("missing.txt", "no such file");
    }

    @Test
    void theHelpTeaches() {
        Ran ran = Ran.pagewalk("check", "--help");
        assertThat(ran.status()).isZero();
        assertThat(ran.out())
                .contains(
                        "--partial",
                        "--leaks",
                        "--coherent",
                        "--show",
                        "Exit status:",
                        "there are reports",
                        "Examples:");
        assertThat(Ran.pagewalk("--help").out()).contains("check", "Find misuse");
    }
}
