package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code compare --explain}: why maps failed, with the state of the pool at those moments. */
class CompareExplainTest {
    @TempDir
    Path folder;

    private final StringBuilder lines = new StringBuilder();
    private int maps;

    private void map(long sizeBytes, String dmaAddr) {
        maps++;
        lines.append(String.format(
                "  fio-%d      [000] .....     4.%06d: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=%s size=%d phys_addr=%x attrs=\n",
                100 + maps, maps, dmaAddr, sizeBytes, 0x1_0000_0000L + maps * 0x10_0000L));
    }

    /** Four sets of 128 slots: four maps of 126 slots each leave two slots in each set. */
    private void fillThePool() {
        for (int i = 0; i < 4; i++) {
            map(258048, String.format("%x", 0x7e50_0000L + i * 0x4_0000L));
        }
    }

    private Ran explain(String... more) throws IOException {
        Path trace = Files.writeString(folder.resolve("trace.txt"), lines);
        Path machine = Files.writeString(
                folder.resolve("machine.json"), "{\"cpus\": 1, \"swiotlb\": {\"slots\": 512, \"areas\": 1}}");
        String[] args = new String[more.length + 4];
        args[0] = "compare";
        args[1] = "--backends=swiotlb,direct";
        args[2] = "--machine=" + machine;
        System.arraycopy(more, 0, args, 3, more.length);
        args[args.length - 1] = trace.toString();
        return Ran.pagewalk(args);
    }

    @Test
    void eachReasonHasATableBySizeWithItsNumbersAndTheFirstLine() throws IOException {
        fillThePool();
        map(8192, "ffffffffffffffff");
        map(16384, "ffffffffffffffff");
        map(16384, "ffffffffffffffff");
        map(65536, "ffffffffffffffff");
        map(1 << 20, "ffffffffffffffff");

        Ran ran = explain("--explain");

        assertThat(ran.status()).isZero();
        assertThat(ran.out()).contains("""
                        Why maps failed

                        swiotlb: 1 maps failed with EXCEEDS_MAX_MAPPING; what helps: split the request: a larger pool changes nothing
                                           maps     size  maximum
                          1,048,576 bytes     1  1048576   262144
                          the first at line 9, 0000:00:04.0: EXCEEDS_MAX_MAPPING: size 1048576, maximum 262144 (ENOMEM; split the request: a larger pool changes nothing)

                        swiotlb: 1 maps failed with POOL_FULL; what helps: raise swiotlb=
                                        maps  requested slots  free slots  largest free run  total slots
                          65,536 bytes     1               32           8                 2          512
                          the first at line 8, 0000:00:04.0: POOL_FULL: requested slots 32, free slots 8, largest free run 2, total slots 512 (ENOMEM; raise swiotlb=)

                        swiotlb: 3 maps failed with POOL_FRAGMENTED; what helps: raise swiotlb=, or map smaller pieces
                                        maps  requested slots  free slots  largest free run  total slots
                          16,384 bytes     2                8           8                 2          512
                          8,192 bytes      1                4           8                 2          512
                          the first at line 5, 0000:00:04.0: POOL_FRAGMENTED: requested slots 4, free slots 8, largest free run 2, total slots 512 (ENOMEM; raise swiotlb=, or map smaller pieces)
                        """);
    }

    @Test
    void aNumberThatDiffersIsARange() throws IOException {
        map(258048, "7e500000");
        map(258048, "7e540000");
        map(258048, "7e580000");
        map(262144, "7e5c0000"); // the last whole set
        map(16384, "ffffffffffffffff");
        map(2048, "7e400000");
        map(16384, "ffffffffffffffff");

        assertThat(explain("--explain").row("16,384 bytes")).containsExactly("2", "8", "5 to 6", "2", "512");
    }

    @Test
    void onlyTheCommonestSizesAreShown() throws IOException {
        for (int i = 0; i < 15; i++) {
            map((1 << 20) + i * 512L, "ffffffffffffffff");
        }

        Ran ran = explain("--explain");

        assertThat(ran.row("1,054,208 bytes").get(0)).isEqualTo("1");
        assertThat(ran.out()).doesNotContain("1,054,720 bytes");
        assertThat(ran.row("other sizes")).containsExactly("3");
    }

    @Test
    void nothingFailedIsSaidToo() throws IOException {
        map(4096, "7e500000");

        assertThat(explain("--explain").out()).contains("Why maps failed\n  none did\n\n");
    }

    @Test
    void whatOnlyTheRecordingMachineCouldNotMapNamesTheOptionThatTellsOfIt() throws IOException {
        map(8192, "ffffffffffffffff");
        map(4096, "ffffffffffffffff");

        assertThat(explain("--explain").out()).contains("""
                        Why maps failed
                          none did
                          but 2 had failed when recorded: --machine tells of that machine, such as {"swiotlb": {"slots": 512}}
                        """);
    }

    @Test
    void withoutTheOptionNothingIsExplainedButJsonHasIt() throws IOException {
        fillThePool();
        map(65536, "ffffffffffffffff");
        Path json = folder.resolve("out.json");

        assertThat(explain("--json=" + json).out()).doesNotContain("Why maps failed");

        JsonNode group = new ObjectMapper()
                .readTree(json.toFile())
                .path("backends")
                .get(0)
                .path("failures")
                .get(0);
        assertThat(group.path("reason").asText()).isEqualTo("POOL_FULL");
        assertThat(group.path("sizeBytes").asLong()).isEqualTo(65536);
        assertThat(group.path("numbers").get(2).path("highest").asLong()).isEqualTo(2);
        assertThat(group.path("first").path("numbers").get(1).asLong()).isEqualTo(8);
    }

    @Test
    void itDoesNotGoWithAPrediction() {
        Ran ran = Ran.pagewalk("compare", "--explain", "--expect-addresses");

        assertThat(ran.status()).isEqualTo(2);
        assertThat(ran.err()).contains("--explain");
    }
}
