package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Input that cannot be used gets one line that names it and the cause, and a status; never a stack. */
class CompareInputTest {
    private static final String MAP =
            "  kworker/u8:2-32      [001] .....     4.456129: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=10d3de000 size=4096 phys_addr=%s attrs=\n";

    @TempDir
    Path folder;

    private Path file(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private Path text(String name, String content) throws IOException {
        return file(name, content.getBytes(StandardCharsets.UTF_8));
    }

    private static void assertOneLine(Ran ran, int status, String... parts) {
        assertThat(ran.err()).contains(parts);
        assertThat(ran.errLines()).hasSize(1);
        assertThat(ran.err()).startsWith("pagewalk: ").doesNotContain("\tat ");
        assertThat(ran.status()).isEqualTo(status);
    }

    @Test
    void aMissingFileADirectoryAndAnEmptyFileAreNamed() throws IOException {
        Path missing = folder.resolve("missing.txt");
        assertOneLine(Ran.pagewalk("compare", missing.toString()), 66, missing.toString(), "no such file");
        assertOneLine(Ran.pagewalk("compare", folder.toString()), 66, folder.toString(), "is a directory");
        Path empty = file("empty.txt", new byte[0]);
        assertOneLine(Ran.pagewalk("compare", empty.toString()), 66, empty.toString(), "is empty");
    }

    @Test
    void aPictureIsNoTrace() throws IOException {
        byte[] png = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 1, 0};
        Path picture = file("picture.png", png);
        assertOneLine(Ran.pagewalk("compare", picture.toString()), 66, picture.toString());
    }

    @Test
    void aGzipFileCutInHalfIsNamedWithTheLineItEndsAfter() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            for (int i = 0; i < 5000; i++) {
                gzip.write(String.format(MAP, Integer.toHexString(0x100000 + i * 7919))
                        .getBytes(StandardCharsets.UTF_8));
            }
        }
        Path cut = file("cut.gz", Arrays.copyOf(bytes.toByteArray(), bytes.size() / 2));
        assertOneLine(
                Ran.pagewalk("compare", "--backends=virt", cut.toString()),
                66,
                cut.toString(),
                "ends early after line");
    }

    @Test
    void textWithoutAnyEventWeKnowIsNoTrace() throws IOException {
        Path other = text("sched.txt", "          bash-99      [000] .....     4.314173: sched_waking: comm=x pid=1\n");
        assertOneLine(Ran.pagewalk("compare", other.toString()), 66, other.toString());
    }

    @Test
    void aLineThatCannotBeParsedIsReportedCountedAndSkipped() throws IOException {
        Path trace = text("bad.txt", String.format(MAP, "10d3de000") + String.format(MAP, "zzz"));
        Ran ran = Ran.pagewalk("compare", "--backends=virt", trace.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.err()).contains(trace + ":2: ").contains("phys_addr=zzz");
        assertThat(ran.out()).contains("1 lines that cannot be parsed, the first at line 2");
        assertThat(ran.row("maps tried")).containsExactly("1");
    }

    @Test
    void pedanticMakesSuchALineFatal() throws IOException {
        Path trace = text("bad.txt", String.format(MAP, "10d3de000") + String.format(MAP, "zzz"));
        Ran ran = Ran.pagewalk("compare", "--backends=virt", "--pedantic", trace.toString());
        assertThat(ran.status()).isEqualTo(66);
        assertThat(ran.err()).contains(trace + ":2: ");
    }

    @Test
    void anAddressInsideTheEmulatorsOwnRegionsIsNamedWithTheFieldToChange() throws IOException {
        Path inPool = text("pool.txt", String.format(MAP, "c0001000"));
        assertOneLine(
                Ran.pagewalk("compare", inPool.toString()), 66, "line 1", "0000:00:04.0", "0xc0001000", "\"holes\"");
        Path beyond = text("beyond.txt", String.format(MAP, "5000000000000"));
        assertOneLine(Ran.pagewalk("compare", beyond.toString()), 66, "0x5000000000000", "\"ramTop\"");
    }

    @Test
    void aMachineFileWithAnUnknownFieldIsRefusedWithTheFieldsThereAre() throws IOException {
        Path machine = text("machine.json", "{\"cpu\": 2}");
        assertOneLine(Ran.pagewalk("compare", "--machine", machine.toString()), 66, machine.toString(), "cpu", "cpus");
        assertOneLine(
                Ran.pagewalk("compare", "--machine", folder.resolve("none.json").toString()), 66, "none.json");
    }

    @Test
    void wrongUsageSaysWhatIsThere() {
        Ran unknown = Ran.pagewalk("compare", "--backends=direct,nonesuch");
        assertThat(unknown.status()).isEqualTo(2);
        assertThat(unknown.err()).contains("\"nonesuch\"", "iommu-strict", "--help");
        assertThat(Ran.pagewalk("compare", "--touch=some").status()).isEqualTo(2);
        assertThat(Ran.pagewalk("compare", "a", "b").status()).isEqualTo(2);
        assertThat(Ran.pagewalk().status()).isEqualTo(2);
        assertThat(Ran.pagewalk("compress").status()).isEqualTo(2);
    }

    @Test
    void aJsonFileThatCannotBeWrittenIsSaidBeforeTheReplay() {
        String file = folder.resolve("no/such/folder.json").toString();
        for (String wrong : new String[] {file, folder.toString(), ""}) {
            Ran ran = Ran.pagewalk("compare", "--quick", "--backends=virt", "--json=" + wrong);
            assertThat(ran.status()).isEqualTo(2);
            assertThat(ran.err()).startsWith("pagewalk: --json: ");
            assertThat(ran.out()).isEmpty();
        }
    }

    @Test
    void theInputIsNeverOverwritten() throws IOException {
        Path trace = text("same.txt", String.format(MAP, "10d3de000"));
        Path machine = text("same.json", "{}");
        assertThat(Ran.pagewalk("compare", "--json", trace.toString(), trace.toString())
                        .status())
                .isEqualTo(2);
        assertThat(Ran.pagewalk("compare", "--json", machine.toString(), "--machine", machine.toString())
                        .status())
                .isEqualTo(2);
        assertThat(Files.readString(machine)).isEqualTo("{}");
        assertThat(Files.readString(trace)).contains("dma_map_page");
    }

    @Test
    void callsAtWhichAKernelStopsAreNamedAndLeftOut() throws IOException {
        String list =
                "  kworker/u8:2-32      [001] .....     4.456129: dma_map_sg: 0000:00:04.0 dir=TO_DEVICE nents=2/2 ents=2/2"
                        + " dma_addrs={0x10000000,0x10002000} sizes={0x1000,0x0} phys_addrs={0x10000000,0x10002000} attrs=\n";
        String page = String.format(MAP, "10d3de000");
        Path trace =
                text("bugs.txt", page.replace("size=4096", "size=0") + page.replace("TO_DEVICE", "NONE") + list + page);
        Ran ran = Ran.pagewalk("compare", trace.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).contains("3 calls that are bugs");
        assertThat(ran.row("maps tried")).containsOnly("1");
    }

    @Test
    void aDeviceNameCannotSteerTheTerminal() throws IOException {
        Path trace = text("escape.txt", String.format(MAP, "10d3de000").replace("0000:00:04.0", "a\u001b[31mb"));
        Ran ran = Ran.pagewalk("compare", "--backends=virt", "--per-device", trace.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).contains("a?[31mb").doesNotContain("\u001b");
    }

    @Test
    void aMachineFileThatGoesOnAfterItsEndIsRefused() throws IOException {
        Path machine = text("junk.json", "{} xx");
        assertOneLine(Ran.pagewalk("compare", "--machine", machine.toString()), 66, "junk.json");
    }

    @Test
    void backendsAreShownInTheOrderAskedFor() throws IOException {
        Path trace = text("one.txt", String.format(MAP, "10d3de000"));
        Ran ran = Ran.pagewalk("compare", "--backends=virt,direct", trace.toString());
        assertThat(ran.out()).containsPattern("virt +direct");
        assertThat(ran.row("still live")).containsExactly("1", "1");
    }

    @Test
    void aTraceOfIommuEventsAloneSaysThatThereIsNothingToReplay() throws IOException {
        Path trace = text(
                "iommu.txt",
                "       swapper/0-1       [000] .....     1.640270: map: IOMMU: iova=0x00000000fffff000 - 0x0000000100000000 paddr=0x0000000106206000 size=4096\n");
        Ran ran = Ran.pagewalk("compare", trace.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).contains("iommu events only; nothing to replay");
    }
}
