package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code pagewalk pin} says what fits, what does not, and what to raise. */
class PinCommandTest {
    @TempDir
    private Path folder;

    @Test
    void smallBuffersOfAnAllocatorNeedTwoPagesEach() {
        Ran ran = Ran.pagewalk("pin", "--memlock", "64K", "4096x9");

        assertThat(ran.status()).isEqualTo(1);
        assertThat(ran.err()).isEmpty();
        assertThat(ran.out()).startsWith("limit 65,536 bytes (64 KiB), 16 pages; pinned so far 0 pages");
        assertThat(ran.row("4096x9")).containsExactly("9", "2", "1", "8", "16", "ENOMEM");
        assertThat(ran.out())
                .contains(
                        "Registering all of them needs RLIMIT_MEMLOCK of 73,728 bytes (72 KiB): ulimit -l 72, docker run"
                                + " --ulimit memlock=73728:73728, LimitMEMLOCK=73728 in a unit of systemd, or CAP_IPC_LOCK."
                                + " If each began a page, 36,864 bytes (36 KiB) would do.");
    }

    @ParameterizedTest
    @CsvSource({
        "--memlock 64K --align 4096 4096x16, 0",
        "--memlock 64K --align 4096 4096x17, 1",
        "--memlock 64K --cap-ipc-lock 1G, 0",
        "--memlock unlimited 16T, 1",
        "--memlock unlimited 0x7f0000001000+1T, 0",
        "--memlock 64K --pinned 60K 0x1000+4096, 0",
        "--memlock 64K --pinned 60K 0x1001+4096, 1",
        "--memlock 0 1, 1",
        "1M, 0",
        "8M, 1"
    })
    void statusSaysWhetherEverythingFits(String arguments, int status) {
        Ran ran = Ran.pagewalk(("pin " + arguments).split(" "));

        assertThat(ran.status()).isEqualTo(status);
        assertThat(ran.out().contains("Every buffer can be registered.")).isEqualTo(status == 0);
    }

    @Test
    void aRangeThatNoLimitAllowsIsSaidToBeOne() {
        Ran ran = Ran.pagewalk("pin", "0xfffffffffffff000+4096");

        assertThat(ran.row("0xfffffffffffff000+4096")).endsWith("EINVAL");
        assertThat(ran.out()).contains("No limit helps").doesNotContain("ulimit");
    }

    @Test
    void buffersMayComeFromAFile() throws IOException {
        Path file = Files.write(folder.resolve("buffers.txt"), List.of("0x1000+4096", "64Kx2"));
        Ran ran = Ran.pagewalk("pin", "@" + file);

        assertThat(ran.status()).isZero();
        assertThat(ran.row("0x1000+4096")).containsExactly("1", "1", "1", "1", "1", "ok");
        assertThat(ran.row("64Kx2")).containsExactly("2", "17", "16", "2", "35", "ok");
    }

    @Test
    void jsonHoldsEveryNumber() throws IOException {
        Ran ran = Ran.pagewalk("pin", "--json", "--memlock", "64K", "--pinned", "4K", "4096x9", "0xfffffffffffff000+1");
        JsonNode root = new ObjectMapper().readTree(ran.out());

        assertThat(root.get("fits").asBoolean()).isFalse();
        assertThat(root.get("limitBytes").asLong()).isEqualTo(65536);
        assertThat(root.get("capIpcLock").asBoolean()).isFalse();
        assertThat(root.get("pinnedPagesBefore").asLong()).isEqualTo(1);
        assertThat(root.get("pinnedPagesAfter").asLong()).isEqualTo(15);
        assertThat(root.get("neededLimitBytes").asLong()).isEqualTo(19 * 4096);
        assertThat(root.get("neededLimitBytesAligned").asLong()).isEqualTo(10 * 4096);
        JsonNode first = root.get("buffers").get(0);
        assertThat(first.get("buffer").asText()).isEqualTo("4096x9");
        assertThat(first.get("sizeBytes").asLong()).isEqualTo(4096);
        assertThat(first.get("count").asLong()).isEqualTo(9);
        assertThat(first.get("pagesEach").asLong()).isEqualTo(2);
        assertThat(first.get("alignedPagesEach").asLong()).isEqualTo(1);
        assertThat(first.get("fitting").asLong()).isEqualTo(7);
        assertThat(first.get("pinnedPagesAfter").asLong()).isEqualTo(15);
        assertThat(first.get("outcome").asText()).isEqualTo("ENOMEM");
        assertThat(root.get("buffers").get(1).get("outcome").asText()).isEqualTo("EINVAL");
        JsonNode free = new ObjectMapper()
                .readTree(Ran.pagewalk("pin", "--json", "--memlock", "unlimited", "1")
                        .out());
        assertThat(free.get("limitBytes").isNull()).isTrue();
        assertThat(free.get("buffers").get(0).get("outcome").asText()).isEqualTo("ok");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "x9",
                "4096x0",
                "4096x",
                "+4096",
                "4K5",
                "0x",
                "-1",
                "1+2+3",
                "16777216T",
                "99999999999999999999",
                "1x99999999999999999999",
                "--memlock much 1",
                "--pinned 1000 1",
                "--align 3 1",
                "--align 8192 1",
                "--align 0 1"
            })
    void whatCannotBeReadIsOneLineAndStatus2(String arguments) {
        Ran ran = Ran.pagewalk(("pin " + arguments).split(" "));

        assertThat(ran.status()).isEqualTo(2);
        assertThat(ran.err()).startsWith("pagewalk: ");
        assertThat(ran.errLines()).hasSize(2);
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void aFileThatCannotBeReadIsNamed() {
        Ran missing = Ran.pagewalk("pin", "@" + folder.resolve("none"));
        Ran directory = Ran.pagewalk("pin", "@" + folder);

        assertThat(missing.status()).isEqualTo(66);
        assertThat(missing.errLines()).containsExactly("pagewalk: " + folder.resolve("none") + ": no such file");
        assertThat(directory.status()).isEqualTo(66);
        assertThat(directory.errLines()).containsExactly("pagewalk: " + folder + ": is a directory");
        assertThat(directory.out()).isEmpty();
    }

    @Test
    void aFileOfBuffersMayHaveRemarks() throws IOException {
        Path file = Files.write(folder.resolve("buffers.txt"), List.of("# rings", "", "0x1000+4096"));

        assertThat(Ran.pagewalk("pin", "@" + file).row("0x1000+4096")).endsWith("ok");
    }

    @Test
    void aCountOfNoBuffersIsSaidToBeOne() {
        assertThat(Ran.pagewalk("pin", "4096x0").errLines().get(0))
                .isEqualTo("pagewalk: BUFFER: '4096x0' asks for no buffer: COUNT is 1 at least");
    }

    @Test
    void noLimitIsNamedForWhatNoLimitAllows() throws IOException {
        Ran ran = Ran.pagewalk("pin", "--memlock", "0", "0x1000+0", "0x1000+16T");
        Ran mixed = Ran.pagewalk("pin", "--memlock", "4K", "0x1000+0", "0x1000+8K");

        assertThat(ran.row("0x1000+0")).endsWith("EPERM");
        assertThat(ran.out()).contains("No limit helps").doesNotContain("ulimit");
        assertThat(mixed.status()).isEqualTo(1);
        assertThat(mixed.out())
                .contains("Registering the others needs RLIMIT_MEMLOCK of 8,192 bytes (8 KiB)")
                .contains("No limit helps 0x1000+0: the range leaves 64 bits, has no page, or has more than 2^32-1.")
                .doesNotContain("all of them");
    }

    @ParameterizedTest
    @CsvSource({
        "0, '0 bytes'",
        "1, '1 bytes'",
        "1023, '1,023 bytes'",
        "1024, '1,024 bytes (1 KiB)'",
        "0x180000, '1,572,864 bytes (1536 KiB)'",
        "3G, '3,221,225,472 bytes (3 GiB)'",
        "0x10000000000, '1,099,511,627,776 bytes (1 TiB)'",
        "8388608T, '9,223,372,036,854,775,808 bytes (8388608 TiB)'",
        "0XFF, '255 bytes'",
        "512B, '512 bytes'",
        "128kB, '131,072 bytes (128 KiB)'",
        "64KiB, '65,536 bytes (64 KiB)'"
    })
    void sizesAreReadAndWritten(String written, String text) {
        assertThat(ByteSize.text(ByteSize.parse(written))).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "K", "12iB", "12KK", "1.5M", "-1", "0x", "12KBB"})
    void whatIsNoSizeIsRefused(String written) {
        assertThatThrownBy(() -> ByteSize.parse(written))
                .isInstanceOf(NumberFormatException.class)
                .hasMessage("'" + written + "' is no number of bytes, such as 4096, 0x1000 or 64K");
    }
}
