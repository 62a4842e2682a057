package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code pagewalk tables}, read back by somebody who knows nothing but the tables' layout. */
class TablesCommandTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path folder;

    /** Tables out of a line of the file, walked byte by byte. */
    private static final class Reader {
        private final Map<Long, byte[]> pages = new HashMap<>();
        private final JsonNode line;

        Reader(String text) throws IOException {
            line = MAPPER.readTree(text);
            for (JsonNode page : line.get("pages")) {
                pages.put(
                        page.get(0).longValue(),
                        HexFormat.of().parseHex(page.get(1).textValue()));
            }
        }

        private long word(long address) {
            byte[] page = Objects.requireNonNull(pages.get(address / 4096 * 4096), () -> "no page of " + address);
            assertThat(page).hasSize(4096);
            long word = 0;
            for (int i = 7; i >= 0; i--) {
                word = word * 256 + (page[(int) (address % 4096) + i] & 0xff);
            }
            return word;
        }

        /** A physical address, or null. */
        @Nullable Long translate(long iova, boolean write) {
            int sid = line.get("sid").intValue();
            long context = word(line.get("root").longValue() + sid / 256 * 16L);
            if (context % 2 == 0) {
                return null;
            }
            long entry = context / 4096 * 4096 + sid % 256 * 16L;
            if (word(entry) % 2 == 0) {
                return null;
            }
            assertThat(word(entry) / 4 % 4).as("translation type").isZero();
            return walk(word(entry) / 4096 * 4096, (int) (word(entry + 8) % 8) + 2, iova, write);
        }

        private @Nullable Long walk(long table, int level, long iova, boolean write) {
            long span = 1L << (12 + 9 * (level - 1));
            long entry = word(table + iova / span % 512 * 8);
            boolean allowed = write ? entry / 2 % 2 == 1 : entry % 2 == 1;
            long target = entry / 4096 * 4096;
            if (!allowed) {
                return null;
            }
            boolean leaf = level == 1 || entry / 128 % 2 == 1;
            return leaf ? Long.valueOf(target + iova % span) : walk(target, level - 1, iova, write);
        }

        /** Checks each probe; how many reached memory. */
        int confirm() {
            int reached = 0;
            for (JsonNode probe : line.get("probes")) {
                long iova = probe.get(0).longValue();
                @Nullable Long expected =
                        probe.get(1).isNull() ? null : Long.valueOf(probe.get(1).longValue());
                assertThat(iova % 8).isZero();
                for (char kind : probe.get(2).textValue().toCharArray()) {
                    assertThat(translate(iova, kind == 'w'))
                            .as("%c at 0x%x", kind, iova)
                            .isEqualTo(expected);
                }
                reached += expected == null ? 0 : 1;
            }
            return reached;
        }
    }

    private static List<Reader> readers(String text) throws IOException {
        List<Reader> readers = new ArrayList<>();
        for (String line : text.split("\n", -1)) {
            if (!line.isBlank()) {
                readers.add(new Reader(line));
            }
        }
        return readers;
    }

    @Test
    void anIndependentReaderConfirmsEveryProbeOfTwoThousandMappings() throws IOException {
        Path file = folder.resolve("tables.json");
        Ran ran = Ran.pagewalk("tables", "--random", "2000", "--out", file.toString());
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).isEmpty();
        assertThat(ran.err()).isEmpty();

        List<Reader> readers = readers(Files.readString(file));
        assertThat(readers).hasSize(1);
        Reader reader = readers.get(0);
        assertThat(reader.confirm()).isGreaterThan(2000);
        assertThat(reader.line.get("aw").intValue()).isEqualTo(48);
        assertThat(reader.line.get("pages").size()).isBetween(20, 100);
        assertThat(reader.line.get("probes").toString())
                .contains("\"rw\"]", "\"r\"]", "\"w\"]")
                .contains(",null,\"rw\"]", ",null,\"w\"]");
    }

    @Test
    void threeAndFiveLevelsAreWrittenToo() throws IOException {
        for (String width : List.of("39", "57")) {
            Ran ran = Ran.pagewalk("tables", "--random", "100", "--width", width, "--seed", "7");
            Reader reader = readers(ran.out()).get(0);
            assertThat(reader.line.get("aw").asText()).isEqualTo(width);
            assertThat(reader.confirm()).isGreaterThan(100);
            for (JsonNode probe : reader.line.get("probes")) {
                assertThat(probe.get(0).longValue() >>> Integer.parseInt(width)).isZero();
            }
        }
    }

    @Test
    void theSameSeedWritesTheSameTables() {
        String first = Ran.pagewalk("tables", "--random", "20", "--seed", "3").out();
        assertThat(Ran.pagewalk("tables", "--random", "20", "--seed", "3").out())
                .isEqualTo(first);
        assertThat(Ran.pagewalk("tables", "--random", "20", "--seed", "4").out())
                .isNotEqualTo(first);
    }

    @Test
    void withoutMappingsEveryProbeIsAFault() throws IOException {
        Reader reader = readers(Ran.pagewalk("tables", "--random", "0").out()).get(0);
        assertThat(reader.line.get("pages")).hasSize(3);
        assertThat(reader.confirm()).isZero();
    }

    @Test
    void aTraceGivesALineForEachDeviceWithWhatIsLive() throws IOException {
        List<Reader> readers = readers(Ran.pagewalk("tables").out());
        assertThat(readers).hasSizeGreaterThan(1);
        int reached = 0;
        for (Reader reader : readers) {
            reached += reader.confirm();
        }
        assertThat(reached).isPositive();
    }

    @Test
    void anotherMomentOfATraceIsChosenByItsEvents() throws IOException {
        int reached = 0;
        for (Reader reader : readers(Ran.pagewalk("tables", "--events", "400").out())) {
            reached += reader.confirm();
        }
        assertThat(reached).isPositive();
        for (Reader reader :
                readers(Ran.pagewalk("tables", "--events", "1000000").out())) {
            assertThat(reader.confirm()).as("nothing is live at the end").isZero();
        }
    }

    @Test
    void whatMakesNoSenseIsRefusedBeforeAnythingIsDone() {
        assertUsage("--random: there is a trace already", "--random", "5", "trace.txt");
        assertUsage("--random: -1 mappings cannot be made, only 0 to 1000000", "--random", "-1");
        assertUsage("--random: 1000001 mappings cannot be made, only 0 to 1000000", "--random", "1000001");
        assertUsage("--events: goes with a trace, and with a number of 0 or more", "--events", "-1");
        assertUsage("--events: goes with a trace, and with a number of 0 or more", "--events", "1", "--random", "1");
        assertUsage("--width: a unit has 31 to 57 address bits, not 30", "--random", "5", "--width", "30");
        assertUsage("--width: a unit has 31 to 57 address bits, not 58", "--random", "5", "--width", "58");
    }

    private static void assertUsage(String message, String... args) {
        List<String> all = new ArrayList<>(List.of("tables"));
        all.addAll(List.of(args));
        Ran ran = Ran.pagewalk(all.toArray(String[]::new));
        assertThat(ran.status()).isEqualTo(2);
        assertThat(ran.err()).startsWith("pagewalk: " + message + "\n");
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void filesThatCannotBeReadOrWrittenAreNamed() {
        Ran unreadable = Ran.pagewalk("tables", folder.resolve("absent").toString());
        assertThat(unreadable.status()).isEqualTo(66);
        Path impossible = folder.resolve("no/such/folder");
        Ran unwritable = Ran.pagewalk("tables", "--random", "1", "--out", impossible.toString());
        assertThat(unwritable.status()).isEqualTo(66);
        assertThat(unwritable.err()).startsWith("pagewalk: --out: " + impossible + " cannot be written: ");
    }

    @Test
    void aFileIsReplacedOnlyByTables() throws IOException {
        Path old = Files.writeString(folder.resolve("old.json"), "old");
        Path cut = folder.resolve("cut.gz");
        Files.write(cut, new byte[] {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, 3});
        for (String input : List.of("absent", "cut.gz", ".")) {
            Path trace = folder.resolve(input);
            for (List<String> more : List.<List<String>>of(List.of(), List.of("--events", "9"))) {
                List<String> args = new ArrayList<>(List.of("tables", trace.toString(), "--out", old.toString()));
                args.addAll(more);
                assertThat(Ran.pagewalk(args.toArray(String[]::new)).status()).isEqualTo(66);
                assertThat(old).hasContent("old");
            }
        }
        assertUsage(
                "--out: " + old + " is the input and would be overwritten", old.toString(), "--out", old.toString());
        assertThat(old).hasContent("old");
        assertThat(Ran.pagewalk("tables", "--events", "0", "--out", old.toString())
                        .status())
                .isZero();
        assertThat(old).isEmptyFile();
    }

    /** As a shell hands the output of another command over. */
    @Test
    void aTraceThatCanBeReadOnlyOnceIsKeptMeanwhile() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        String text = "  fio-1  [000] .....     4.000001: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=fffff000 "
                + "size=4096 phys_addr=100000000 attrs=\n";
        Thread shell = new Thread(() -> {
            try {
                Files.writeString(pipe, text);
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        });
        shell.start();

        Ran ran = Ran.pagewalk("tables", pipe.toString());

        shell.join();
        assertThat(ran.status()).isZero();
        assertThat(readers(ran.out()).get(0).confirm()).isPositive();
    }
}
