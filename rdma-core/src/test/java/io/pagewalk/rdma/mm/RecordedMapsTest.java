package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a 6.12 kernel answered for 43 kinds of memory: its errno, and how many pages it pinned and unpinned. */
@DisplayName("golden rdma-rxe, groups maps and partial (rdma:GUP-1 to GUP-20, MM-19, MM-20)")
class RecordedMapsTest {

    record Line(
            int number,
            String map,
            long mapLength,
            long base,
            long offset,
            long length,
            int access,
            int errno,
            long pinned,
            long unpinned) {

        static Line of(String text) {
            String[] f = text.split("\t", -1);
            return new Line(
                    Integer.parseInt(f[0]),
                    f[1],
                    Long.parseLong(f[2]),
                    Long.parseUnsignedLong(f[3].substring(2), 16),
                    Long.parseLong(f[4]),
                    Long.parseLong(f[5]),
                    Integer.decode(f[6]),
                    Integer.parseInt(f[7]),
                    Long.parseLong(f[8]),
                    Long.parseLong(f[9]));
        }
    }

    static Map<String, List<Line>> recorded() {
        Map<String, List<Line>> byMap = new LinkedHashMap<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(RecordedMapsTest.class.getResourceAsStream("recorded-maps.tsv")),
                StandardCharsets.UTF_8))) {
            in.lines()
                    .filter(text -> !text.startsWith("#"))
                    .map(Line::of)
                    .forEach(line -> byMap.computeIfAbsent(
                                    line.map() + " at " + Long.toHexString(line.base()), key -> new ArrayList<>())
                            .add(line));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return byMap;
    }

    static List<List<Line>> maps() {
        return List.copyOf(recorded().values());
    }

    @Test
    void everyKindOfMemoryIsThere() {
        assertThat(recorded().keySet().size()).isEqualTo(55);
        assertThat(recorded().values().stream().mapToInt(List::size).sum()).isEqualTo(196);
    }

    @ParameterizedTest
    @MethodSource("maps")
    void registrationsAnswerAsRecorded(List<Line> lines) {
        try (Machine machine = Machine.builder().ramBytes(64 << 20).build()) {
            Process process = Process.create(machine);
            process.setMemlockLimit(Credentials.RLIM_INFINITY);
            Line first = lines.get(0);
            new RecordedWorld(process).map(first.map(), first.base(), first.mapLength());
            Pins pins = Registration.pins(process);
            for (Line line : lines) {
                long acquired = pins.acquired();
                long released = pins.released();
                Registration registration =
                        Registration.of(process, line.base() + line.offset(), line.length(), line.access());
                assertThat(List.of(-registration.result, pins.acquired() - acquired, pins.released() - released))
                        .as("line %d, %s, access %#x", line.number(), line.map(), line.access())
                        .isEqualTo(List.of(line.errno(), line.pinned(), line.unpinned()));
                released = pins.released();
                registration.release();
                assertThat(pins.released() - released).isEqualTo(registration.pfns.length);
            }
            assertThat(pins.released()).isEqualTo(pins.acquired());
            process.exit();
            assertThat(machine.pages().allocatedPages()).isZero();
        }
    }
}
