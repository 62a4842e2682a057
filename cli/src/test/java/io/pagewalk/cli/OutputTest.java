package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a run whose output cannot be written. */
class OutputTest {
    private static final String MISUSE = """
              fio-1  [000] .....     4.000001: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=1000 size=64 phys_addr=1000 attrs=
              fio-1  [000] .....     4.000002: dma_unmap_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=1000 size=32 attrs=
            """;

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    /** Takes some bytes, then none. */
    private static final class Disk extends OutputStream {
        private final String message;
        private int room;

        Disk(int room, String message) {
            this.room = room;
            this.message = message;
        }

        @Override
        public void write(int b) throws IOException {
            if (room == 0) {
                throw new IOException(message);
            }
            room--;
        }
    }

    private List<List<String>> everyCommand() throws IOException {
        Path trace = Files.writeString(folder.resolve("trace.txt"), MISUSE);
        List<List<String>> commands = new ArrayList<>();
        commands.add(List.of("tables", "--random", "3"));
        commands.add(List.of("compare", "--backends=direct", trace.toString()));
        commands.add(List.of("check", "--show=0", "--partial", "--json", folder.resolve("none.txt") + ""));
        commands.add(List.of("pin", "4096"));
        commands.add(List.of("--version"));
        commands.add(List.of("tables", "--help"));
        Files.writeString(folder.resolve("none.txt"), MISUSE.lines().findFirst().orElseThrow() + "\n");
        return commands;
    }

    @Test
    void outputThatCannotBeWrittenIsNoSuccessWhateverTheCommand() throws IOException {
        for (List<String> command : everyCommand()) {
            for (int room : new int[] {0, 10}) {
                err.reset();
                int status =
                        Pagewalk.run(new Disk(room, "No space left on device"), err, command.toArray(String[]::new));
                assertThat(status).as("%s", command).isEqualTo(66);
                assertThat(err.toString(StandardCharsets.UTF_8))
                        .endsWith("pagewalk: standard output cannot be written: No space left on device\n");
            }
        }
    }

    @Test
    void whatTheCommandFoundStaysItsStatus() throws IOException {
        Path trace = Files.writeString(folder.resolve("trace.txt"), MISUSE);

        assertThat(Pagewalk.run(new Disk(0, "No space left on device"), err, "check", trace.toString()))
                .isEqualTo(1);
    }

    @Test
    void aReaderThatHasSeenEnoughIsNoFailure() throws IOException {
        for (List<String> command : everyCommand()) {
            assertThat(Pagewalk.run(new Disk(10, "Broken pipe"), err, command.toArray(String[]::new)))
                    .as("%s", command)
                    .isZero();
        }
    }

    @Test
    void everythingIsWrittenToTheEnd() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();

        int status = Pagewalk.run(out, err, "tables", "--random", "3");

        assertThat(status).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .isEqualTo(Ran.pagewalk("tables", "--random", "3").out());
        assertThat(err.size()).isZero();
    }
}
